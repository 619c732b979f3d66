/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the signatures of functions as text: return type and parameters (DWARF 5 chapter 5,
 * sections 3.3.2 and 4.1). A type name is qualified by the namespaces and classes around it, up to
 * the nearest function. A type that cannot be read is "?".
 */
#include "die_types.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

enum {
	/* DIEs read for the parameters of one function. A signature has room for some hundred
	 * parameters (LIMIT_TYPE_LEN). */
	LIMIT_PARAMETER_DIES = 4096,
};

struct place {
	const struct die_file *file;
	uint64_t off; /* 0 if there is no DIE */
};

#define UNREADABLE UINT64_MAX

static struct place read_type_reference(const struct die_types *t, const struct die *d,
					enum die_slot slot)
{
	struct place p = {.file = d->unit->file};

	if (!d->v.form[slot])
		return p;
	if (d->v.form[slot] == DW_FORM_ref_sig8
		    ? !die_signatures_find(&t->signatures, d->v.value[slot], &p.file, &p.off)
		    : !die_reference(d, slot, &p.file, &p.off))
		p = (struct place){.file = d->unit->file, .off = UNREADABLE};
	return p;
}

static bool die_at_place(struct die_types *t, struct place at, struct bytes *in, struct die *d)
{
	return at.off != UNREADABLE && die_lookup_die(t->lookup, at.file, at.off, in, d);
}

/* Reads the DIE of a type and returns whether there is one. A declaration may refer to the type
 * unit that defines it; *at then moves there. */
static bool type_at(struct die_types *t, struct place *at, struct die *d)
{
	struct bytes in;

	if (!die_at_place(t, *at, &in, d))
		return false;
	if (d->v.form[DIE_SIGNATURE] == DW_FORM_ref_sig8) {
		struct place whole = read_type_reference(t, d, DIE_SIGNATURE);
		struct die unit_die;

		if (die_at_place(t, whole, &in, &unit_die)) {
			*at = whole;
			*d = unit_die;
		}
	}
	return true;
}

static void put_type_text(const char *text, struct buf *out)
{
	buf_append(out, text, strnlen(text, LIMIT_TYPE_LEN));
}

/* Stores the namespaces and classes around a type, nearest first, and returns their number, up to
 * cap. A type in a type unit may stand outside its namespaces and classes; DW_AT_specification then
 * leads to its declaration inside them. */
static size_t find_outers(struct die_types *t, struct die d, struct place *ret, size_t cap)
{
	uint64_t around[LIMIT_TYPE_HOPS];
	size_t count = 0;

	for (unsigned int hops = 0; hops < LIMIT_ORIGIN_HOPS; hops++) {
		size_t more = enclosing_scopes_find(&t->enclosing, t->lookup, &d, around,
						    ARRAY_LEN(around));
		struct place declared;
		struct bytes in;

		for (size_t i = 0; i < more && count < cap; i++)
			ret[count++] = (struct place){.file = d.unit->file, .off = around[i]};
		if (more && !die_at_place(t, ret[count - 1], &in, &d))
			break;
		declared = read_type_reference(t, &d, DIE_SPECIFICATION);
		if (!declared.off || !die_at_place(t, declared, &in, &d))
			break;
	}
	return count;
}

/* Appends the qualified name of the type whose DIE is d. */
static void put_type_name(struct die_types *t, const struct die *d, bool is_c, struct buf *out)
{
	struct place around[LIMIT_TYPE_HOPS];
	const char *name = die_string(d, DIE_NAME);
	size_t count = is_c ? 0 : find_outers(t, *d, around, ARRAY_LEN(around));

	while (count) {
		struct place at = around[--count];
		const char *outer = NULL;
		struct die o;

		if (type_at(t, &at, &o)) {
			outer = die_string(&o, DIE_NAME);
			if (!outer && o.abbrev->tag == DW_TAG_namespace)
				outer = "(anonymous namespace)";
		}
		put_type_text(outer ? outer : "{...}", out);
		buf_str(out, "::");
	}
	put_type_text(name ? name : "{...}", out);
}

/* C names structures by a keyword and a tag; C++ and Rust name them like any other type. */
static const char *keyword_of(uint32_t tag, bool is_c)
{
	if (!is_c)
		return "";
	switch (tag) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "";
	}
}

static const char *suffix_of(uint32_t tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
		return "*";
	case DW_TAG_reference_type:
		return "&";
	case DW_TAG_rvalue_reference_type:
		return "&&";
	case DW_TAG_const_type:
		return "const";
	case DW_TAG_volatile_type:
		return "volatile";
	case DW_TAG_restrict_type:
		return "restrict";
	case DW_TAG_atomic_type:
		return "_Atomic";
	case DW_TAG_array_type:
		return "[]";
	default:
		return NULL;
	}
}

static bool put_type_parameters(struct die_types *t, struct place at, bool is_c, unsigned int hops,
				struct buf *out);

/* Appends the text of a type. Qualifiers and pointers follow the type they modify, as in "char
 * const *", so that no parentheses are needed. */
static void put_type_at(struct die_types *t, struct place at, bool is_c, unsigned int hops,
			struct buf *out)
{
	const char *suffix;
	struct place inner;
	struct die d;

	if (out->failed) /* at the text's limit: references between types may be cyclic */
		return;
	if (!at.off) {
		buf_str(out, "void");
		return;
	}
	if (hops > LIMIT_TYPE_HOPS || !type_at(t, &at, &d)) {
		buf_str(out, "?");
		return;
	}
	suffix = suffix_of(d.abbrev->tag);
	inner = read_type_reference(t, &d, DIE_TYPE);
	if (suffix) {
		put_type_at(t, inner, is_c, hops + 1, out);
		/* No space between two pointers: "char **". */
		if (!out->failed && out->len && !strchr("*&", out->p[out->len - 1]))
			buf_u8(out, ' ');
		else if (*suffix != '*' && *suffix != '&')
			buf_u8(out, ' ');
		buf_str(out, suffix);
		return;
	}
	switch (d.abbrev->tag) {
	case DW_TAG_ptr_to_member_type: {
		struct place of = read_type_reference(t, &d, DIE_CONTAINING_TYPE);

		put_type_at(t, inner, is_c, hops + 1, out);
		buf_u8(out, ' ');
		if (of.off)
			put_type_at(t, of, is_c, hops + 1, out);
		buf_str(out, "::*");
		return;
	}
	case DW_TAG_subroutine_type:
		put_type_at(t, inner, is_c, hops + 1, out);
		buf_str(out, " ");
		put_type_parameters(t, at, is_c, hops + 1, out);
		return;
	case DW_TAG_packed_type:
	case DW_TAG_subrange_type: /* a type without a name is shown as its base type */
		if (!die_string(&d, DIE_NAME) && inner.off) {
			put_type_at(t, inner, is_c, hops + 1, out);
			return;
		}
		break;
	default:
		break;
	}
	buf_str(out, keyword_of(d.abbrev->tag, is_c));
	put_type_name(t, &d, is_c, out);
}

/* Returns whether a DIE with this tag begins the body of a function. Parameters come before it. */
static bool is_body(uint32_t tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

/* Finds the type of a parameter. In a copy of a function, a parameter refers to the original one,
 * which has the type. */
static struct place type_of(struct die_types *t, struct die *d)
{
	struct place type = read_type_reference(t, d, DIE_TYPE), origin;
	struct bytes in;

	for (unsigned int hops = 0; !type.off && hops < LIMIT_ORIGIN_HOPS; hops++) {
		origin = read_type_reference(t, d, DIE_ORIGIN);
		if (!origin.off || !die_at_place(t, origin, &in, d))
			break;
		type = read_type_reference(t, d, DIE_TYPE);
	}
	return type;
}

/* Appends the parameters, as "(int, char *)". Returns whether there is at least one. */
static bool put_type_parameters(struct die_types *t, struct place at, bool is_c, unsigned int hops,
				struct buf *out)
{
	const struct die_table *table;
	unsigned int depth = 1, count = 0;
	struct bytes in;
	struct die d;

	buf_u8(out, '(');
	if (die_at_place(t, at, &in, &d) && d.abbrev->flags & DIE_HAS_CHILDREN) {
		for (unsigned int i = 0;
		     i < LIMIT_PARAMETER_DIES && in.left && depth && !out->failed; i++) {
			const struct die_unit *u = d.unit;

			/* The table is looked up each time, because put_type_at() may evict it. */
			if (die_lookup_table(t->lookup, u, &table, NULL) ||
			    die_next(u, table, &in, &d, NULL))
				break;
			if (!d.abbrev) {
				d.unit = u;
				depth--;
				continue;
			}
			if (depth == 1 && is_body(d.abbrev->tag))
				break;
			if (depth == 1 && (d.abbrev->tag == DW_TAG_formal_parameter ||
					   d.abbrev->tag == DW_TAG_unspecified_parameters)) {
				struct die parameter = d;

				buf_str(out, count++ ? ", " : "");
				if (d.abbrev->tag == DW_TAG_formal_parameter)
					put_type_at(t, type_of(t, &parameter), is_c, hops + 1, out);
				else
					buf_str(out, "...");
			}
			depth += (d.abbrev->flags & DIE_HAS_CHILDREN) != 0;
		}
	}
	if (!count && is_c)
		buf_str(out, "void");
	buf_u8(out, ')');
	return count > 0;
}

/*
 * Appends the signature of the function whose DIE is at a place, along its chain of origins. The
 * parameters are those of the definition: a copy may lack some, and a declaration may name their
 * types differently.
 */
static void put_signature(struct die_types *t, struct place at, bool is_c, struct buf *out)
{
	_cleanup_(buf_done) struct buf last = BUF_INIT(LIMIT_TYPE_LEN);
	_cleanup_(buf_done) struct buf parameters = BUF_INIT(LIMIT_TYPE_LEN);
	struct place result = {0};
	bool declaration = false, known = false;
	struct bytes in;
	struct die d;

	for (unsigned int hops = 0; at.off && hops < LIMIT_ORIGIN_HOPS; hops++) {
		struct place next;

		if (!die_at_place(t, at, &in, &d))
			break;
		if (!result.off)
			result = read_type_reference(t, &d, DIE_TYPE);
		next = read_type_reference(t, &d, DIE_SPECIFICATION);
		buf_reset(&last);
		if (!declaration || !known) {
			bool any = put_type_parameters(t, at, is_c, 0, &last);

			if (any || !parameters.len) {
				buf_reset(&parameters);
				buf_append(&parameters, last.p, last.len);
			}
			known |= any;
		}
		declaration |= next.off != 0;
		if (!next.off)
			next = read_type_reference(t, &d, DIE_ORIGIN);
		at = next;
	}
	put_type_at(t, result, is_c, 0, out);
	buf_u8(out, ' ');
	buf_append(out, parameters.p, parameters.len);
	out->failed |= parameters.failed || last.failed;
}

struct type_key {
	const struct die_file *file;
	uint64_t off;
	uint64_t is_c;
};

/* Stores the signature of a scope in *ret, or DEBUG_NONE. Inlined calls share the signature of
 * their origin. A function has its own, because the declaration that it completes may lack the
 * parameters if its class is in a type unit. */
static int signature_of(struct die_types *t, const struct current_unit *c,
			const struct debug_scope *scope, const struct scope_name *n, uint32_t *ret,
			struct err *err)
{
	bool shared = n->origin && scope->parent != DEBUG_NONE;
	struct place at = {.file = shared ? n->file : c->unit.file,
			   .off = shared ? n->origin : n->off};
	struct type_key key = {.file = at.file, .off = at.off, .is_c = c->is_c};
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_TYPE_LEN);
	bool is_new;
	uint32_t id = intern_add(&t->seen, &key, sizeof(key), &is_new);

	*ret = DEBUG_NONE;
	if (id == INTERN_FULL || !GROW(t->ids, &t->ids_cap, (size_t)id + 1, SIZE_MAX))
		return err_no_memory(err);
	if (is_new) {
		t->ids[id] = DEBUG_NONE;
		put_signature(t, at, c->is_c, &text);
		/* A signature that is too long is dropped. */
		if (!text.failed) {
			t->ids[id] = debug_string(c->text, text.p, text.len);
			if (t->ids[id] == DEBUG_NONE)
				return err_no_memory(err);
		}
	}
	*ret = t->ids[id];
	return 0;
}

int die_types_resolve(struct die_types *t, const struct current_unit *c,
		      const struct die_scopes *scopes, struct err *err)
{
	if (!GROW(t->of_scopes, &t->of_scopes_cap, scopes->count + 1, SIZE_MAX))
		return err_no_memory(err);
	for (size_t i = 0; i < scopes->count; i++)
		TRY(signature_of(t, c, &scopes->list[i], &scopes->names[i], &t->of_scopes[i], err));
	return 0;
}

void die_types_init(struct die_types *t, struct die_lookup *lookup)
{
	*t = (struct die_types){
		.lookup = lookup,
		.seen = INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN),
	};
	enclosing_scopes_init(&t->enclosing);
}

void die_types_close(struct die_types *t)
{
	free(t->of_scopes);
	free(t->ids);
	intern_done(&t->seen);
	die_signatures_close(&t->signatures);
	enclosing_scopes_done(&t->enclosing);
}
