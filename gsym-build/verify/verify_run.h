/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_VERIFY_RUN_H
#define RAWSTACK_VERIFY_RUN_H
/*
 * Shared by the verify*.c files only: a comparison of one table. Texts of the table and of the file
 * are given common numbers, so that equal texts have equal numbers.
 */
#include "rsym.h"
#include "table_task.h"
#include "verify_source.h"

/* A function that is the answer at its own entry. */
struct verify_entered {
	uint64_t entry;
	uint32_t name;
	bool from_symbol;
};

struct verify {
	struct verify_source source;
	uint32_t *source_path; /* by debug_file: number of its path; DEBUG_NONE until requested */
	struct buf text;
	uint32_t empty; /* number of the empty text */
	uint64_t bias;  /* addresses of the image minus those of the table */
	/* Cache of symbol_entry(): the last symbol of a cold part and the entry of its function. */
	const struct symbol *last_cold;
	uint64_t last_cold_entry;
};

/* One table being compared with its file. */
struct verify_run {
	struct verify *verify;
	const struct rsym *t;
	struct rsym_reader *texts;
	struct verify_report *report;
	struct buf *out;
	/* Common numbers of the table's texts, by id; DEBUG_NONE until requested. */
	uint32_t *function_name, *file_path;
	uint32_t *function_type; /* those of signatures; NULL if the table has none */
	bool has_columns;
	/* For the comparison of aliases: the functions that are the answer at their entry, sorted
	 * by entry, and for each scope whether it is the function of any answer. */
	struct verify_entered *entered;
	size_t entered_count, entered_cap;
	uint8_t *seen;
};

/* Return in *ret, as strings of verify->source.text, the name of a function of the table, the path
 * of a file of it (DEBUG_NONE for RSYM_NONE), and the signature of a function (DEBUG_NONE if it has
 * none). They return ERR_DATA or ERR_MEMORY. */
int verify_name(struct verify_run *run, uint32_t function, uint32_t *ret,
		struct err *err) _must_check_;
int verify_path(struct verify_run *run, uint32_t file, uint32_t *ret, struct err *err) _must_check_;
int verify_signature(struct verify_run *run, uint32_t function, uint32_t *ret,
		     struct err *err) _must_check_;

/* Returns in *ret the path of a file of the source, or DEBUG_NONE for DEBUG_NONE. Returns
 * ERR_MEMORY. */
int verify_source_path(struct verify *v, uint32_t file, uint32_t *ret,
		       struct err *err) _must_check_;

/* Appends an untrusted text to run->out, on one line, or "??" if there is none. */
void verify_put_text(struct verify_run *run, uint32_t string);

/*
 * Compares the aliases of the table with those of the file. Call it after all answers were
 * compared, when `entered` and `seen` are complete. The first differences are printed to run->out.
 * Returns ERR_DATA or ERR_MEMORY.
 */
int verify_compare_aliases(struct verify_run *run, struct err *err) _must_check_;

#endif
