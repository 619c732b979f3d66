/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FACTS_H
#define RAWSTACK_FACTS_H
/*
 * What a reader of debug information found, before anything is decided: the seam between readers
 * (README.md) and the builder. A reader gives one struct facts_unit after the other; all its
 * arrays are the reader's and valid during the call only. Addresses are vaddr. Names and files are
 * ids of a struct facts_text that reader and builder share.
 */
#include "err.h"
#include "intern.h"

#define FACTS_NONE UINT32_MAX

/* Interned text of a whole build. */
struct facts_text {
	struct intern strings;
	struct intern files; /* keys: struct facts_file */
};

struct facts_file {
	uint32_t dir, base; /* strings */
};

/*
 * A function or an inlined call. Scopes stand in the order of their DIEs, a parent before its
 * children; which of several that cover an address is meant is decided by their ranges
 * (flatten.h).
 */
struct facts_scope {
	uint64_t entry;  /* valid when has_entry */
	uint32_t parent; /* scope that an inlined call is in; FACTS_NONE for a function */
	uint32_t name;   /* string: linkage name, else plain name; FACTS_NONE */
	uint32_t decl_file, decl_line;
	uint32_t call_file, call_line; /* of an inlined call */
	uint32_t call_spot;            /* likewise */
	bool has_entry;
};

/* One range of a scope; a scope may have many, far apart. start < end. */
struct facts_span {
	uint64_t start, end;
	uint32_t scope;
};

/* One row of a line table, in the order of the program. Of several rows at one address the last
 * counts. `end` closes a sequence: its address is the first one behind it. */
struct facts_row {
	uint64_t vaddr;
	uint32_t file, line;
	uint32_t spot;
	bool end;
};

/*
 * Where in a line: the column in the low 16 bits, the discriminator above; 0 is none, and what does
 * not fit counts as none. Always 0 when columns are not asked for.
 */
static inline uint32_t facts_spot(uint64_t column, uint64_t discriminator)
{
	return (column <= UINT16_MAX ? (uint32_t)column : 0) |
	       (discriminator <= UINT16_MAX ? (uint32_t)discriminator : 0) << 16;
}

struct facts_range {
	uint64_t start, end;
};

struct facts_unit {
	const struct facts_scope *scopes;
	const struct facts_span *spans;
	const struct facts_row *rows;
	/* by scope: a string, its signature, or FACTS_NONE; NULL: not wanted */
	const uint32_t *types;
	const struct facts_range *ranges; /* what the unit itself says it covers */
	size_t scope_count, span_count, row_count, range_count;
	uint32_t number;    /* counts in order of offset; not all are given, or in that order */
	uint64_t done, all; /* bytes of .debug_info, up to this unit's end and whole; or 0 */
};

struct facts_sink {
	void *ctx;
	int (*unit)(void *ctx, const struct facts_unit *unit, struct err *err);
};

void facts_text_init(struct facts_text *t);
void facts_text_done(struct facts_text *t);

/* Ids; FACTS_NONE when memory or a ceiling is reached. */
uint32_t facts_string(struct facts_text *t, const void *p, size_t len);
uint32_t facts_file(struct facts_text *t, const void *dir, size_t dir_len, const void *base,
		    size_t base_len);

#endif
