/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_ROOM_H
#define RAWSTACK_STORE_ROOM_H
/*
 * Chooses the tables that make room for a value, internal to the store. A long value needs pages
 * side by side. Tables that lie side by side are therefore taken, with the free pages between them,
 * rather than those that were used longest ago all over the file.
 */
#include "err.h"
#include "store_kv.h"

/* The pages of a table that may be evicted. Tables of a lower rank go first. */
struct room_table {
	uint64_t first, count;
	size_t rank;
};

/*
 * Marks in taken[] the tables to evict so that `pages` pages lie side by side. Of all choices it
 * takes the one whose highest rank is lowest, and of those the one with the fewest pages. Returns
 * 1, or 0 if there is no such choice; *ret_largest is then the longest stretch that there could be.
 * The caller's arrays stay as they are. Pages from page_count up to room_count are free.
 */
struct room {
	const uint8_t *free_pages; /* one bit for each page below page_count, 1: free */
	uint64_t page_count, room_count;
	const struct room_table *tables;
	size_t table_count;
};

int room_find(const struct room *room, uint64_t pages, bool *taken, uint64_t *ret_largest,
	      struct err *err) _must_check_;

#endif
