/* SPDX-License-Identifier: Apache-2.0 */
#include "unit_filter.h"

#include "bisect.h"
#include "bytes.h"
#include "sort.h"

struct wanted_address {
	uint64_t vaddr;
	bool listed;
	uint32_t open; /* own index if open, else a higher one: a chain to an open address */
};

struct wanted_pair {
	uint64_t unit_off;
	uint32_t address;
};

/*
 * Most ranges tested are those of short inlined calls without a wanted address. A bitmap, with a
 * bit set for each run of 64 bytes that has a wanted address, rejects them with one load, where a
 * search takes a dozen. Runs whose numbers are equal modulo RUN_BITS share a bit.
 */
#define RUN_SHIFT 6
#define RUN_BITS  ((size_t)1 << 18)
#define RUNS_MAX  8 /* ranges over more runs are searched */

static void mark_run(uint64_t *runs, uint64_t vaddr)
{
	uint64_t bit = vaddr >> RUN_SHIFT & (RUN_BITS - 1);

	runs[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* Returns false if certainly no address lies in [start, end). */
static bool maybe_between(const uint64_t *runs, uint64_t start, uint64_t end)
{
	uint64_t run = start >> RUN_SHIFT, last = (end - 1) >> RUN_SHIFT;

	if (last - run >= RUNS_MAX)
		return true;
	for (; run <= last; run++) {
		uint64_t bit = run & (RUN_BITS - 1);

		if (runs[bit / 64] >> bit % 64 & 1)
			return true;
	}
	return false;
}

/* Returns the index of the first address not below vaddr. */
static size_t first_from(const struct unit_filter *w, uint64_t vaddr)
{
	return BISECT(w->count, i, w->list[i].vaddr < vaddr);
}

/* Returns the index of the first open address from index k on, or the count. */
static size_t open_from(const struct unit_filter *w, size_t k)
{
	while (w->list[k].open != k) {
		w->list[k].open = w->list[w->list[k].open].open;
		k = w->list[k].open;
	}
	return k;
}

static bool add_listed_range(struct unit_filter *w, uint64_t unit_off, uint64_t start, uint64_t len)
{
	for (size_t i = first_from(w, start); i < w->count && w->list[i].vaddr - start < len; i++) {
		if (!GROW(w->pairs, &w->pairs_cap, w->pair_count + 1, SIZE_MAX / sizeof(*w->pairs)))
			return false;
		w->list[i].listed = true;
		w->pairs[w->pair_count++] = (struct wanted_pair){unit_off, (uint32_t)i};
	}
	return true;
}

/* Reads the ranges of one unit. Sets *ret_ok to false if memory is out. */
static void read_set(struct unit_filter *w, struct bytes set, size_t head_len,
		     unsigned int off_size, bool *ret_ok)
{
	size_t set_len = set.left;
	unsigned int version = bytes_u16(&set);
	uint64_t unit_off = off_size == 8 ? bytes_u64(&set) : bytes_u32(&set);
	unsigned int size = bytes_u8(&set), selector = bytes_u8(&set);
	bool any = false;

	if (set.failed || version != 2 || selector || (size != 4 && size != 8))
		return;
	/* Tuples are aligned to their length, relative to the start of the set. */
	bytes_skip(&set, -(head_len + set_len - set.left) & (2 * size - 1));
	while (set.left >= 2 * size && *ret_ok) {
		uint64_t start = size == 8 ? bytes_u64(&set) : bytes_u32(&set);
		uint64_t len = size == 8 ? bytes_u64(&set) : bytes_u32(&set);

		any |= len != 0;
		*ret_ok = add_listed_range(w, unit_off, start, len);
	}
	/* A unit listed without any range counts as not listed. */
	if (!any || !*ret_ok)
		return;
	*ret_ok =
		GROW(w->listed, &w->listed_cap, w->listed_count + 1, SIZE_MAX / sizeof(*w->listed));
	if (*ret_ok)
		w->listed[w->listed_count++] = unit_off;
}

static bool read_index(struct unit_filter *w, struct bytes in)
{
	bool ok = true;

	while (in.left && ok) {
		size_t head_len = 4;
		uint64_t len = bytes_u32(&in);
		const uint8_t *p;

		if (len == UINT32_MAX) {
			len = bytes_u64(&in);
			head_len = 12;
		}
		p = bytes_take(&in, len);
		if (p)
			read_set(w, bytes_of(p, len), head_len, head_len == 4 ? 4 : 8, &ok);
	}
	return ok;
}

/* Sorts a list. Lists of callers and indexes are mostly sorted already, which is tested first. */
static void put_in_order(void *list, size_t count, size_t size,
			 int (*compare)(const void *a, const void *b))
{
	const uint8_t *p = list;

	for (size_t i = 1; i < count; i++, p += size)
		if (compare(p, p + size) > 0) {
			qsort(list, count, size, compare);
			return;
		}
}

int unit_filter_open(struct unit_filter *w, struct image *im, const uint64_t *vaddrs, size_t count,
		     struct err *err)
{
	const uint8_t *p = NULL;
	size_t len = 0;

	*w = (struct unit_filter){.count = count, .open_count = count};
	w->list = calloc(count + 1, sizeof(*w->list));
	w->runs = calloc(RUN_BITS / 64, sizeof(*w->runs));
	if (!w->list || !w->runs)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++)
		mark_run(w->runs, vaddrs[i]);
	for (size_t i = 0; i < count; i++)
		w->list[i].vaddr = vaddrs[i];
	put_in_order(w->list, count, sizeof(*w->list), compare_u64);
	for (size_t i = 0; i <= count; i++)
		w->list[i].open = (uint32_t)i;
	if (image_section(im, ".debug_aranges", &p, &len, NULL) != 1)
		len = 0;
	if (!read_index(w, bytes_of(p, len)))
		return err_no_memory(err);
	put_in_order(w->listed, w->listed_count, sizeof(*w->listed), compare_u64);
	put_in_order(w->pairs, w->pair_count, sizeof(*w->pairs), compare_u64);
	for (size_t i = 0; i < count; i++)
		w->unlisted_count += !w->list[i].listed;
	return 0;
}

static void *copy_of(const void *p, size_t count, size_t size)
{
	void *copy = malloc(count * size + 1);

	if (copy && count)
		memcpy(copy, p, count * size);
	return copy;
}

int unit_filter_copy(struct unit_filter *w, const struct unit_filter *from, struct err *err)
{
	if (!from->list)
		return 0;
	*w = *from;
	w->list = copy_of(from->list, from->count + 1, sizeof(*w->list));
	w->runs = copy_of(from->runs, RUN_BITS / 64, sizeof(*w->runs));
	w->listed = copy_of(from->listed, from->listed_count, sizeof(*w->listed));
	w->pairs = copy_of(from->pairs, from->pair_count, sizeof(*w->pairs));
	return w->list && w->runs && w->listed && w->pairs ? 0 : err_no_memory(err);
}

void unit_filter_close(struct unit_filter *w)
{
	free(w->list);
	free(w->runs);
	free(w->listed);
	free(w->pairs);
	*w = (struct unit_filter){0};
}

static bool filter_is_done(const struct unit_filter *w, size_t open_count, size_t unlisted_count,
			   uint64_t unit_off)
{
	if (!w->list)
		return false;
	if (!open_count)
		return true;
	return !unlisted_count &&
	       (!w->pair_count || w->pairs[w->pair_count - 1].unit_off < unit_off);
}

bool unit_filter_is_done(const struct unit_filter *w, uint64_t unit_off)
{
	return filter_is_done(w, w->open_count, w->unlisted_count, unit_off);
}

int unit_filter_shared_open(struct unit_filter_shared *both, const struct unit_filter *w,
			    struct err *err)
{
	*both = (struct unit_filter_shared){.open_count = w->open_count,
					    .unlisted_count = w->unlisted_count};
	if (w->list)
		both->found = calloc(w->count + 1, sizeof(*both->found));
	return !w->list || both->found ? 0 : err_no_memory(err);
}

void unit_filter_shared_close(struct unit_filter_shared *both)
{
	free(both->found);
	*both = (struct unit_filter_shared){0};
}

void unit_filter_shared_add(struct unit_filter_shared *both, const struct unit_filter *w)
{
	if (!both->found)
		return;
	for (size_t i = 0; i < w->count; i++) {
		if (w->list[i].open == i || both->found[i])
			continue;
		both->found[i] = true;
		both->open_count--;
		both->unlisted_count -= !w->list[i].listed;
	}
}

bool unit_filter_shared_is_done(const struct unit_filter_shared *both, const struct unit_filter *w,
				uint64_t unit_off)
{
	return filter_is_done(w, both->open_count, both->unlisted_count, unit_off);
}

/* Returns the index of the first pair of a unit or of a later one, or pair_count. */
static size_t first_pair(const struct unit_filter *w, uint64_t unit_off)
{
	return BISECT(w->pair_count, i, w->pairs[i].unit_off < unit_off);
}

enum unit_filter_need unit_filter_need(const struct unit_filter *w, uint64_t unit_off)
{
	if (!w->list)
		return UNIT_FILTER_READ;
	for (size_t i = first_pair(w, unit_off);
	     i < w->pair_count && w->pairs[i].unit_off == unit_off; i++)
		if (w->list[w->pairs[i].address].open == w->pairs[i].address)
			return UNIT_FILTER_READ;
	if (w->listed_count &&
	    bsearch(&unit_off, w->listed, w->listed_count, sizeof(*w->listed), compare_u64))
		return UNIT_FILTER_SKIP;
	return UNIT_FILTER_ASK;
}

/* Returns whether an open address lies in [start, end). */
static bool wanted_between(const struct unit_filter *w, uint64_t start, uint64_t end)
{
	size_t k;

	if (start >= end || !maybe_between(w->runs, start, end))
		return false;
	k = open_from(w, first_from(w, start));
	return k < w->count && w->list[k].vaddr < end;
}

bool unit_filter_overlaps(const struct unit_filter *w, const struct debug_range *ranges,
			  size_t count)
{
	bool in = !w->list;

	for (size_t i = 0; i < count && !in; i++)
		in = wanted_between(w, ranges[i].start, ranges[i].end);
	return in;
}

/* Moves the needed rows of one sequence, [first, last], to index `to`, and returns their number. */
static size_t keep_rows(const struct unit_filter *w, struct debug_row *rows, size_t first,
			size_t last, size_t to)
{
	size_t kept = to, next = first; /* first row that is not kept yet */

	for (size_t i = first; i < last; i++)
		if (rows[i].vaddr > rows[i + 1].vaddr) { /* addresses fall; the builder decides */
			memmove(rows + to, rows + first, (last + 1 - first) * sizeof(*rows));
			return last + 1 - first;
		}
	if (!wanted_between(w, rows[first].vaddr, rows[last].vaddr))
		return 0;
	for (size_t i = first; i < last; i++) {
		if (i != first && !wanted_between(w, rows[i].vaddr, rows[i + 1].vaddr))
			continue;
		if (next <= i)
			rows[kept++] = rows[i];
		rows[kept++] = rows[i + 1];
		next = i + 2;
	}
	if (next <= last)
		rows[kept++] = rows[last];
	return kept - to;
}

void unit_filter_trim_rows(const struct unit_filter *w, struct line_rows *rows)
{
	size_t first = 0, kept = 0;

	if (!w->list)
		return;
	for (size_t i = 0; i < rows->count; i++) {
		if (!rows->rows[i].end)
			continue;
		kept += keep_rows(w, rows->rows, first, i, kept);
		first = i + 1;
	}
	rows->count = kept; /* rows without an end row are no sequence */
}

void unit_filter_mark_found(struct unit_filter *w, const struct debug_span *spans, size_t count)
{
	if (!w->list)
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t k = open_from(w, first_from(w, spans[i].start));
		     k < w->count && w->list[k].vaddr < spans[i].end; k = open_from(w, k)) {
			w->list[k].open = (uint32_t)k + 1;
			w->open_count--;
			w->unlisted_count -= !w->list[k].listed;
		}
}
