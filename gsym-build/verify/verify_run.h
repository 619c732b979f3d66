/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_VERIFY_RUN_H
#define RAWSTACK_VERIFY_RUN_H
/*
 * Shared by the verify*.c files only: one table that is compared, and texts of the table and of
 * the file as numbers that can be compared: equal texts, equal numbers.
 */
#include "rsym.h"
#include "table_task.h"
#include "verify_source.h"

/* A function that answers at its own entry. */
struct verify_entered {
	uint64_t entry;
	uint32_t name;
	bool from_symbol;
};

struct verify {
	struct verify_source source;
	uint32_t *source_path; /* common number of a file of the source; DEBUG_NONE until asked */
	struct buf text;
	uint32_t empty; /* number of the empty text */
	uint64_t bias;  /* addresses of the image minus those of the table */
	/* The last symbol of a cold part that was looked up, and the entry of its function. */
	const struct symbol *last_cold;
	uint64_t last_cold_entry;
};

/* One table that is compared with its file. */
struct verify_run {
	struct verify *verify;
	const struct rsym *t;
	struct rsym_reader *texts;
	struct verify_report *report;
	struct buf *out;
	/* Common numbers of the table's texts, by id; DEBUG_NONE until asked. */
	uint32_t *function_name, *file_path;
	uint32_t *function_type; /* likewise, of signatures; NULL: the table has none */
	bool has_columns;
	/* Aliases are compared by these: the functions that answer at their entry, by entry; and
	 * for each scope whether it is the function of any answer. */
	struct verify_entered *entered;
	size_t entered_count, entered_cap;
	uint8_t *seen;
};

/* Strings of verify->source.text: the name of a function of the table, the path of a file of it
 * (DEBUG_NONE of RSYM_NONE), its signature (DEBUG_NONE: none). ERR_DATA, ERR_MEMORY. */
int verify_name(struct verify_run *run, uint32_t function, uint32_t *ret,
		struct err *err) _must_check_;
int verify_path(struct verify_run *run, uint32_t file, uint32_t *ret, struct err *err) _must_check_;
int verify_signature(struct verify_run *run, uint32_t function, uint32_t *ret,
		     struct err *err) _must_check_;

/* The path of a file of the source; DEBUG_NONE of DEBUG_NONE. ERR_MEMORY. */
int verify_source_path(struct verify *v, uint32_t file, uint32_t *ret,
		       struct err *err) _must_check_;

/* Appends an untrusted text to run->out, on one line; "??" for none. */
void verify_put_text(struct verify_run *run, uint32_t string);

/*
 * The aliases of the table against those that the file has, when all answers were compared and
 * entered and seen are whole. The first differences go to run->out. ERR_DATA, ERR_MEMORY.
 */
int verify_compare_aliases(struct verify_run *run, struct err *err) _must_check_;

#endif
