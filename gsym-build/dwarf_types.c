/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of functions, by the plain reader: the text that FORMAT.md says, made DIE by DIE
 * through libdwarf. What holds a type is found by going through its unit and noting the parent of
 * each DIE.
 */
#include <string.h>

#include "dwarf_priv.h"
#include "limits.h"

/* A DIE of any file at hand. */
struct spot {
	Dwarf_Debug dbg;
	Dwarf_Off off; /* 0: none */
	Dwarf_Bool is_info;
	bool unreadable; /* there is a reference, but not what it refers to */
};

struct type_unit {
	uint64_t signature;
	struct spot type;
};

/* A DIE that can hold types, or a type: its parent is the next one up that can. */
struct parent {
	Dwarf_Off off, parent; /* 0: none */
	Dwarf_Half tag;
};

struct unit_parents {
	struct parent *list; /* by offset */
	size_t count, cap;
};

struct type_reader {
	struct reader *r;
	struct type_unit *units; /* by signature; of copies the first */
	size_t unit_count, units_cap;
	struct intern seen; /* a file and a unit's offset */
	struct unit_parents *parents;
	size_t parents_cap;
	struct intern shared; /* origins of inlined calls */
	uint32_t *shared_types;
	size_t shared_cap;
	bool is_c;
};

static void forget(Dwarf_Debug dbg, Dwarf_Error e)
{
	if (e)
		dwarf_dealloc(dbg, e, DW_DLA_ERROR);
}

/* Must be freed by dwarf_dealloc(). */
static Dwarf_Die die_of(struct spot at)
{
	Dwarf_Error e = NULL;
	Dwarf_Die die = NULL;

	if (!at.off || at.unreadable || !at.dbg)
		return NULL;
	if (dwarf_offdie_b(at.dbg, at.off, at.is_info, &die, &e) != DW_DLV_OK) {
		forget(at.dbg, e);
		return NULL;
	}
	return die;
}

static struct spot spot_of(Dwarf_Debug dbg, Dwarf_Die die)
{
	struct spot s = {.dbg = dbg, .is_info = dwarf_get_die_infotypes_flag(die)};
	Dwarf_Error e = NULL;

	if (dwarf_dieoffset(die, &s.off, &e) != DW_DLV_OK)
		forget(dbg, e);
	return s;
}

static Dwarf_Half tag_of(Dwarf_Debug dbg, Dwarf_Die die)
{
	Dwarf_Error e = NULL;
	Dwarf_Half tag = 0;

	if (dwarf_tag(die, &tag, &e) != DW_DLV_OK)
		forget(dbg, e);
	return tag;
}

static struct spot by_signature(const struct type_reader *t, uint64_t signature)
{
	size_t low = 0, count = t->unit_count;

	while (count) {
		size_t half = count / 2;

		if (t->units[low + half].signature < signature) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	if (low < t->unit_count && t->units[low].signature == signature)
		return t->units[low].type;
	return (struct spot){.unreadable = true};
}

/* What an attribute of a DIE refers to. */
static struct spot refers_to(const struct type_reader *t, Dwarf_Debug dbg, Dwarf_Die die,
			     Dwarf_Half name)
{
	struct spot ret = {.dbg = dbg, .is_info = dwarf_get_die_infotypes_flag(die)};
	Dwarf_Attribute at = NULL;
	Dwarf_Error e = NULL;
	Dwarf_Half form = 0;
	Dwarf_Sig8 id;

	if (dwarf_attr(die, name, &at, &e) != DW_DLV_OK) {
		forget(dbg, e);
		return ret;
	}
	if (dwarf_whatform(at, &form, &e) != DW_DLV_OK) {
		ret.unreadable = true;
	} else if (form == DW_FORM_ref_sig8) {
		ret.unreadable = true;
		if (dwarf_formsig8(at, &id, &e) == DW_DLV_OK) {
			uint64_t signature;

			memcpy(&signature, &id, sizeof(signature));
			ret = by_signature(t, signature);
		}
	} else {
		if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 ||
		    form == DW_FORM_ref_sup8)
			ret.dbg = t->r->alt.dbg;
		if (form != DW_FORM_ref1 && form != DW_FORM_ref2 && form != DW_FORM_ref4 &&
		    form != DW_FORM_ref8 && form != DW_FORM_ref_udata)
			ret.is_info = 1;
		ret.unreadable = !ret.dbg || dwarf_global_formref(at, &ret.off, &e) != DW_DLV_OK;
	}
	forget(dbg, e);
	dwarf_dealloc(dbg, at, DW_DLA_ATTR);
	return ret;
}

static const char *name_of(const struct type_reader *t, Dwarf_Debug dbg, Dwarf_Die die)
{
	Dwarf_Attribute at = NULL;
	Dwarf_Error e = NULL;
	Dwarf_Half form = 0;
	char *s = NULL;

	if (dwarf_attr(die, DW_AT_name, &at, &e) != DW_DLV_OK) {
		forget(dbg, e);
		return NULL;
	}
	if (dwarf_whatform(at, &form, &e) == DW_DLV_OK &&
	    ((form != DW_FORM_GNU_strp_alt && form != DW_FORM_strp_sup) || t->r->alt.dbg) &&
	    dwarf_formstring(at, &s, &e) != DW_DLV_OK)
		s = NULL;
	forget(dbg, e);
	dwarf_dealloc(dbg, at, DW_DLA_ATTR);
	return s;
}

/* A declaration may say in which type unit the rest of it is. */
static Dwarf_Die completed(const struct type_reader *t, struct spot *at, Dwarf_Die die)
{
	struct spot whole = refers_to(t, at->dbg, die, DW_AT_signature);
	Dwarf_Die other = die_of(whole);

	if (!other)
		return die;
	dwarf_dealloc(at->dbg, die, DW_DLA_DIE);
	*at = whole;
	return other;
}

static bool holds_types(Dwarf_Half tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_interface_type || tag == DW_TAG_subprogram;
}

static bool note_parents(struct type_reader *t, Dwarf_Debug dbg, Dwarf_Die first, Dwarf_Off parent,
			 unsigned int depth, struct unit_parents *ret)
{
	Dwarf_Die die = first;
	bool ok = true;

	while (die) {
		struct parent p = {
			.off = spot_of(dbg, die).off, .parent = parent, .tag = tag_of(dbg, die)};
		Dwarf_Die child = NULL, next = NULL;
		Dwarf_Error e = NULL;

		ok = ok && grow_array((void **)&ret->list, &ret->cap, ret->count + 1,
				      sizeof(*ret->list), SIZE_MAX);
		if (ok)
			ret->list[ret->count++] = p;
		if (ok && depth < LIMIT_DIE_DEPTH && dwarf_child(die, &child, &e) == DW_DLV_OK)
			ok = note_parents(t, dbg, child, holds_types(p.tag) ? p.off : parent,
					  depth + 1, ret);
		forget(dbg, e);
		e = NULL;
		if (ok && dwarf_siblingof_b(dbg, die, dwarf_get_die_infotypes_flag(die), &next,
					    &e) != DW_DLV_OK)
			next = NULL;
		forget(dbg, e);
		/* DIEs are stored in the order of this walk; anything else is a loop. */
		if (next && spot_of(dbg, next).off <= p.off) {
			dwarf_dealloc(dbg, next, DW_DLA_DIE);
			next = NULL;
		}
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		die = next;
	}
	return ok;
}

/* Those of the unit that holds a DIE; NULL: out of memory, or the unit makes no sense. */
static const struct unit_parents *parents_of(struct type_reader *t, struct spot at, Dwarf_Die die)
{
	struct {
		Dwarf_Debug dbg;
		uint64_t off, is_info;
	} key = {.dbg = at.dbg, .is_info = (uint64_t)at.is_info};
	Dwarf_Off unit = 0;
	Dwarf_Error e = NULL;
	bool is_new;
	uint32_t id;

	if (dwarf_CU_dieoffset_given_die(die, &unit, &e) != DW_DLV_OK) {
		forget(at.dbg, e);
		return NULL;
	}
	key.off = unit;
	id = intern_add(&t->seen, &key, sizeof(key), &is_new);
	if (id == INTERN_FULL || !grow_array((void **)&t->parents, &t->parents_cap, (size_t)id + 1,
					     sizeof(*t->parents), SIZE_MAX))
		return NULL;
	if (is_new) {
		Dwarf_Die top = die_of((struct spot){at.dbg, unit, at.is_info, false});

		t->parents[id] = (struct unit_parents){0};
		if (top && !note_parents(t, at.dbg, top, 0, 0, &t->parents[id]))
			return NULL;
	}
	return &t->parents[id];
}

static struct parent parent_at(const struct unit_parents *u, Dwarf_Off off)
{
	size_t low = 0, count = u->count;

	while (count) {
		size_t half = count / 2;

		if (u->list[low + half].off < off) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low < u->count && u->list[low].off == off ? u->list[low] : (struct parent){0};
}

static void put_name(struct type_reader *t, struct spot at, Dwarf_Die die, unsigned int hops,
		     struct buf *out);

/* "a::b::": what holds the DIE at `at`, up to a function. */
static void put_outers(struct type_reader *t, struct spot at, Dwarf_Die die, unsigned int hops,
		       struct buf *out)
{
	const struct unit_parents *u = parents_of(t, at, die);
	struct parent self, up;
	Dwarf_Die outer;

	if (!u || hops > LIMIT_TYPE_HOPS)
		return;
	self = parent_at(u, at.off);
	if (!self.parent) {
		struct spot declared = refers_to(t, at.dbg, die, DW_AT_specification);

		outer = die_of(declared);
		if (outer) {
			put_outers(t, declared, outer, hops + 1, out);
			dwarf_dealloc(declared.dbg, outer, DW_DLA_DIE);
		}
		return;
	}
	up = parent_at(u, self.parent);
	if (up.tag == DW_TAG_subprogram)
		return;
	at.off = up.off;
	outer = die_of(at);
	if (outer) {
		put_name(t, at, outer, hops + 1, out);
		buf_str(out, "::");
		dwarf_dealloc(at.dbg, outer, DW_DLA_DIE);
	}
}

/* With what holds it. A class that holds others may be declared here, and named in a type unit. */
static void put_name(struct type_reader *t, struct spot at, Dwarf_Die die, unsigned int hops,
		     struct buf *out)
{
	const char *name = name_of(t, at.dbg, die);

	if (!t->is_c)
		put_outers(t, at, die, hops, out);
	if (!name && hops) {
		struct spot whole = refers_to(t, at.dbg, die, DW_AT_signature);
		Dwarf_Die other = die_of(whole);

		if (other) {
			name = name_of(t, whole.dbg, other);
			dwarf_dealloc(whole.dbg, other, DW_DLA_DIE);
		}
	}
	if (!name)
		name = hops && tag_of(at.dbg, die) == DW_TAG_namespace ? "(anonymous namespace)"
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

static unsigned int put_parameters(struct type_reader *t, struct spot of, unsigned int hops,
				   struct buf *out);

static void put_type(struct type_reader *t, struct spot at, unsigned int hops, struct buf *out)
{
	const char *mark = NULL;
	struct spot inner, of;
	Dwarf_Half tag;
	Dwarf_Die die;

	if (out->failed)
		return;
	if (!at.off && !at.unreadable) {
		buf_str(out, "void");
		return;
	}
	die = hops > LIMIT_TYPE_HOPS ? NULL : die_of(at);
	if (!die) {
		buf_str(out, "?");
		return;
	}
	die = completed(t, &at, die);
	tag = tag_of(at.dbg, die);
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (marks[i].tag == tag)
			mark = marks[i].text;
	inner = refers_to(t, at.dbg, die, DW_AT_type);
	if (mark) {
		bool sign = *mark == '*' || *mark == '&';

		put_type(t, inner, hops + 1, out);
		if (!sign || !out->len ||
		    (out->p[out->len - 1] != '*' && out->p[out->len - 1] != '&'))
			buf_u8(out, ' ');
		buf_str(out, mark);
	} else if (tag == DW_TAG_ptr_to_member_type) {
		of = refers_to(t, at.dbg, die, DW_AT_containing_type);
		put_type(t, inner, hops + 1, out);
		buf_u8(out, ' ');
		if (of.off || of.unreadable)
			put_type(t, of, hops + 1, out);
		buf_str(out, "::*");
	} else if (tag == DW_TAG_subroutine_type) {
		put_type(t, inner, hops + 1, out);
		buf_u8(out, ' ');
		put_parameters(t, at, hops + 1, out);
	} else if ((tag == DW_TAG_subrange_type || tag == DW_TAG_packed_type) &&
		   (inner.off || inner.unreadable) && !name_of(t, at.dbg, die)) {
		put_type(t, inner, hops + 1, out);
	} else {
		buf_str(out, !t->is_c                         ? ""
			     : tag == DW_TAG_structure_type   ? "struct "
			     : tag == DW_TAG_union_type       ? "union "
			     : tag == DW_TAG_enumeration_type ? "enum "
							      : "");
		put_name(t, at, die, 0, out);
	}
	dwarf_dealloc(at.dbg, die, DW_DLA_DIE);
}

/* Along the origins of a parameter. */
static struct spot parameter_type(const struct type_reader *t, struct spot at)
{
	struct spot type = {0};

	for (unsigned int hops = 0; hops <= LIMIT_ORIGIN_HOPS; hops++) {
		Dwarf_Debug dbg = at.dbg;
		Dwarf_Die die = die_of(at);

		if (!die)
			break;
		type = refers_to(t, dbg, die, DW_AT_type);
		at = refers_to(t, dbg, die, DW_AT_abstract_origin);
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		if (type.off || type.unreadable)
			break;
	}
	return type;
}

/* "(int, char *)"; how many there are. */
static unsigned int put_parameters(struct type_reader *t, struct spot of, unsigned int hops,
				   struct buf *out)
{
	Dwarf_Die function = die_of(of), die = NULL, next;
	Dwarf_Error e = NULL;
	unsigned int count = 0;

	buf_u8(out, '(');
	if (function && dwarf_child(function, &die, &e) != DW_DLV_OK)
		die = NULL;
	forget(of.dbg, e);
	for (; die; die = next) {
		Dwarf_Half tag = tag_of(of.dbg, die);
		bool over = out->failed || tag == DW_TAG_lexical_block ||
			    tag == DW_TAG_inlined_subroutine || tag == DW_TAG_call_site ||
			    tag == DW_TAG_GNU_call_site;

		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_unspecified_parameters)
			buf_str(out, count++ ? ", " : "");
		if (tag == DW_TAG_formal_parameter)
			put_type(t, parameter_type(t, spot_of(of.dbg, die)), hops + 1, out);
		else if (tag == DW_TAG_unspecified_parameters)
			buf_str(out, "...");
		e = NULL;
		next = NULL;
		if (!over && dwarf_siblingof_b(of.dbg, die, of.is_info, &next, &e) != DW_DLV_OK)
			next = NULL;
		forget(of.dbg, e);
		dwarf_dealloc(of.dbg, die, DW_DLA_DIE);
	}
	if (function)
		dwarf_dealloc(of.dbg, function, DW_DLA_DIE);
	if (!count && t->is_c)
		buf_str(out, "void");
	buf_u8(out, ')');
	return count;
}

/* The result is what the first DIE along the origins says; the parameters are those of the last
 * that has some, but for declarations: of them only where nothing else has any. */
static uint32_t signature(struct type_reader *t, struct spot at)
{
	_cleanup_(buf_done) struct buf parameters = BUF_INIT(LIMIT_TYPE_LEN);
	_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_TYPE_LEN);
	struct spot result = {0};
	bool failed = false, declared = false;
	unsigned int count = 0;

	for (unsigned int hops = 0; hops < LIMIT_ORIGIN_HOPS; hops++) {
		_cleanup_(buf_done) struct buf one = BUF_INIT(LIMIT_TYPE_LEN);
		Dwarf_Debug dbg = at.dbg;
		Dwarf_Die die = die_of(at);
		struct spot next;
		bool declares;

		if (!die)
			break;
		if (!result.off && !result.unreadable)
			result = refers_to(t, dbg, die, DW_AT_type);
		next = refers_to(t, dbg, die, DW_AT_specification);
		declares = next.off || next.unreadable;
		if (!declares)
			next = refers_to(t, dbg, die, DW_AT_abstract_origin);
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		if (!declared || !count) {
			unsigned int here = put_parameters(t, at, 0, &one);

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
	put_type(t, result, 0, &text);
	buf_u8(&text, ' ');
	buf_append(&text, parameters.p, parameters.len);
	return failed || text.failed || parameters.failed
		       ? FACTS_NONE
		       : facts_string(t->r->text, text.p, text.len);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory for types");
}

static int add_units(struct type_reader *t, Dwarf_Debug dbg, Dwarf_Bool is_info, struct err *err)
{
	Dwarf_Unsigned next = 0;

	for (;;) {
		Dwarf_Unsigned header_len, type_off = 0, off = next;
		Dwarf_Half version, address_size, offset_size, extension, kind = 0;
		Dwarf_Off abbrev_off;
		Dwarf_Sig8 id = {0};
		Dwarf_Error e = NULL;
		struct type_unit u = {.type = {.dbg = dbg, .is_info = is_info}};
		int rc = dwarf_next_cu_header_d(dbg, is_info, &header_len, &version, &abbrev_off,
						&address_size, &offset_size, &extension, &id,
						&type_off, &next, &kind, &e);

		if (rc == DW_DLV_ERROR || (rc == DW_DLV_OK && next <= off)) {
			forget(dbg, e);
			return 0;
		}
		if (rc != DW_DLV_OK)
			return 0;
		if (kind != DW_UT_type && kind != DW_UT_split_type && is_info)
			continue;
		memcpy(&u.signature, &id, sizeof(u.signature));
		u.type.off = off + type_off;
		if (!grow_array((void **)&t->units, &t->units_cap, t->unit_count + 1,
				sizeof(*t->units), SIZE_MAX))
			return no_memory(err);
		t->units[t->unit_count++] = u;
	}
}

static int merge_by_signature(struct type_unit *list, size_t count)
{
	/* Stable and plain: there are thousands, and it is done once. */
	struct type_unit *copy = malloc((count + 1) * sizeof(*copy));

	if (!copy)
		return ERR_MEMORY;
	for (size_t width = 1; width < count; width *= 2) {
		memcpy(copy, list, count * sizeof(*list));
		for (size_t first = 0; first < count; first += 2 * width) {
			size_t middle = first + width < count ? first + width : count;
			size_t end = middle + width < count ? middle + width : count;
			size_t a = first, b = middle;

			for (size_t i = first; i < end; i++)
				list[i] = b == end || (a < middle &&
						       copy[a].signature <= copy[b].signature)
						  ? copy[a++]
						  : copy[b++];
		}
	}
	free(copy);
	return 0;
}

int types_open(struct reader *r, struct err *err)
{
	struct type_reader *t;
	int rc;

	if (!r->companions->types)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return no_memory(err);
	r->types_of = t;
	t->r = r;
	t->seen = t->shared = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN);
	rc = add_units(t, r->object.dbg, 1, err);
	if (!rc)
		rc = add_units(t, r->object.dbg, 0, err);
	for (size_t i = 0; i < r->split_file_count && !rc; i++) {
		if (!r->split_files[i].object.dbg)
			continue;
		rc = add_units(t, r->split_files[i].object.dbg, 1, err);
		if (!rc)
			rc = add_units(t, r->split_files[i].object.dbg, 0, err);
	}
	if (!rc && merge_by_signature(t->units, t->unit_count))
		rc = no_memory(err);
	return rc;
}

void types_close(struct reader *r)
{
	struct type_reader *t = r->types_of;

	if (!t)
		return;
	for (uint32_t i = 0; i < t->seen.count && i < t->parents_cap; i++)
		free(t->parents[i].list);
	free(t->parents);
	free(t->units);
	free(t->shared_types);
	intern_done(&t->seen);
	intern_done(&t->shared);
	free(t);
	r->types_of = NULL;
}

/* DWARF 5 table 7.17. */
static bool is_language_c(Dwarf_Debug dbg, Dwarf_Die unit)
{
	Dwarf_Unsigned language = 0;
	Dwarf_Error e = NULL;

	if (dwarf_srclang(unit, &language, &e) != DW_DLV_OK) {
		forget(dbg, e);
		return false;
	}
	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_ObjC || language == DW_LANG_C11 || language == 0x2c ||
	       language == 0x3e;
}

int types_resolve(struct reader *r, Dwarf_Die unit, struct err *err)
{
	struct type_reader *t = r->types_of;

	if (!t)
		return 0;
	t->is_c = is_language_c(r->dbg, unit);
	if (!grow_array((void **)&r->types, &r->types_cap, r->scope_count + 1, sizeof(*r->types),
			SIZE_MAX))
		return no_memory(err);
	for (size_t i = 0; i < r->scope_count; i++) {
		const struct scope_names *n = &r->scope_names[i];
		struct {
			Dwarf_Debug dbg;
			uint64_t off, is_c;
		} key;
		struct spot at = {.dbg = r->dbg, .off = n->off, .is_info = 1};
		bool is_new;
		uint32_t id;

		r->types[i] = FACTS_NONE;
		if (!n->needed)
			continue;
		if (r->scopes[i].parent == FACTS_NONE || !n->origin.off) {
			r->types[i] = signature(t, at);
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
		    !grow_array((void **)&t->shared_types, &t->shared_cap, (size_t)id + 1,
				sizeof(*t->shared_types), SIZE_MAX))
			return no_memory(err);
		if (is_new)
			t->shared_types[id] = signature(t, at);
		r->types[i] = t->shared_types[id];
	}
	return 0;
}
