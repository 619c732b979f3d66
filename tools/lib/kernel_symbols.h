/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_SYMBOLS_H
#define RAWSTACK_KERNEL_SYMBOLS_H
/* The running kernel's symbols, as a file that can be pushed. */
#include "build_id.h"

/*
 * A copy of a kallsyms text in a memfd: /proc files have no size, and change. ERR_DENIED when all
 * its addresses are 0, as the kernel shows them to those without CAP_SYSLOG. *ret_fd is closed by
 * the caller.
 */
int kernel_symbols_open(const char *path, int *ret_fd, struct err *err) _must_check_;

#endif
