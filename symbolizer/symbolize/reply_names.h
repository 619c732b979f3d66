/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REPLY_NAMES_H
#define RAWSTACK_REPLY_NAMES_H
/*
 * The string and function tables of a reply, or of the replies of one stream, over which they grow.
 * In two steps: reply_names_prepare() finds the texts of many frames of one table, so that each is
 * unpacked and demangled once; reply_names_row() puts them into the reply, in the order of its
 * frames, and weighs everything before it is added. One thread at a time.
 *
 *	reply_names_begin(n, style, columns, base_weight);
 *	reply_names_table(n, number, &table), reply_names_prepare(n, frames, count);  for each table
 *	reply_names_commit(n);
 *	row = reply_names_row(n, frame->function);		for what goes into the reply
 */
#include "demangle.h"
#include "id_map.h"
#include "intern.h"
#include "reply_texts.h"

/* Which columns of functions a reply has, besides names and files. */
enum reply_columns {
	REPLY_DETAILS = 1 << 0, /* linkage_name, start_line */
	REPLY_STARTS = 1 << 1,  /* start_address, start_file */
};

/* A row of the reply's functions; what no column is of is 0. */
struct reply_function {
	uint32_t name, file;
	uint32_t linkage_name, start_line, start_file;
	uint64_t start_address;
};

struct reply_names {
	/* What the replies have; of the present one are those from first_... on. */
	struct intern strings; /* 0 is the empty one */
	struct reply_function *functions;
	size_t function_count, functions_cap;
	uint32_t first_string, first_function;
	struct id_map plain_ids; /* string -> row, of names without a table */

	/* What was prepared: functions in files. */
	struct intern numbers;   /* of tables */
	struct id_map place_ids; /* (table, function), file -> place */
	struct reply_place *places;
	uint32_t *rows; /* of places; RSYM_NONE until it is in a reply */
	size_t place_count, places_cap, rows_cap;
	struct id_map file_ids; /* (table, file) -> file */
	struct reply_file *files;
	size_t file_count, files_cap;
	struct reply_texts texts;                    /* of the table in hand; its bytes */
	size_t first_place, first_file;              /* of what came last */
	size_t batch_place, batch_file, batch_bytes; /* where the present reply began */
	bool is_full;                                /* nothing more is prepared in advance */
	uint32_t table;                              /* the one in hand, of numbers */

	enum demangle_style style;
	uint32_t columns; /* enum reply_columns */
	size_t size;      /* upper bound of the reply's bytes so far, as packed */
};

void reply_names_init(struct reply_names *n);
void reply_names_done(struct reply_names *n);
void reply_names_reset(struct reply_names *n); /* for the first reply again; memory is kept */
size_t reply_names_memory(const struct reply_names *n);

/* A reply whose other parts weigh `base`. ERR_MEMORY; ERR_LIMIT when a stream's tables are full. */
int reply_names_begin(struct reply_names *n, enum demangle_style style, uint32_t columns,
		      size_t base, struct err *err) _must_check_;

/* Takes a table in hand. number: of struct store_table. t must stay until the next one. */
int reply_names_table(struct reply_names *n, uint64_t number, const struct rsym *t,
		      struct err *err) _must_check_;
void reply_names_leave_table(struct reply_names *n);

/* Replaces each frame's function by its place, or by RSYM_NONE. False when some have none, for
 * there is no memory for all texts. */
bool reply_names_prepare(struct reply_names *n, struct rsym_frame *frames, size_t count);

/*
 * Ends what is done in advance: what is prepared from now on must go into the reply at once, and
 * has room. Rows of all that was prepared are made in the order of the places, if they fit together
 * with `more` bytes.
 */
void reply_names_commit(struct reply_names *n, size_t more);

/* The row of a place, RSYM_NONE when the reply would exceed its budget; what was there stays. */
uint32_t reply_names_add_row(struct reply_names *n, uint32_t place);

static inline uint32_t reply_names_row(struct reply_names *n, uint32_t place)
{
	return n->rows[place] != RSYM_NONE ? n->rows[place] : reply_names_add_row(n, place);
}

/* Whether texts took so much unpacking that this reply unpacks no more of them. */
static inline bool reply_names_is_spent(const struct reply_names *n)
{
	return n->texts.is_spent;
}

/* The row of a name that needs no table, likewise. */
uint32_t reply_names_plain(struct reply_names *n, const void *name, size_t len);

/* Room for len more bytes of the reply; false when there is none. */
static inline bool reply_names_weigh(struct reply_names *n, size_t len)
{
	if (len > LIMIT_REPLY_LEN - n->size)
		return false;
	n->size += len;
	return true;
}

#endif
