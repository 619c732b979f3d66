/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_TABLES_H
#define RAWSTACK_SPOOL_TABLES_H
/*
 * The dictionary of one segment as a reader knows it: tables of strings, modules, locations, stacks
 * and threads, filled record by record. A row that was lost to damage is marked: a string has no p,
 * a module or location has the kind SPOOL_KIND_MISSING, a stack the count SPOOL_COUNT_MISSING, and
 * a thread is zeros. Internal to the spool library. One thread uses it at a time.
 */
#include "arena.h"
#include "bytes.h"
#include "spool.h"
#include "spool_format.h"

/* A growing array of `count` elements of one type. */
struct spool_rows {
	void *p;
	size_t count, cap;
};

/* Appends a zeroed row, and may move the others; NULL: out of memory. */
void *spool_row_new(struct spool_rows *r, size_t size);

enum {
	SPOOL_KIND_MISSING = 0xff
};
#define SPOOL_COUNT_MISSING UINT32_MAX

/* The order is that of the record types. */
enum spool_table_kind {
	SPOOL_TABLE_STRINGS,
	SPOOL_TABLE_MODULES,
	SPOOL_TABLE_LOCATIONS,
	SPOOL_TABLE_STACKS,
	SPOOL_TABLE_THREADS,
	SPOOL_TABLE_COUNT,
};

extern const size_t spool_row_sizes[SPOOL_TABLE_COUNT];

struct spool_tables {
	struct spool_rows rows[SPOOL_TABLE_COUNT];
	struct arena memory; /* what the rows point to */
};

void spool_tables_init(struct spool_tables *t);
void spool_tables_reset(struct spool_tables *t);
void spool_tables_done(struct spool_tables *t);

/*
 * Takes a dictionary record. Invalid entries are left as missing. An invalid record is added to
 * *damaged_len, which counts the bytes that the segment lost so far, and bounds the number of
 * missing rows in front of a record. Returns 0 or ERR_MEMORY.
 */
int spool_tables_read(struct spool_tables *t, enum spool_table_kind kind, struct bytes in,
		      uint64_t *damaged_len, struct err *err);

/*
 * Takes a record of file segments, for modules that have none yet. Invalid rows, and rows of a
 * missing module, are left out and do not count as damage: a batch is whole without them.
 */
void spool_tables_read_file_segments(struct spool_tables *t, struct bytes in);

#endif
