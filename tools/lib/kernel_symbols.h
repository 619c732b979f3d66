/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_SYMBOLS_H
#define RAWSTACK_KERNEL_SYMBOLS_H
/* Copies the running kernel's symbols to a file that can be pushed. */
#include "build_id.h"

/*
 * Copies a kallsyms text to a memfd, because files of /proc have no size and change. The caller
 * closes *ret_fd. Returns ERR_DENIED if all addresses are 0, as the kernel shows them to a process
 * without CAP_SYSLOG.
 */
int kernel_symbols_open(const char *path, int *ret_fd, struct err *err) _must_check_;

#endif
