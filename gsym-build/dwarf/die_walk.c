/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the DIEs of one unit into scopes and spans. */
#include <dwarf.h>

#include "die_priv.h"
#include "limits.h"

/* One level of the DIE tree. A scope without code is only noted; it is added when something below
 * it has code, which nine in ten never have. */
struct level {
	uint32_t owner; /* the level directly below the scope that holds these DIEs; 0: no scope */
	/* The rest describes the DIE above this level, if that is a scope. */
	uint32_t scope;       /* index of the scope once it is added */
	const uint8_t *noted; /* where its DIE begins while it is only noted, else NULL */
	bool function;        /* a subprogram, not an inlined call */
};

struct walk {
	struct die_scan *s;
	const struct die_table *table;
	uint32_t no_code; /* abbreviation flags that say that nothing below has code */
	uint32_t depth;   /* depth of the current DIEs: 1 directly below the unit's own */
	uint32_t muted;   /* DIEs from this depth on hold no code, or are too deep; 0: none */
	struct level levels[LIMIT_DIE_DEPTH + 1];
};

/* A list is in the image or in a file of split units, so the lengths of all of them add up. */
static int count_list(struct die_scan *s, int rc, struct err *err)
{
	uint64_t len = s->ranges.ranges_len + s->rnglists.len;

	for (size_t i = 0; i < s->split.file_count; i++)
		len += s->split.files[i].rnglists.len;
	if (!die_repeats_add(s->repeats, DIE_REPEATED_RANGES, s->scratch.read_len, len))
		return die_repeats_check(s->repeats, err);
	return rc;
}

int die_ranges_read(struct die_scan *s, const struct die *d, struct err *err)
{
	uint64_t low, high, off;

	s->scratch.count = 0;
	s->scratch.read_len = 0;
	if (d->v.form[DIE_RANGES] == DW_FORM_rnglistx)
		return count_list(
			s,
			range_list_read_index(&s->ranges, d->v.value[DIE_RANGES], &s->scratch, err),
			err);
	if (die_section_offset(d, DIE_RANGES, &off)) {
		if (!CHECKED_ADD(off, s->ranges_bias, &off))
			return err_set(err, ERR_DATA, "range list beyond its section");
		return count_list(s, range_list_read(&s->ranges, off, &s->scratch, err), err);
	}
	if (!die_address(s, d, DIE_LOW, &low))
		return 0;
	if (!die_address(s, d, DIE_HIGH, &high)) {
		if (!die_number(d, DIE_HIGH, &high))
			return 0;
		high += low;
	}
	return range_list_add(&s->scratch, low, high) ? 0 : range_list_full(&s->scratch, err);
}

/* The entry is the start of the first range unless DW_AT_entry_pc is present: cold parts often have
 * lower addresses. */
static uint64_t entry_pc_of(const struct die_scan *s, const struct die *d,
			    const struct range_list *ranges)
{
	uint64_t entry;

	/* A constant would be an offset (DWARF 5 section 2.18); no producer writes one. */
	return die_address(s, d, DIE_ENTRY, &entry) ? entry : ranges->list[0].start;
}

static int add_die_scope(struct die_scan *s, const struct die *d, const struct range_list *ranges,
			 uint32_t parent, uint32_t *ret, struct err *err)
{
	bool inlined = d->abbrev->tag == DW_TAG_inlined_subroutine;
	uint64_t file = 0, line = 0;
	struct debug_scope *scope;

	if (!GROW(s->scopes, &s->scopes_cap, s->scope_count + 1, DEBUG_NONE) ||
	    !GROW(s->names, &s->names_cap, s->scope_count + 1, DEBUG_NONE) ||
	    !GROW(s->spans, &s->spans_cap, s->span_count + ranges->count + 1, SIZE_MAX))
		return err_no_memory(err);
	if (s->span_count + ranges->count > LIMIT_UNIT_SPANS)
		return err_set(err, ERR_LIMIT, "more than %llu address ranges",
			       (unsigned long long)LIMIT_UNIT_SPANS);
	*ret = (uint32_t)s->scope_count++;
	scope = &s->scopes[*ret];
	*scope = (struct debug_scope){
		.parent = inlined ? parent : DEBUG_NONE,
		.name = DEBUG_NONE,
		.decl_file = DEBUG_NONE,
		.call_file = DEBUG_NONE,
		.has_entry = !inlined && ranges->count,
	};
	if (scope->has_entry)
		scope->entry = entry_pc_of(s, d, ranges);
	if (die_number(d, DIE_DECL_FILE, &file))
		scope->decl_file = line_table_file(&s->lines, file, s->comp_dir, s->text);
	if (die_number(d, DIE_DECL_LINE, &line))
		scope->decl_line = (uint32_t)line;
	if (inlined) {
		/* Number 0 when absent, as LLVM has it: the unit's own file in DWARF 5. */
		file = line = 0;
		(void)die_number(d, DIE_CALL_FILE, &file);
		(void)die_number(d, DIE_CALL_LINE, &line);
		scope->call_file = line_table_file(&s->lines, file, s->comp_dir, s->text);
		scope->call_line = (uint32_t)line;
		if (s->columns) {
			uint64_t column = 0, discriminator = 0;

			(void)die_number(d, DIE_CALL_COLUMN, &column);
			(void)die_number(d, DIE_DISCRIMINATOR, &discriminator);
			scope->call_column_word = debug_column_word(column, discriminator);
		}
	}
	s->names[*ret] = die_scope_name(s, d);
	for (size_t i = 0; i < ranges->count; i++)
		s->spans[s->span_count++] = (struct debug_span){
			.start = ranges->list[i].start,
			.end = ranges->list[i].end,
			.scope = *ret,
		};
	return 0;
}

static int read_die(const struct walk *w, const uint8_t *p, struct bytes *in, struct die *ret,
		    struct err *err)
{
	const struct die_unit *u = &w->s->unit;

	*in = bytes_of(p, u->end - u->off - (uint64_t)(p - u->p));
	return die_next(u, w->table, in, ret, err);
}

/* Returns the scope of a level's owner; adds it, and the inlined calls around it, if it was only
 * noted. */
static int owner_scope(struct walk *w, uint32_t level, uint32_t *ret, struct err *err)
{
	static const struct range_list no_code;
	uint32_t stack[LIMIT_DIE_DEPTH + 1], at = w->levels[level].owner;
	size_t count = 0;

	while (at && w->levels[at].noted) {
		stack[count++] = at;
		at = w->levels[at].function ? 0 : w->levels[at - 1].owner;
	}
	*ret = at ? w->levels[at].scope : DEBUG_NONE;
	while (count) {
		struct level *l = &w->levels[stack[--count]];
		struct bytes in;
		struct die d;
		int rc = read_die(w, l->noted, &in, &d, err);

		if (rc)
			return rc;
		rc = add_die_scope(w->s, &d, &no_code, *ret, ret, err);
		if (rc)
			return rc;
		l->noted = NULL;
		l->scope = *ret;
	}
	return 0;
}

/* Reads a scope that may have code. Its DIE begins at p; *in moves behind it. */
static int scope_with_code(struct walk *w, const uint8_t *p, struct bytes *in, struct level *ret,
			   struct err *err)
{
	uint32_t parent = DEBUG_NONE;
	struct die d;
	int rc = read_die(w, p, in, &d, err);

	if (!rc)
		rc = die_ranges_read(w->s, &d, err);
	/* A scope that holds no wanted address counts as one without code; a scope below it may
	 * hold one. */
	if (rc || !w->s->scratch.count ||
	    !unit_filter_overlaps(&w->s->wanted, w->s->scratch.list, w->s->scratch.count))
		return rc;
	if (d.abbrev->tag == DW_TAG_inlined_subroutine)
		rc = owner_scope(w, w->depth, &parent, err);
	ret->noted = NULL;
	return rc ? rc : add_die_scope(w->s, &d, &w->s->scratch, parent, &ret->scope, err);
}

/* Returns the end of the children of a DIE from its DW_AT_sibling, if that is behind p; else
 * NULL. */
static const uint8_t *sibling_of(const struct walk *w, const struct die_abbrev *a,
				 const uint8_t *attributes, const uint8_t *p)
{
	const struct die_unit *u = &w->s->unit;
	uint32_t off;

	if (a->sibling_at == DIE_NO_SIBLING)
		return NULL;
	memcpy(&off, attributes + a->sibling_at, sizeof(off));
	if (off >= u->end - u->off)
		return NULL;
	return u->p + off > p ? u->p + off : NULL;
}

static void enter_die(struct walk *w, const struct die_abbrev *a, struct level below)
{
	w->depth++;
	if (w->muted)
		return;
	if (a->flags & w->no_code || w->depth > LIMIT_DIE_DEPTH) {
		w->muted = w->depth;
		return;
	}
	below.owner = a->flags & DIE_IS_SCOPE ? w->depth : w->levels[w->depth - 1].owner;
	below.function = a->tag == DW_TAG_subprogram;
	w->levels[w->depth] = below;
}

/* Skips the attributes at *p, in one step if their length is fixed, as for most DIEs. False when
 * they leave the unit. */
static inline bool step_over(const struct walk *w, const struct die_abbrev *a, const uint8_t *end,
			     const uint8_t **p)
{
	struct bytes in;

	if (a->skip == DIE_NO_PROGRAM) {
		if (a->fixed_len > (size_t)(end - *p))
			return false;
		*p += a->fixed_len;
		return true;
	}
	in = bytes_of(*p, (size_t)(end - *p));
	die_skip(w->table, a, &in);
	*p = in.p;
	return !in.failed;
}

/* The cursor is a pair of pointers rather than a struct bytes, so that it stays in registers: a
 * unit has hundreds of thousands of DIEs. */
static int walk_unit(struct walk *w, const uint8_t *p, const uint8_t *end, struct err *err)
{
	const struct die_unit *u = &w->s->unit;

	w->depth = 1;
	while (p < end) {
		const uint8_t *start = p, *attributes, *sibling;
		struct level below = {.noted = start};
		uint64_t code = *p++;
		const struct die_abbrev *a;
		bool fits = true;
		int rc = 0;

		if (code & 0x80) {
			struct bytes in = bytes_of(start, (size_t)(end - start));

			code = bytes_uleb(&in);
			p = in.p;
			fits = !in.failed;
		}
		if (!code && fits) {
			if (!--w->depth)
				return 0; /* the rest is padding */
			if (w->depth < w->muted)
				w->muted = 0;
			continue;
		}
		a = fits ? die_table_find(w->table, code) : NULL;
		attributes = p;
		if (!a || a->flags & DIE_UNKNOWN) {
			struct bytes in = bytes_of(start, (size_t)(end - start));

			return die_next(u, w->table, &in, &(struct die){0}, err);
		}
		if (a->flags & DIE_HAS_CODE && !w->muted) {
			struct bytes in = bytes_of(p, (size_t)(end - p));

			rc = scope_with_code(w, start, &in, &below, err);
			p = in.p;
			fits = !in.failed;
		} else {
			fits = step_over(w, a, end, &p);
		}
		if (rc)
			return rc;
		if (!fits)
			return err_set(err, ERR_DATA, "DIE at 0x%llx leaves its unit",
				       (unsigned long long)u->off +
					       (unsigned long long)(start - u->p));
		if (!(a->flags & DIE_HAS_CHILDREN))
			continue;
		sibling = a->flags & w->no_code ? sibling_of(w, a, attributes, p) : NULL;
		if (sibling)
			p = sibling;
		else
			enter_die(w, a, below);
	}
	return 0; /* some producers leave out the closing nulls */
}

int die_walk(struct die_scan *s, const struct die_table *t, const struct bytes *in, struct err *err)
{
	struct walk w;

	w.s = s;
	w.table = t;
	w.muted = 0;
	w.no_code = DIE_NO_CODE | (s->is_c && !s->is_objective ? DIE_NO_CODE_IN_C : 0);
	w.levels[0] = w.levels[1] = (struct level){0};
	return walk_unit(&w, in->p, in->p + in->left, err);
}
