/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_INSPECT_H
#define RAWSTACK_TABLE_INSPECT_H
/*
 * Untrusted files that a service is sent, looked at in the worker process as table_build() reads
 * them: nothing that such a file says of itself decides how long the service works, or can break
 * it. Safe from any thread. worker_path: as of struct table_request.
 */
#include "image_summary.h"

/* What an ELF file is. Errors as image_summary_read(); ERR_INTERNAL and ERR_LIMIT when the worker
 * did not end well. */
int table_inspect(int fd, const char *worker_path, struct image_summary *ret,
		  struct err *err) _must_check_;

/* Whether rsym_open() accepts a table that a client built: all of it is decoded once. Who maps the
 * same bytes afterwards takes rsym_open_trusted(). Errors as rsym_open(), and as above. */
int table_check(int fd, const char *worker_path, struct err *err) _must_check_;

#endif
