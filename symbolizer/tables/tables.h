/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLES_H
#define RAWSTACK_TABLES_H
/*
 * Opens stored tables, and remembers open ones by the number of their write in the store, so that a
 * table that is written anew is opened anew. A table was validated whole before it was stored, and
 * the store has its checksum, so opening reads only its headers. Safe from any thread.
 */
#include "rsym.h"
#include "store.h"

struct tables;

struct tables *tables_new(struct err *err) _must_check_;
void tables_free(struct tables *t);

/*
 * Returns 1 and the table of the id, 0 if there is none, or ERR_DATA if it is damaged. *ret borrows
 * from the read; *ret_number is the number in struct store_table.
 */
int tables_get(struct tables *t, struct store_read *r, const struct build_id *id, struct rsym *ret,
	       uint64_t *ret_number, struct err *err);

#endif
