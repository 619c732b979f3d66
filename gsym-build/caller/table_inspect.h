/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_INSPECT_H
#define RAWSTACK_TABLE_INSPECT_H
/*
 * Inspects untrusted files sent to a service, in a worker process as table_build() does, so that
 * the content of a file can neither break the service nor occupy it for long. Safe from any thread.
 * worker_path is as in struct table_request.
 */
#include "image_summary.h"

/* Summarizes an ELF file. Returns errors as image_summary_read(), and ERR_INTERNAL or ERR_LIMIT if
 * the worker failed. */
int table_inspect(int fd, const char *worker_path, struct image_summary *ret,
		  struct err *err) _must_check_;

/* Checks that rsym_open() accepts a table that a client built. The same bytes may then be opened by
 * rsym_open_trusted(). Returns errors as rsym_open(), and as above. */
int table_check(int fd, const char *worker_path, struct err *err) _must_check_;

#endif
