/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_SOURCE_H
#define RAWSTACK_TABLE_SOURCE_H
/* The input of a build or a verification: files in memory, and the options of the request. */
#include "buf.h"
#include "helper.h"
#include "table_task.h"

struct table_progress;

struct table_companion_bytes {
	const void *p; /* NULL if the file is empty */
	size_t len;
	enum table_companion_kind kind;
};

struct table_source {
	const void *p; /* the file */
	size_t len;
	bool mapped;            /* p is a private read-only mapping of a file: see image.h */
	const void *executable; /* the executable of a debug file, or NULL */
	size_t executable_len;
	enum table_input input;
	struct build_id id; /* to be written into the table */
	const struct table_companion_bytes *companions;
	size_t companion_count;
	struct buf *missing;    /* as in struct table_request */
	const uint64_t *wanted; /* as in struct table_request */
	size_t wanted_count;
	bool columns, types, shown;      /* as in struct table_request */
	struct table_progress *progress; /* shared memory that receives the progress, or NULL */
	struct helper *helper; /* does half of the work, or NULL; the table does not depend on it */
};

#endif
