/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_SYMBOLS_H
#define RAWSTACK_KERNEL_SYMBOLS_H
/* Copies the symbols of a kernel to a file that can be pushed. */
#include "build_id.h"

/*
 * Copies the kallsyms text at path, such as /proc/kallsyms, to a memfd, because files of /proc have
 * no size and change. The caller closes *ret_fd. Returns ERR_DENIED if all addresses are 0, as the
 * kernel shows them to a process without CAP_SYSLOG, ERR_LIMIT if the text is longer than 256 MiB,
 * or another error of io_read_file() or io_write_all().
 */
int kernel_symbols_open(const char *path, int *ret_fd, struct err *err) _must_check_;

#endif
