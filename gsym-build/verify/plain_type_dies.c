/* SPDX-License-Identifier: Apache-2.0 */
/* Follows references between DIEs of types for the plain reader, also into type units, and finds
 * the scopes around a DIE by walking its unit and noting the parent of each DIE. */
#include "plain_type_dies.h"

#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "sort.h"

void plain_type_free_error(Dwarf_Debug dbg, Dwarf_Error e)
{
	if (e)
		dwarf_dealloc(dbg, e, DW_DLA_ERROR);
}

Dwarf_Die plain_type_die(struct die_position at)
{
	Dwarf_Error e = NULL;
	Dwarf_Die die = NULL;

	if (!at.off || at.unreadable || !at.dbg)
		return NULL;
	if (dwarf_offdie_b(at.dbg, at.off, at.is_info, &die, &e) != DW_DLV_OK) {
		plain_type_free_error(at.dbg, e);
		return NULL;
	}
	return die;
}

struct die_position plain_type_position(Dwarf_Debug dbg, Dwarf_Die die)
{
	struct die_position s = {.dbg = dbg, .is_info = dwarf_get_die_infotypes_flag(die)};
	Dwarf_Error e = NULL;

	if (dwarf_dieoffset(die, &s.off, &e) != DW_DLV_OK)
		plain_type_free_error(dbg, e);
	return s;
}

Dwarf_Half plain_type_tag(Dwarf_Debug dbg, Dwarf_Die die)
{
	Dwarf_Error e = NULL;
	Dwarf_Half tag = 0;

	if (dwarf_tag(die, &tag, &e) != DW_DLV_OK)
		plain_type_free_error(dbg, e);
	return tag;
}

static const void *find_number(const void *list, size_t count, size_t len, uint64_t number)
{
	return count ? bsearch(&number, list, count, len, compare_u64) : NULL;
}

static struct die_position by_signature(const struct plain_types *t, uint64_t signature)
{
	const struct type_unit *u =
		find_number(t->units, t->unit_count, sizeof(*t->units), signature);

	return u ? u->type : (struct die_position){.unreadable = true};
}

struct die_position plain_type_refers_to(const struct plain_types *t, Dwarf_Debug dbg,
					 Dwarf_Die die, Dwarf_Half name)
{
	struct die_position ret = {.dbg = dbg, .is_info = dwarf_get_die_infotypes_flag(die)};
	Dwarf_Attribute at = NULL;
	Dwarf_Error e = NULL;
	Dwarf_Half form = 0;
	Dwarf_Sig8 id;

	if (dwarf_attr(die, name, &at, &e) != DW_DLV_OK) {
		plain_type_free_error(dbg, e);
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
	plain_type_free_error(dbg, e);
	dwarf_dealloc(dbg, at, DW_DLA_ATTR);
	return ret;
}

const char *plain_type_name(const struct plain_types *t, Dwarf_Debug dbg, Dwarf_Die die)
{
	Dwarf_Attribute at = NULL;
	Dwarf_Error e = NULL;
	Dwarf_Half form = 0;
	char *s = NULL;

	if (dwarf_attr(die, DW_AT_name, &at, &e) != DW_DLV_OK) {
		plain_type_free_error(dbg, e);
		return NULL;
	}
	if (dwarf_whatform(at, &form, &e) == DW_DLV_OK &&
	    ((form != DW_FORM_GNU_strp_alt && form != DW_FORM_strp_sup) || t->r->alt.dbg) &&
	    dwarf_formstring(at, &s, &e) != DW_DLV_OK)
		s = NULL;
	plain_type_free_error(dbg, e);
	dwarf_dealloc(dbg, at, DW_DLA_ATTR);
	return s;
}

static bool plain_holds_types(Dwarf_Half tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_interface_type || tag == DW_TAG_subprogram;
}

static bool note_parents(struct plain_types *t, Dwarf_Debug dbg, Dwarf_Die first, Dwarf_Off parent,
			 unsigned int depth, struct unit_parents *ret)
{
	Dwarf_Die die = first;
	bool ok = true;

	while (die) {
		struct parent p = {.off = plain_type_position(dbg, die).off,
				   .parent = parent,
				   .tag = plain_type_tag(dbg, die)};
		Dwarf_Die child = NULL, next = NULL;
		Dwarf_Error e = NULL;

		ok = ok && GROW(ret->list, &ret->cap, ret->count + 1, SIZE_MAX);
		if (ok)
			ret->list[ret->count++] = p;
		if (ok && depth < LIMIT_DIE_DEPTH && dwarf_child(die, &child, &e) == DW_DLV_OK)
			ok = note_parents(t, dbg, child, plain_holds_types(p.tag) ? p.off : parent,
					  depth + 1, ret);
		plain_type_free_error(dbg, e);
		e = NULL;
		if (ok && dwarf_siblingof_b(dbg, die, dwarf_get_die_infotypes_flag(die), &next,
					    &e) != DW_DLV_OK)
			next = NULL;
		plain_type_free_error(dbg, e);
		/* DIEs are stored in the order of this walk, so an offset that does not rise is
		 * damage, and might loop. */
		if (next && plain_type_position(dbg, next).off <= p.off) {
			dwarf_dealloc(dbg, next, DW_DLA_DIE);
			next = NULL;
		}
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		die = next;
	}
	return ok;
}

/* Returns the parents of all DIEs of a unit, given one of its DIEs, or NULL if memory is out or the
 * unit is damaged. */
static const struct unit_parents *parents_of(struct plain_types *t, struct die_position at,
					     Dwarf_Die die)
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
		plain_type_free_error(at.dbg, e);
		return NULL;
	}
	key.off = unit;
	id = intern_add(&t->seen, &key, sizeof(key), &is_new);
	if (id == INTERN_FULL || !GROW(t->parents, &t->parents_cap, (size_t)id + 1, SIZE_MAX))
		return NULL;
	if (is_new) {
		Dwarf_Die top =
			plain_type_die((struct die_position){at.dbg, unit, at.is_info, false});

		t->parents[id] = (struct unit_parents){0};
		if (top && !note_parents(t, at.dbg, top, 0, 0, &t->parents[id]))
			return NULL;
	}
	return &t->parents[id];
}

static struct parent parent_at(const struct unit_parents *u, Dwarf_Off off)
{
	const struct parent *p = find_number(u->list, u->count, sizeof(*u->list), off);

	return p ? *p : (struct parent){0};
}

struct parent plain_type_parent(struct plain_types *t, struct die_position at, Dwarf_Die die)
{
	const struct unit_parents *u = parents_of(t, at, die);
	struct parent self = {0};

	if (u)
		self = parent_at(u, at.off);
	return self.parent ? parent_at(u, self.parent) : (struct parent){0};
}

static int add_plain_type_units(struct plain_types *t, Dwarf_Debug dbg, Dwarf_Bool is_info,
				struct err *err)
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
			plain_type_free_error(dbg, e);
			return 0;
		}
		if (rc != DW_DLV_OK)
			return 0;
		if (kind != DW_UT_type && kind != DW_UT_split_type && is_info)
			continue;
		memcpy(&u.signature, &id, sizeof(u.signature));
		u.type.off = off + type_off;
		if (!GROW(t->units, &t->units_cap, t->unit_count + 1, SIZE_MAX))
			return err_no_memory(err);
		t->units[t->unit_count++] = u;
	}
}

static int merge_by_signature(struct type_unit *list, size_t count)
{
	/* A stable sort keeps the order of copies; there are some thousands of elements. */
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

int plain_types_open(struct plain_reader *r, struct err *err)
{
	struct plain_types *t;

	if (!r->companions->types)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_no_memory(err);
	r->types_of = t;
	t->r = r;
	t->seen = t->shared = (struct intern)INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN);
	TRY(add_plain_type_units(t, r->object.dbg, 1, err));
	TRY(add_plain_type_units(t, r->object.dbg, 0, err));
	for (size_t i = 0; i < r->split_file_count; i++) {
		if (!r->split_files[i].object.dbg)
			continue;
		TRY(add_plain_type_units(t, r->split_files[i].object.dbg, 1, err));
		TRY(add_plain_type_units(t, r->split_files[i].object.dbg, 0, err));
	}
	if (merge_by_signature(t->units, t->unit_count))
		return err_no_memory(err);
	return 0;
}

void plain_types_close(struct plain_reader *r)
{
	struct plain_types *t = r->types_of;

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
