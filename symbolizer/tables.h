/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLES_H
#define RAWSTACK_TABLES_H
/*
 * Opened tables: validating one takes a pass over all of it, so that is done once per write of the
 * table and remembered. Safe from any thread.
 */
#include "rsym.h"
#include "store.h"

struct tables;

struct tables *tables_new(struct err *err) _must_check_;
void tables_free(struct tables *t);

/*
 * 1 and the table of the id, 0 when there is none, ERR_DATA when it is damaged. *ret borrows from
 * the read.
 */
int tables_get(struct tables *t, struct store_read *r, const struct build_id *id, struct rsym *ret,
	       struct err *err);

#endif
