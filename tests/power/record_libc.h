/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RECORD_LIBC_H
#define RAWSTACK_RECORD_LIBC_H
/*
 * Writes down what a library does to one file through libc: the program that links this has open,
 * write, writev, pwrite, ftruncate, fsync and fdatasync of its own, which shared libraries find
 * before libc's. The calls go to the kernel as they are.
 */
#include "crash_log.h"

/* From now on, the file of this name (the last part of its path) is recorded; NULL: none. Those
 * opened before are not. Calls of other threads are recorded too. */
void record_libc(struct crash_log *l, const char *name);

#endif
