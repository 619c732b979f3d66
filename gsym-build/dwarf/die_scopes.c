/* SPDX-License-Identifier: Apache-2.0 */
#include "die_scopes.h"

#include <dwarf.h>
#include <stdlib.h>

#include "limits.h"

/* One level of the DIE tree. A scope without code is only noted, and added when something below it
 * has code, which is so for one in ten. */
struct level {
	/* The innermost scope around the DIEs of this level is described by levels[owner]; 0: they
	 * are in no scope. */
	uint32_t owner;
	/* The other members describe the parent of these DIEs, if that is a scope. */
	uint32_t scope;       /* index of the scope, once it is added */
	const uint8_t *noted; /* start of its DIE while it is only noted, else NULL */
	bool function;        /* it is a subprogram, not an inlined call */
};

struct walk {
	struct die_scopes *out;
	struct current_unit *current;
	struct debug_report *report;
	const struct unit_filter *wanted;
	const struct die_table *table;
	uint32_t no_code; /* abbreviation flags that say that nothing below has code */
	uint32_t depth;   /* depth of the current DIEs: 1 directly below the unit's own */
	uint32_t muted;   /* DIEs from this depth on have no code or are too deep; 0 if none */
	struct level levels[LIMIT_DIE_DEPTH + 1];
};

struct scope_name die_scope_name(const struct die *d, struct debug_report *report)
{
	struct scope_name n = {
		.linkage_name = die_string(d, DIE_LINKAGE_NAME),
		.name = die_string(d, DIE_NAME),
		.off = d->off,
	};

	if (!die_reference(d, DIE_SPECIFICATION, &n.file, &n.origin) &&
	    !die_reference(d, DIE_ORIGIN, &n.file, &n.origin))
		n.origin = 0;
	if (!d->unit->file->alt &&
	    (die_form_is_alt(d->v.form[DIE_LINKAGE_NAME]) || die_form_is_alt(d->v.form[DIE_NAME]) ||
	     die_form_is_alt(d->v.form[DIE_SPECIFICATION]) ||
	     die_form_is_alt(d->v.form[DIE_ORIGIN])))
		report->needs_alt_file = true;
	return n;
}

/* Returns the entry of a function: DW_AT_entry_pc if it is present, else the start of the first
 * range. The lowest address would be wrong, because it is often that of a cold part. */
static uint64_t entry_pc_of(const struct die *d, const struct range_list *ranges)
{
	uint64_t entry;

	/* A constant would be an offset (DWARF 5 section 2.18); no producer writes one. */
	return die_address(d, DIE_ENTRY, &entry) ? entry : ranges->list[0].start;
}

static int add_die_scope(struct walk *w, const struct die *d, const struct range_list *ranges,
			 uint32_t parent, uint32_t *ret, struct err *err)
{
	bool inlined = d->abbrev->tag == DW_TAG_inlined_subroutine;
	uint64_t file = 0, line = 0;
	struct current_unit *c = w->current;
	struct die_scopes *x = w->out;
	struct debug_scope *scope;

	if (!GROW(x->list, &x->cap, x->count + 1, DEBUG_NONE) ||
	    !GROW(x->names, &x->names_cap, x->count + 1, DEBUG_NONE) ||
	    !GROW(x->spans, &x->spans_cap, x->span_count + ranges->count + 1, SIZE_MAX))
		return err_no_memory(err);
	if (x->span_count + ranges->count > LIMIT_UNIT_SPANS)
		return err_set(err, ERR_LIMIT, "more than %llu address ranges",
			       (unsigned long long)LIMIT_UNIT_SPANS);
	*ret = (uint32_t)x->count++;
	scope = &x->list[*ret];
	*scope = (struct debug_scope){
		.parent = inlined ? parent : DEBUG_NONE,
		.name = DEBUG_NONE,
		.decl_file = DEBUG_NONE,
		.call_file = DEBUG_NONE,
		.has_entry = !inlined && ranges->count,
	};
	if (scope->has_entry)
		scope->entry = entry_pc_of(d, ranges);
	if (die_number(d, DIE_DECL_FILE, &file))
		scope->decl_file = current_unit_file(c, file);
	if (die_number(d, DIE_DECL_LINE, &line))
		scope->decl_line = (uint32_t)line;
	if (inlined) {
		/* A missing number is 0, as in LLVM: in DWARF 5, file 0 is the unit's own. */
		file = line = 0;
		(void)die_number(d, DIE_CALL_FILE, &file);
		(void)die_number(d, DIE_CALL_LINE, &line);
		scope->call_file = current_unit_file(c, file);
		scope->call_line = (uint32_t)line;
		if (c->columns) {
			uint64_t column = 0, discriminator = 0;

			(void)die_number(d, DIE_CALL_COLUMN, &column);
			(void)die_number(d, DIE_DISCRIMINATOR, &discriminator);
			scope->call_column_word = debug_column_word(column, discriminator);
		}
	}
	x->names[*ret] = die_scope_name(d, w->report);
	for (size_t i = 0; i < ranges->count; i++)
		x->spans[x->span_count++] = (struct debug_span){
			.start = ranges->list[i].start,
			.end = ranges->list[i].end,
			.scope = *ret,
		};
	return 0;
}

static int read_die(const struct walk *w, const uint8_t *p, struct bytes *in, struct die *ret,
		    struct err *err)
{
	const struct die_unit *u = &w->current->unit;

	*in = bytes_of(p, u->end - u->off - (uint64_t)(p - u->p));
	return die_next(u, w->table, in, ret, err);
}

/* Stores the innermost scope around the DIEs of a level, or DEBUG_NONE, in *ret. Adds that scope,
 * and the scopes around it up to its function, if they were only noted. */
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

		TRY(read_die(w, l->noted, &in, &d, err));
		TRY(add_die_scope(w, &d, &no_code, *ret, ret, err));
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

	TRY(read_die(w, p, in, &d, err));
	TRY(current_unit_ranges(w->current, &d, err));
	/* A scope without a wanted address counts as one without code; a scope below it may still
	 * have one. */
	if (!w->current->scratch.count ||
	    !unit_filter_overlaps(w->wanted, w->current->scratch.list, w->current->scratch.count))
		return 0;
	if (d.abbrev->tag == DW_TAG_inlined_subroutine)
		TRY(owner_scope(w, w->depth, &parent, err));
	ret->noted = NULL;
	return add_die_scope(w, &d, &w->current->scratch, parent, &ret->scope, err);
}

/* Returns the end of a DIE's children from its DW_AT_sibling, or NULL if that is not behind p. */
static const uint8_t *sibling_of(const struct walk *w, const struct die_abbrev *a,
				 const uint8_t *attributes, const uint8_t *p)
{
	const struct die_unit *u = &w->current->unit;
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

/* Skips the attributes at *p, in one step if their length is fixed, as for most DIEs. Returns false
 * if they leave the unit. */
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

/* The cursor is a pair of pointers rather than a struct bytes, to stay in registers: a unit may
 * have hundreds of thousands of DIEs. */
static int walk_unit(struct walk *w, const uint8_t *p, const uint8_t *end, struct err *err)
{
	const struct die_unit *u = &w->current->unit;

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

int die_scopes_read(struct die_scopes *x, struct current_unit *c, const struct unit_filter *wanted,
		    struct debug_report *report, const struct die_table *t, const struct bytes *in,
		    struct err *err)
{
	bool members_have_no_code = c->is_c && !c->is_objective;
	struct walk w;

	x->count = x->span_count = 0;
	w.out = x;
	w.current = c;
	w.report = report;
	w.wanted = wanted;
	w.table = t;
	w.muted = 0;
	w.no_code = DIE_NO_CODE | (members_have_no_code ? DIE_NO_CODE_IN_C : 0);
	w.levels[0] = w.levels[1] = (struct level){0};
	return in->left ? walk_unit(&w, in->p, in->p + in->left, err) : 0;
}

void die_scopes_close(struct die_scopes *x)
{
	free(x->list);
	free(x->names);
	free(x->spans);
}
