/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FIREFOX_PRIV_H
#define RAWSTACK_FIREFOX_PRIV_H
/*
 * The writer for the Firefox Profiler, as its parts share it: firefox_tables.c numbers strings,
 * functions, frames and stacks, each once; firefox_write.c prints them.
 */
#include "frames.h"
#include "intern.h"
#include "text_out.h"

/* Rows of meta.categories in firefox_write.c. */
enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL,
};

/* Rows of the shared tables, numbered by interning. The file has null or -1 for NO_ROW. */
#define NO_ROW UINT32_MAX

struct func_row {
	uint32_t name, source, resource;
};

struct frame_row {
	uint64_t address;
	uint32_t func, line, depth, category;
};

struct stack_row {
	uint32_t prefix, frame;
};

struct firefox_writer {
	const struct profile *p;
	struct text_out *out;
	uint32_t value;
	struct intern strings, sources, modules, funcs, frames, stacks;
	uint32_t *stack_of; /* by stack of the profile; NO_ROW: not made yet */
	struct frames walk;
	bool failed, no_memory; /* `failed`: a table is full; `no_memory`: because memory was out */
};

/* Fills the tables. Returns ERR_MEMORY or ERR_LIMIT. */
int firefox_tables_make(struct firefox_writer *w, struct err *err) _must_check_;
void firefox_tables_done(struct firefox_writer *w);

#endif
