/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REPLY_NAMES_H
#define RAWSTACK_REPLY_NAMES_H
/*
 * Builds the string and function tables of a reply, or of all replies of one stream, over which
 * they grow. It works in two steps. reply_names_prepare() finds the texts of many frames of one
 * table, so that each is unpacked and demangled once. reply_names_row() puts them into the reply in
 * the order of its frames, and weighs each part before adding it. For one thread at a time.
 *
 *	reply_names_begin(n, style, columns, base_weight, err);
 *	reply_names_table(n, number, &table, err);		for each table
 *	reply_names_prepare(n, frames, count);
 *	reply_names_commit(n, more);
 *	row = reply_names_row(n, frame->function);		for what goes into the reply
 */
#include "demangle.h"
#include "id_map.h"
#include "intern.h"
#include "limits.h"
#include "reply_texts.h"

/* Bytes of a table's texts that one reply unpacks in advance for all of its locations: 65,536 names
 * of real tables take 30 MiB, but a table may have texts of 2 MiB in each block of a few packed
 * bytes. */
#define LIMIT_REPLY_UNPACKED (256 * MIB)

/* The columns of functions that a reply has besides names and files. */
enum reply_columns {
	REPLY_DETAILS = 1 << 0, /* linkage_name, start_line */
	REPLY_STARTS = 1 << 1,  /* start_address, start_file */
};

/* A row of the reply's functions. A field without a column is 0. */
struct reply_function {
	uint32_t name, file;
	uint32_t linkage_name, start_line, start_file;
	uint64_t start_address;
};

struct reply_names {
	/* The tables of the replies; those of the present reply begin at first_... . */
	struct intern strings; /* string 0 is empty */
	struct reply_function *functions;
	size_t function_count, functions_cap;
	uint32_t first_string, first_function;
	struct id_map plain_ids; /* string -> row, for names that come from no table */

	/* The prepared part. A place is a function in a file. */
	struct intern numbers;   /* numbers of tables */
	struct id_map place_ids; /* (table, function), file -> place */
	struct reply_place *places;
	uint32_t *rows; /* one for each place; RSYM_NONE until a reply has it */
	size_t place_count, places_cap, rows_cap;
	struct id_map file_ids; /* (table, file) -> file */
	struct reply_file *files;
	size_t file_count, files_cap;
	struct reply_texts texts;       /* texts of the present table, with their bytes */
	size_t first_place, first_file; /* begin of what was prepared last */
	size_t batch_place, batch_file, batch_bytes; /* where the present reply began */
	bool is_full;                                /* no more is prepared in advance */
	uint32_t table;                              /* the present table, as an index of numbers */

	enum demangle_style style;
	uint32_t columns; /* enum reply_columns */
	size_t size;      /* upper bound of the packed bytes of the reply so far */
};

void reply_names_init(struct reply_names *n);
void reply_names_done(struct reply_names *n);
void reply_names_reset(struct reply_names *n); /* starts again with a first reply; memory is kept */
size_t reply_names_memory(const struct reply_names *n);

/* Begins a reply whose other parts weigh `base` bytes. Returns ERR_MEMORY, or ERR_LIMIT if the
 * tables of a stream are full. */
int reply_names_begin(struct reply_names *n, enum demangle_style style, uint32_t columns,
		      size_t base, struct err *err) _must_check_;

/* Makes t the present table. number is that of struct store_table. t must stay open until the next
 * call. */
int reply_names_table(struct reply_names *n, uint64_t number, const struct rsym *t,
		      struct err *err) _must_check_;
void reply_names_leave_table(struct reply_names *n);

/* Replaces each frame's function by its place, or by RSYM_NONE. Returns false if some frames got no
 * place because there is no memory for all texts. */
bool reply_names_prepare(struct reply_names *n, struct rsym_frame *frames, size_t count);

/*
 * Ends preparing in advance. Places that are prepared from now on go into the reply at once, for
 * which there is room. If the rows of all prepared places fit together with `more` bytes, it adds
 * them now, in the order of the places.
 */
void reply_names_commit(struct reply_names *n, size_t more);

/* Returns the row of a place, or RSYM_NONE if the reply would exceed its budget; then the reply
 * stays as it is. */
uint32_t reply_names_add_row(struct reply_names *n, uint32_t place);

static inline uint32_t reply_names_row(struct reply_names *n, uint32_t place)
{
	return n->rows[place] != RSYM_NONE ? n->rows[place] : reply_names_add_row(n, place);
}

/* Returns whether texts took so much unpacking that this reply unpacks no more. */
static inline bool reply_names_is_spent(const struct reply_names *n)
{
	return n->texts.is_spent;
}

/* Returns, in the same way, the row of a name that comes from no table. */
uint32_t reply_names_plain(struct reply_names *n, const void *name, size_t len);

/* Reserves len more bytes of the reply; returns false if there is no room. */
static inline bool reply_names_weigh(struct reply_names *n, size_t len)
{
	if (len > LIMIT_REPLY_LEN - n->size)
		return false;
	n->size += len;
	return true;
}

#endif
