/* SPDX-License-Identifier: Apache-2.0 */
#include "die_wanted.h"

#include "bytes.h"

struct wanted_address {
	uint64_t vaddr;
	bool found, listed;
};

struct wanted_pair {
	uint64_t unit_off;
	uint32_t address;
};

static int by_vaddr(const void *va, const void *vb)
{
	const struct wanted_address *a = va, *b = vb;

	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int by_offset(const void *va, const void *vb)
{
	uint64_t a, b; /* also of a pair, which begins with it */

	memcpy(&a, va, sizeof(a));
	memcpy(&b, vb, sizeof(b));
	return (a > b) - (a < b);
}

/* Index of the first address not below vaddr. */
static size_t first_from(const struct die_wanted *w, uint64_t vaddr)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->list[middle].vaddr < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool add_range(struct die_wanted *w, uint64_t unit_off, uint64_t start, uint64_t len)
{
	for (size_t i = first_from(w, start); i < w->count && w->list[i].vaddr - start < len; i++) {
		if (!grow_array((void **)&w->pairs, &w->pairs_cap, w->pair_count + 1,
				sizeof(*w->pairs), SIZE_MAX / sizeof(*w->pairs)))
			return false;
		w->list[i].listed = true;
		w->pairs[w->pair_count++] = (struct wanted_pair){unit_off, (uint32_t)i};
	}
	return true;
}

/* One unit's set of ranges; *ret_ok false: out of memory. */
static void read_set(struct die_wanted *w, struct bytes set, size_t head_len, unsigned int off_size,
		     bool *ret_ok)
{
	size_t set_len = set.left;
	unsigned int version = bytes_u16(&set);
	uint64_t unit_off = off_size == 8 ? bytes_u64(&set) : bytes_u32(&set);
	unsigned int size = bytes_u8(&set), selector = bytes_u8(&set);
	bool any = false;

	if (set.failed || version != 2 || selector || (size != 4 && size != 8))
		return;
	/* Tuples stand at a multiple of their length from the beginning of the set. */
	bytes_skip(&set, -(head_len + set_len - set.left) & (2 * size - 1));
	while (set.left >= 2 * size && *ret_ok) {
		uint64_t start = size == 8 ? bytes_u64(&set) : bytes_u32(&set);
		uint64_t len = size == 8 ? bytes_u64(&set) : bytes_u32(&set);

		any |= len != 0;
		*ret_ok = add_range(w, unit_off, start, len);
	}
	/* Of a unit that it lists without any range it says nothing. */
	if (!any || !*ret_ok)
		return;
	*ret_ok = grow_array((void **)&w->listed, &w->listed_cap, w->listed_count + 1,
			     sizeof(*w->listed), SIZE_MAX / sizeof(*w->listed));
	if (*ret_ok)
		w->listed[w->listed_count++] = unit_off;
}

static bool read_index(struct die_wanted *w, struct bytes in)
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

int die_wanted_open(struct die_wanted *w, struct image *im, const uint64_t *vaddrs, size_t count,
		    struct err *err)
{
	const uint8_t *p = NULL;
	size_t len = 0;

	*w = (struct die_wanted){.count = count, .open_count = count};
	w->list = calloc(count + 1, sizeof(*w->list));
	if (!w->list)
		return err_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++)
		w->list[i].vaddr = vaddrs[i];
	qsort(w->list, count, sizeof(*w->list), by_vaddr);
	if (image_section(im, ".debug_aranges", &p, &len, NULL) != 1)
		len = 0;
	if (!read_index(w, bytes_of(p, len)))
		return err_set(err, ERR_MEMORY, "out of memory for .debug_aranges");
	if (w->listed_count)
		qsort(w->listed, w->listed_count, sizeof(*w->listed), by_offset);
	if (w->pair_count)
		qsort(w->pairs, w->pair_count, sizeof(*w->pairs), by_offset);
	for (size_t i = 0; i < count; i++)
		w->unlisted_count += !w->list[i].listed;
	return 0;
}

void die_wanted_close(struct die_wanted *w)
{
	free(w->list);
	free(w->listed);
	free(w->pairs);
	*w = (struct die_wanted){0};
}

bool die_wanted_over(const struct die_wanted *w, uint64_t unit_off)
{
	if (!w->list)
		return false;
	if (!w->open_count)
		return true;
	return !w->unlisted_count &&
	       (!w->pair_count || w->pairs[w->pair_count - 1].unit_off < unit_off);
}

/* The first pair of a unit, or pair_count. */
static size_t first_pair(const struct die_wanted *w, uint64_t unit_off)
{
	size_t low = 0, high = w->pair_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->pairs[middle].unit_off < unit_off)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum die_wanted_need die_wanted_need(const struct die_wanted *w, uint64_t unit_off)
{
	if (!w->list)
		return DIE_WANTED_YES;
	for (size_t i = first_pair(w, unit_off);
	     i < w->pair_count && w->pairs[i].unit_off == unit_off; i++)
		if (!w->list[w->pairs[i].address].found)
			return DIE_WANTED_YES;
	if (w->listed_count &&
	    bsearch(&unit_off, w->listed, w->listed_count, sizeof(*w->listed), by_offset))
		return DIE_WANTED_NOT;
	return DIE_WANTED_ASK;
}

bool die_wanted_in(const struct die_wanted *w, const struct facts_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = first_from(w, ranges[i].start);
		     k < w->count && w->list[k].vaddr < ranges[i].end; k++)
			if (!w->list[k].found)
				return true;
	return false;
}

void die_wanted_found(struct die_wanted *w, const struct facts_span *spans, size_t count)
{
	if (!w->list)
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t k = first_from(w, spans[i].start);
		     k < w->count && w->list[k].vaddr < spans[i].end; k++) {
			struct wanted_address *a = &w->list[k];

			if (a->found)
				continue;
			a->found = true;
			w->open_count--;
			w->unlisted_count -= !a->listed;
		}
}
