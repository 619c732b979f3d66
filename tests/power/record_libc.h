/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RECORD_LIBC_H
#define RAWSTACK_RECORD_LIBC_H
/*
 * Writes down what code does to one file, or to one directory, through libc: the program that links
 * this has open, openat, close, dup, write, writev, pwrite, ftruncate, fsync, fdatasync, mkdirat,
 * renameat and unlinkat of its own, which it and shared libraries find before libc's. The calls go
 * to the kernel as they are.
 */
#include "crash_log.h"

/* From now on, the file of this name (the last part of its path) is recorded; NULL: none. Those
 * opened before are not. Calls of other threads are recorded too. */
void record_libc(struct crash_log *l, const char *name);

/*
 * The same for all files right inside the directory of this name, and their names; directories in
 * it as empty files. Whatever was in it before is not known: it is to be empty or not there.
 */
void record_libc_dir(struct crash_log *l, const char *name);

#endif
