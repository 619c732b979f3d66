/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_ROOM_H
#define RAWSTACK_STORE_ROOM_H
/*
 * Which tables have to go so that a value has room: it needs pages side by side, so that those go
 * that lie side by side, with what is free between them, and not whatever was used longest ago all
 * over the file. Internal to the store.
 */
#include "err.h"
#include "store_kv.h"

/* Pages of a table that may go. rank: those of a lower one go first. */
struct room_table {
	uint64_t first, count;
	size_t rank;
};

/*
 * Marks in taken[] the tables that have to go so that `pages` pages lie side by side: of all ways
 * the one whose table of the highest rank has the lowest, then the one that takes the fewest pages.
 * 1, or 0 when there is no way; *ret_largest is then how many there could be. Sorts nothing of the
 * caller's. free_page(i): whether page i below page_count is free; all behind it up to
 * room_count are.
 */
struct room {
	const uint8_t *free_pages; /* a bit of each */
	uint64_t page_count, room_count;
	const struct room_table *tables;
	size_t table_count;
};

int room_find(const struct room *room, uint64_t pages, bool *taken, uint64_t *ret_largest,
	      struct err *err) _must_check_;

#endif
