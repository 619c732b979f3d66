/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLES_H
#define RAWSTACK_TABLES_H
/*
 * Opened tables, remembered per write of a table. Each was validated whole before it was stored,
 * and the store has its checksum: opening reads its heads only. Safe from any thread.
 */
#include "rsym.h"
#include "store.h"

struct tables;

struct tables *tables_new(struct err *err) _must_check_;
void tables_free(struct tables *t);

/*
 * 1 and the table of the id, 0 when there is none, ERR_DATA when it is damaged. *ret borrows from
 * the read; *ret_number is the one of struct store_table.
 */
int tables_get(struct tables *t, struct store_read *r, const struct build_id *id, struct rsym *ret,
	       uint64_t *ret_number, struct err *err);

#endif
