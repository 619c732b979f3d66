/* SPDX-License-Identifier: Apache-2.0 */
#include "store_room.h"

#include <assert.h>
#include <stdlib.h>

#include "base.h"

#define NO_TABLE SIZE_MAX

/* Pages side by side that are free, or belong to one table that may be evicted. */
struct stretch {
	uint64_t first, count;
	size_t table; /* NO_TABLE: free */
};

struct stretches {
	struct stretch *rows;
	size_t count, cap;
};

struct window {
	size_t begin, end; /* range of the stretches */
	size_t rank;
	uint64_t taken;
};

static bool add_stretch(struct stretches *s, uint64_t first, uint64_t count, size_t table)
{
	if (!GROW(s->rows, &s->cap, s->count + 1, SIZE_MAX))
		return false;
	s->rows[s->count++] = (struct stretch){first, count, table};
	return true;
}

static bool add_free(struct stretches *s, const struct room *room)
{
	uint64_t first = 0, count = 0;

	for (uint64_t i = 0; i < room->page_count; i++) {
		if (room->free_pages[i / 8] >> (i % 8) & 1) {
			first = count ? first : i;
			count++;
			continue;
		}
		if (count && !add_stretch(s, first, count, NO_TABLE))
			return false;
		count = 0;
	}
	if (count && !add_stretch(s, first, count, NO_TABLE))
		return false;
	return room->room_count <= room->page_count ||
	       add_stretch(s, room->page_count, room->room_count - room->page_count, NO_TABLE);
}

static int by_first(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Weighs what a window would evict, and adds each window up anew, because it holds few tables. */
static struct window weigh_window(const struct room *room, const struct stretches *s, size_t begin,
				  size_t end)
{
	struct window w = {begin, end, 0, 0};

	for (size_t i = begin; i < end; i++) {
		if (s->rows[i].table == NO_TABLE)
			continue;
		w.taken += s->rows[i].count;
		if (room->tables[s->rows[i].table].rank > w.rank)
			w.rank = room->tables[s->rows[i].table].rank;
	}
	return w;
}

static bool window_is_better(const struct window *a, const struct window *b)
{
	return !b->end || a->rank < b->rank || (a->rank == b->rank && a->taken < b->taken);
}

static struct window search_window(const struct room *room, const struct stretches *s,
				   uint64_t pages, uint64_t *ret_largest)
{
	struct window best = {0};
	uint64_t sum = 0;
	size_t begin = 0;

	*ret_largest = 0;
	for (size_t end = 0; end < s->count; end++) {
		struct window w;

		if (end && s->rows[end - 1].first + s->rows[end - 1].count != s->rows[end].first) {
			begin = end;
			sum = 0;
		}
		sum += s->rows[end].count;
		*ret_largest = sum > *ret_largest ? sum : *ret_largest;
		if (sum < pages)
			continue;
		while (sum - s->rows[begin].count >= pages)
			sum -= s->rows[begin++].count;
		w = weigh_window(room, s, begin, end + 1);
		if (window_is_better(&w, &best))
			best = w;
	}
	return best;
}

int room_find(const struct room *room, uint64_t pages, bool *taken, uint64_t *ret_largest,
	      struct err *err)
{
	struct stretches s = {0};
	struct window best;
	bool fits = add_free(&s, room);

	for (size_t i = 0; fits && i < room->table_count; i++)
		fits = add_stretch(&s, room->tables[i].first, room->tables[i].count, i);
	if (!fits) {
		free(s.rows);
		return err_no_memory(err);
	}
	if (s.count)
		qsort(s.rows, s.count, sizeof(s.rows[0]), by_first);
	best = search_window(room, &s, pages, ret_largest);
	assert(s.rows || !best.end);
	for (size_t i = 0; i < room->table_count; i++)
		taken[i] = false;
	for (size_t i = best.begin; i < best.end; i++)
		if (s.rows[i].table != NO_TABLE)
			taken[s.rows[i].table] = true;
	free(s.rows);
	return best.end ? 1 : 0;
}
