/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the signatures of functions for the plain reader, as text that FORMAT.md describes, DIE by
 * DIE through libdwarf. */
#include <string.h>

#include "limits.h"
#include "plain_type_dies.h"

/* Returns the DIE that completes a declaration in a type unit and moves *at there, or `die`
 * itself. */
static Dwarf_Die find_completed_type(const struct plain_types *t, struct die_position *at,
				     Dwarf_Die die)
{
	struct die_position whole = plain_type_refers_to(t, at->dbg, die, DW_AT_signature);
	Dwarf_Die other = plain_type_die(whole);

	if (!other)
		return die;
	dwarf_dealloc(at->dbg, die, DW_DLA_DIE);
	*at = whole;
	return other;
}

static void put_plain_name(struct plain_types *t, struct die_position at, Dwarf_Die die,
			   unsigned int hops, struct buf *out);

/* Puts the scopes around the DIE at `at`, up to the nearest function, as "a::b::". */
static void put_outers(struct plain_types *t, struct die_position at, Dwarf_Die die,
		       unsigned int hops, struct buf *out)
{
	struct parent up;
	Dwarf_Die outer;

	if (hops > LIMIT_TYPE_HOPS)
		return;
	up = plain_type_parent(t, at, die);
	if (!up.tag) {
		struct die_position declared =
			plain_type_refers_to(t, at.dbg, die, DW_AT_specification);

		outer = plain_type_die(declared);
		if (outer) {
			put_outers(t, declared, outer, hops + 1, out);
			dwarf_dealloc(declared.dbg, outer, DW_DLA_DIE);
		}
		return;
	}
	if (up.tag == DW_TAG_subprogram)
		return;
	at.off = up.off;
	outer = plain_type_die(at);
	if (outer) {
		put_plain_name(t, at, outer, hops + 1, out);
		buf_str(out, "::");
		dwarf_dealloc(at.dbg, outer, DW_DLA_DIE);
	}
}

/* Puts the qualified name of a type. The DIE of an outer class may be a declaration without a name,
 * which is then in its type unit. */
static void put_plain_name(struct plain_types *t, struct die_position at, Dwarf_Die die,
			   unsigned int hops, struct buf *out)
{
	const char *name = plain_type_name(t, at.dbg, die);

	if (!t->is_c)
		put_outers(t, at, die, hops, out);
	if (!name && hops) {
		struct die_position whole = plain_type_refers_to(t, at.dbg, die, DW_AT_signature);
		Dwarf_Die other = plain_type_die(whole);

		if (other) {
			name = plain_type_name(t, whole.dbg, other);
			dwarf_dealloc(whole.dbg, other, DW_DLA_DIE);
		}
	}
	if (!name)
		name = hops && plain_type_tag(at.dbg, die) == DW_TAG_namespace
			       ? "(anonymous namespace)"
			       : "{...}";
	buf_append(out, name, strnlen(name, LIMIT_TYPE_LEN));
}

static const struct {
	Dwarf_Half tag;
	const char *text;
} marks[] = {
	{DW_TAG_pointer_type, "*"},           {DW_TAG_reference_type, "&"},
	{DW_TAG_rvalue_reference_type, "&&"}, {DW_TAG_const_type, "const"},
	{DW_TAG_volatile_type, "volatile"},   {DW_TAG_restrict_type, "restrict"},
	{DW_TAG_atomic_type, "_Atomic"},      {DW_TAG_array_type, "[]"},
};

static unsigned int put_plain_parameters(struct plain_types *t, struct die_position of,
					 unsigned int hops, struct buf *out);

static void put_plain_type(struct plain_types *t, struct die_position at, unsigned int hops,
			   struct buf *out)
{
	const char *mark = NULL;
	struct die_position inner, of;
	Dwarf_Half tag;
	Dwarf_Die die;

	if (out->failed)
		return;
	if (!at.off && !at.unreadable) {
		buf_str(out, "void");
		return;
	}
	die = hops > LIMIT_TYPE_HOPS ? NULL : plain_type_die(at);
	if (!die) {
		buf_str(out, "?");
		return;
	}
	die = find_completed_type(t, &at, die);
	tag = plain_type_tag(at.dbg, die);
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (marks[i].tag == tag)
			mark = marks[i].text;
	inner = plain_type_refers_to(t, at.dbg, die, DW_AT_type);
	if (mark) {
		bool sign = *mark == '*' || *mark == '&';

		put_plain_type(t, inner, hops + 1, out);
		if (!sign || !out->len ||
		    (out->p[out->len - 1] != '*' && out->p[out->len - 1] != '&'))
			buf_u8(out, ' ');
		buf_str(out, mark);
	} else if (tag == DW_TAG_ptr_to_member_type) {
		of = plain_type_refers_to(t, at.dbg, die, DW_AT_containing_type);
		put_plain_type(t, inner, hops + 1, out);
		buf_u8(out, ' ');
		if (of.off || of.unreadable)
			put_plain_type(t, of, hops + 1, out);
		buf_str(out, "::*");
	} else if (tag == DW_TAG_subroutine_type) {
		put_plain_type(t, inner, hops + 1, out);
		buf_u8(out, ' ');
		put_plain_parameters(t, at, hops + 1, out);
	} else if ((tag == DW_TAG_subrange_type || tag == DW_TAG_packed_type) &&
		   (inner.off || inner.unreadable) && !plain_type_name(t, at.dbg, die)) {
		put_plain_type(t, inner, hops + 1, out);
	} else {
		buf_str(out, !t->is_c                         ? ""
			     : tag == DW_TAG_structure_type   ? "struct "
			     : tag == DW_TAG_union_type       ? "union "
			     : tag == DW_TAG_enumeration_type ? "enum "
							      : "");
		put_plain_name(t, at, die, 0, out);
	}
	dwarf_dealloc(at.dbg, die, DW_DLA_DIE);
}

/* Finds the type of a parameter along its origins. */
static struct die_position parameter_type(const struct plain_types *t, struct die_position at)
{
	struct die_position type = {0};

	for (unsigned int hops = 0; hops <= LIMIT_ORIGIN_HOPS; hops++) {
		Dwarf_Debug dbg = at.dbg;
		Dwarf_Die die = plain_type_die(at);

		if (!die)
			break;
		type = plain_type_refers_to(t, dbg, die, DW_AT_type);
		at = plain_type_refers_to(t, dbg, die, DW_AT_abstract_origin);
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		if (type.off || type.unreadable)
			break;
	}
	return type;
}

/* Puts the parameters, as "(int, char *)", and returns their number. */
static unsigned int put_plain_parameters(struct plain_types *t, struct die_position of,
					 unsigned int hops, struct buf *out)
{
	Dwarf_Die function = plain_type_die(of), die = NULL, next;
	Dwarf_Error e = NULL;
	unsigned int count = 0;

	buf_u8(out, '(');
	if (function && dwarf_child(function, &die, &e) != DW_DLV_OK)
		die = NULL;
	plain_type_free_error(of.dbg, e);
	for (; die; die = next) {
		Dwarf_Half tag = plain_type_tag(of.dbg, die);
		bool over = out->failed || tag == DW_TAG_lexical_block ||
			    tag == DW_TAG_inlined_subroutine || tag == DW_TAG_call_site ||
			    tag == DW_TAG_GNU_call_site;

		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_unspecified_parameters)
			buf_str(out, count++ ? ", " : "");
		if (tag == DW_TAG_formal_parameter)
			put_plain_type(t, parameter_type(t, plain_type_position(of.dbg, die)),
				       hops + 1, out);
		else if (tag == DW_TAG_unspecified_parameters)
			buf_str(out, "...");
		e = NULL;
		next = NULL;
		if (!over && dwarf_siblingof_b(of.dbg, die, of.is_info, &next, &e) != DW_DLV_OK)
			next = NULL;
		plain_type_free_error(of.dbg, e);
		dwarf_dealloc(of.dbg, die, DW_DLA_DIE);
	}
	if (function)
		dwarf_dealloc(of.dbg, function, DW_DLA_DIE);
	if (!count && t->is_c)
		buf_str(out, "void");
	buf_u8(out, ')');
	return count;
}

/* Returns the signature of the function at a position, or DEBUG_NONE. The return type is that of
 * the first DIE along the origins that has one. The parameters are those of the last DIE that has
 * some; those of a declaration count only if no DIE before it has any. */
static uint32_t make_signature(struct plain_types *t, struct die_position at)
{
	_cleanup_(buf_done) struct buf parameters = BUF_INIT(LIMIT_TYPE_LEN);
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_TYPE_LEN);
	struct die_position result = {0};
	bool failed = false, declared = false;
	unsigned int count = 0;

	for (unsigned int hops = 0; hops < LIMIT_ORIGIN_HOPS; hops++) {
		_cleanup_(buf_done) struct buf one = BUF_INIT(LIMIT_TYPE_LEN);
		Dwarf_Debug dbg = at.dbg;
		Dwarf_Die die = plain_type_die(at);
		struct die_position next;
		bool declares;

		if (!die)
			break;
		if (!result.off && !result.unreadable)
			result = plain_type_refers_to(t, dbg, die, DW_AT_type);
		next = plain_type_refers_to(t, dbg, die, DW_AT_specification);
		declares = next.off || next.unreadable;
		if (!declares)
			next = plain_type_refers_to(t, dbg, die, DW_AT_abstract_origin);
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		if (!declared || !count) {
			unsigned int here = put_plain_parameters(t, at, 0, &one);

			if (here || !parameters.len) {
				buf_reset(&parameters);
				buf_append(&parameters, one.p, one.len);
			}
			count += here;
		}
		declared |= declares;
		failed |= one.failed;
		at = next;
	}
	put_plain_type(t, result, 0, &text);
	buf_u8(&text, ' ');
	buf_append(&text, parameters.p, parameters.len);
	return failed || text.failed || parameters.failed
		       ? DEBUG_NONE
		       : debug_string(t->r->text, text.p, text.len);
}

/* Returns whether the unit is C (DWARF 5 table 7.17 and later additions). */
static bool is_language_c(Dwarf_Debug dbg, Dwarf_Die unit)
{
	Dwarf_Unsigned language = 0;
	Dwarf_Error e = NULL;

	if (dwarf_srclang(unit, &language, &e) != DW_DLV_OK) {
		plain_type_free_error(dbg, e);
		return false;
	}
	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_ObjC || language == DW_LANG_C11 || language == 0x2c /* C17 */ ||
	       language == 0x3e /* C23 */;
}

int plain_types_resolve(struct plain_reader *r, Dwarf_Die unit, struct err *err)
{
	struct plain_types *t = r->types_of;

	if (!t)
		return 0;
	t->is_c = is_language_c(r->dbg, unit);
	if (!GROW(r->types, &r->types_cap, r->scope_count + 1, SIZE_MAX))
		return err_no_memory(err);
	for (size_t i = 0; i < r->scope_count; i++) {
		const struct scope_names *n = &r->scope_names[i];
		struct {
			Dwarf_Debug dbg;
			uint64_t off, is_c;
		} key;
		struct die_position at = {.dbg = r->dbg, .off = n->off, .is_info = 1};
		bool is_new;
		uint32_t id;

		r->types[i] = DEBUG_NONE;
		if (!n->needed)
			continue;
		if (r->scopes[i].parent == DEBUG_NONE || !n->origin.off) {
			r->types[i] = make_signature(t, at);
			continue;
		}
		at.dbg = n->origin.in_alt ? r->alt.dbg : r->dbg;
		at.off = n->origin.off;
		memset(&key, 0, sizeof(key));
		key.dbg = at.dbg;
		key.off = at.off;
		key.is_c = t->is_c;
		id = intern_add(&t->shared, &key, sizeof(key), &is_new);
		if (id == INTERN_FULL ||
		    !GROW(t->shared_types, &t->shared_cap, (size_t)id + 1, SIZE_MAX))
			return err_no_memory(err);
		if (is_new)
			t->shared_types[id] = make_signature(t, at);
		r->types[i] = t->shared_types[id];
	}
	return 0;
}
