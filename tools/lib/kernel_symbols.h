/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_SYMBOLS_H
#define RAWSTACK_KERNEL_SYMBOLS_H
/* The running kernel's symbols, as a file that can be pushed. */
#include "build_id.h"

/* The build id in a blob of ELF notes, as /sys/kernel/notes has it. ERR_NOT_FOUND without one. */
int kernel_notes_id(const void *notes, size_t len, struct build_id *ret, struct err *err);

/* The running kernel's id. */
int kernel_id(struct build_id *ret, struct err *err);

/*
 * A copy of a kallsyms text in a memfd: /proc files have no size, and change. ERR_DENIED when all
 * its addresses are 0, as the kernel shows them to those without CAP_SYSLOG. *ret_fd is closed by
 * the caller.
 */
int kernel_symbols_open(const char *path, int *ret_fd, struct err *err) _must_check_;

#endif
