/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_INSPECT_H
#define RAWSTACK_TABLE_INSPECT_H
/*
 * Inspects untrusted files sent to a service, in the worker process like table_build(): the content
 * of such a file can neither break the service nor decide how long it works. Safe from any thread.
 * worker_path is as in struct table_request.
 */
#include "image_summary.h"

/* Summarizes an ELF file. Errors as image_summary_read(); ERR_INTERNAL and ERR_LIMIT when the
 * worker did not end well. */
int table_inspect(int fd, const char *worker_path, struct image_summary *ret,
		  struct err *err) _must_check_;

/* Checks that rsym_open() accepts a table that a client built. The same bytes may then be opened by
 * rsym_open_trusted(). Errors as rsym_open(), and as above. */
int table_check(int fd, const char *worker_path, struct err *err) _must_check_;

#endif
