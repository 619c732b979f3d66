/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_RUN_H
#define RAWSTACK_GSYM_RUN_H
/*
 * Collects one contiguous run of addresses of a function, which is one record of GSYM, for
 * llvm_gsym.c: the ranges of the function, the tree of its inlined calls with their ranges, and the
 * line rows.
 */
#include "buf.h"
#include "intern.h"
#include "rsym.h"

/* An inlined call, or the function at its root, in a run of addresses. */
struct gsym_call {
	uint32_t function, call_file, call_line;
	uint32_t first_child, last_child, next; /* UINT32_MAX if there is none */
	uint32_t first_range, last_range;
};

struct gsym_range {
	uint64_t start, end;
	uint32_t next; /* next range of the same call, or UINT32_MAX */
};

struct gsym_row {
	uint64_t start;
	uint32_t file, line;
};

struct gsym_run {
	uint64_t start, end;
	uint32_t unknown_file; /* file number for calls whose file is unknown */
	struct intern keys;    /* maps struct call_key to calls; the root, calls[0], has no key */
	struct gsym_call *calls;
	struct gsym_range *ranges;
	struct gsym_row *rows;
	size_t call_count, calls_cap, range_count, ranges_cap, row_count, rows_cap;
	bool has_lines;
};

#define GSYM_RUN_INIT                                         \
	{                                                     \
		.keys = INTERN_INIT(UINT32_MAX - 2, SIZE_MAX) \
	}

void gsym_run_done(struct gsym_run *r);

/* Forgets all but unknown_file. */
void gsym_run_reset(struct gsym_run *r);

/* Adds [start, end), which must be behind all earlier ranges, with its frames. The outermost frame
 * is the function of the run. Returns ERR_LIMIT if the run gets longer than 4 GiB, or
 * ERR_MEMORY. */
int gsym_run_add(struct gsym_run *r, uint64_t start, uint64_t end, const struct rsym_frame *frames,
		 int count, struct err *err) _must_check_;

/* Appends the line table of the run. `out` records a failure. */
void gsym_run_put_rows(const struct gsym_run *r, struct buf *out);

#endif
