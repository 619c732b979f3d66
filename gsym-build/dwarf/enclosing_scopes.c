/* SPDX-License-Identifier: Apache-2.0 */
#include "enclosing_scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "bisect.h"
#include "limits.h"

enum {
	/* Ranges kept for all units together, 96 MiB of them. At the limit, the cache is emptied.
	 */
	LIMIT_SCOPE_RANGES = 4 << 20,
};

#define NO_RANGE UINT32_MAX

/* A namespace, class or function, from the offset of its DIE to the end of its children. */
struct enclosing_range {
	uint64_t off, end;
	uint32_t parent; /* index among the unit's ranges, or NO_RANGE */
	bool is_function;
};

struct enclosing_unit {
	size_t first, count; /* in ranges */
};

struct unit_key {
	const struct die_file *file;
	uint64_t off;
};

/* The scope around the DIEs at one depth. */
struct level {
	uint64_t off;   /* offset of the DIE above this level */
	uint32_t owner; /* level of the nearest namespace, class or function, or 0 */
	uint32_t range; /* range of the owner, valid only at the owner's level */
	bool is_function;
};

struct walk {
	struct enclosing_scopes *enclosing;
	size_t first;
	uint32_t depth;
	struct level levels[LIMIT_DIE_DEPTH + 1];
};

void enclosing_scopes_init(struct enclosing_scopes *x)
{
	*x = (struct enclosing_scopes){.seen = INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN)};
}

void enclosing_scopes_done(struct enclosing_scopes *x)
{
	intern_done(&x->seen);
	free(x->units);
	free(x->ranges);
}

static bool tag_holds_types(uint32_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static bool is_named_type(uint32_t tag)
{
	return tag_holds_types(tag) || tag == DW_TAG_typedef || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_subrange_type || tag == DW_TAG_template_alias;
}

static bool add_enclosing_range(struct walk *w, uint32_t level)
{
	struct enclosing_scopes *x = w->enclosing;
	struct level *l = &w->levels[level];
	uint32_t around = w->levels[level - 1].owner;

	if (!GROW(x->ranges, &x->ranges_cap, x->range_count + 1, NO_RANGE))
		return false;
	l->range = (uint32_t)(x->range_count - w->first);
	x->ranges[x->range_count++] = (struct enclosing_range){
		.off = l->off,
		.end = UINT64_MAX,
		.parent = around ? w->levels[around].range : NO_RANGE,
		.is_function = l->is_function,
	};
	return true;
}

/* Adds ranges for the functions around the current DIE, a type: functions without types get none.
 * Outer functions are added first, so that ranges are sorted by their start. Returns false if
 * memory is out. */
static bool keep_functions(struct walk *w)
{
	uint32_t stack[LIMIT_DIE_DEPTH + 1];
	size_t count = 0;

	for (uint32_t at = w->levels[w->depth].owner; at && w->levels[at].range == NO_RANGE;
	     at = w->levels[at - 1].owner)
		stack[count++] = at;
	while (count)
		if (!add_enclosing_range(w, stack[--count]))
			return false;
	return true;
}

static void leave_scopes(struct walk *w, uint64_t off)
{
	const struct level *l = &w->levels[w->depth];

	if (l->owner == w->depth && l->range != NO_RANGE)
		w->enclosing->ranges[w->first + l->range].end = off;
	w->depth--;
}

static bool enter_scope(struct walk *w, const struct die_abbrev *a, uint64_t off)
{
	uint32_t around = w->levels[w->depth].owner;
	struct level *l = &w->levels[++w->depth];

	*l = (struct level){.off = off, .owner = around, .range = NO_RANGE};
	if (tag_holds_types(a->tag)) {
		l->owner = w->depth;
		return add_enclosing_range(w, w->depth);
	}
	if (a->tag == DW_TAG_subprogram) {
		l->owner = w->depth;
		l->is_function = true;
	}
	return true;
}

/* Walks a whole unit and returns false if memory is out. Damage ends the walk, and scopes that are
 * open there extend to the end of the unit. */
static bool go_through(struct die_lookup *lookup, const struct die_unit *u, struct walk *w)
{
	struct bytes in = bytes_of(u->p + u->header_len, u->end - u->off - u->header_len);
	const struct die_table *t;
	bool ok = true;

	if (die_lookup_table(lookup, u, &t, NULL))
		return true;
	w->depth = 0;
	w->levels[0] = (struct level){.range = NO_RANGE};
	while (ok && in.left) {
		uint64_t off = u->off + (uint64_t)(in.p - u->p), code = bytes_uleb(&in);
		const struct die_abbrev *a;

		if (!code && !in.failed) {
			if (w->depth <= 1)
				break;
			leave_scopes(w, off);
			continue;
		}
		a = die_table_find(t, code);
		if (in.failed || !a || a->flags & DIE_UNKNOWN)
			break;
		if (a->skip == DIE_NO_PROGRAM)
			bytes_skip(&in, a->fixed_len);
		else
			die_skip(t, a, &in);
		if (is_named_type(a->tag))
			ok = keep_functions(w);
		if (!(a->flags & DIE_HAS_CHILDREN))
			continue;
		if (w->depth == LIMIT_DIE_DEPTH)
			break;
		ok = ok && enter_scope(w, a, off);
	}
	return ok;
}

static const struct enclosing_unit *unit_ranges(struct enclosing_scopes *x,
						struct die_lookup *lookup, const struct die_unit *u)
{
	struct unit_key key = {.file = u->file, .off = u->off};
	struct walk w;
	bool is_new;
	uint32_t id;

	if (x->range_count > LIMIT_SCOPE_RANGES) {
		intern_reset(&x->seen);
		x->range_count = 0;
	}
	id = intern_add(&x->seen, &key, sizeof(key), &is_new);
	if (id == INTERN_FULL || !GROW(x->units, &x->units_cap, (size_t)id + 1, SIZE_MAX))
		return NULL;
	if (is_new) {
		w.enclosing = x;
		w.first = x->range_count;
		x->units[id] = (struct enclosing_unit){.first = w.first};
		if (!go_through(lookup, u, &w)) {
			x->range_count = w.first;
			return NULL;
		}
		x->units[id].count = x->range_count - w.first;
	}
	return &x->units[id];
}

size_t enclosing_scopes_find(struct enclosing_scopes *x, struct die_lookup *lookup,
			     const struct die *d, uint64_t *ret, size_t cap)
{
	const struct enclosing_unit *u = unit_ranges(x, lookup, d->unit);
	const struct enclosing_range *ranges;
	size_t before, count = 0;
	uint32_t at;

	if (!u || !u->count)
		return 0;
	ranges = x->ranges + u->first;
	before = BISECT(u->count, i, ranges[i].off < d->off);
	for (at = before ? (uint32_t)before - 1 : NO_RANGE; at != NO_RANGE && count < cap;
	     at = ranges[at].parent) {
		if (ranges[at].end <= d->off)
			continue;
		if (ranges[at].is_function)
			break;
		ret[count++] = ranges[at].off;
	}
	return count;
}
