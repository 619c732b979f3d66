/* SPDX-License-Identifier: Apache-2.0 */
#include "die_abbrev.h"

#include <dwarf.h>

#include "die_ops.h"
#include "limits.h"
#include "sort.h"

/* The most abbreviations in one table. Link-time optimisation and dwz make some ten thousand. */
#define LIMIT_ABBREVS LIMIT(1000000)

/* A GNU extension that <dwarf.h> of elfutils 0.188 does not have. */
#define AT_GNU_DISCRIMINATOR 0x2136

/* Returns the slot of an attribute of a scope or unit, or DIE_SLOTS if it is not needed. */
static enum die_slot slot_of_attribute(uint64_t attribute, struct unit_encoding encoding)
{
	switch (attribute) {
	case DW_AT_low_pc:
		return DIE_LOW;
	case DW_AT_high_pc:
		return DIE_HIGH;
	case DW_AT_ranges:
		return DIE_RANGES;
	case DW_AT_entry_pc:
		return DIE_ENTRY;
	case DW_AT_abstract_origin:
		return DIE_ORIGIN;
	case DW_AT_specification:
		return DIE_SPECIFICATION;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return DIE_LINKAGE_NAME;
	case DW_AT_name:
		return DIE_NAME;
	case DW_AT_decl_file:
		return DIE_DECL_FILE;
	case DW_AT_decl_line:
		return DIE_DECL_LINE;
	case DW_AT_call_file:
		return DIE_CALL_FILE;
	case DW_AT_call_line:
		return DIE_CALL_LINE;
	case DW_AT_call_column:
		return encoding.columns ? DIE_CALL_COLUMN : DIE_SLOTS;
	case AT_GNU_DISCRIMINATOR:
		return encoding.columns ? DIE_DISCRIMINATOR : DIE_SLOTS;
	case DW_AT_type:
		return encoding.types ? DIE_TYPE : DIE_SLOTS;
	case DW_AT_containing_type:
		return encoding.types ? DIE_CONTAINING_TYPE : DIE_SLOTS;
	case DW_AT_signature:
		return encoding.types ? DIE_SIGNATURE : DIE_SLOTS;
	case DW_AT_language:
		return DIE_LANGUAGE;
	case DW_AT_stmt_list:
		return DIE_STMT_LIST;
	case DW_AT_comp_dir:
		return DIE_COMP_DIR;
	case DW_AT_str_offsets_base:
		return DIE_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return DIE_ADDR_BASE;
	case DW_AT_rnglists_base:
		return DIE_RNGLISTS_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return DIE_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return DIE_DWO_ID;
	case DW_AT_GNU_ranges_base:
		return DIE_RANGES_BASE;
	default:
		return DIE_SLOTS;
	}
}

static uint32_t flags_of_tag(uint32_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		return DIE_IS_SCOPE;
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_enumeration_type:
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
		return DIE_NO_CODE;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return DIE_NO_CODE_IN_C;
	default:
		return 0;
	}
}

static bool is_unit_tag(uint32_t tag)
{
	return tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit ||
	       tag == DW_TAG_skeleton_unit || tag == DW_TAG_type_unit;
}

static bool put_op(struct die_table *t, uint32_t op)
{
	if (!GROW(t->ops, &t->ops_cap, t->op_count + 1, DIE_NO_PROGRAM - 1))
		return false;
	t->ops[t->op_count++] = op;
	return true;
}

/* Appends an op, merged with the previous one if both are of the same kind. This program begins at
 * `first`; ops before that belong to another program. */
static bool put_skip(struct die_table *t, uint32_t first, uint32_t op)
{
	uint32_t kind = op & 15;
	uint32_t *last = t->op_count > first ? &t->ops[t->op_count - 1] : NULL;

	if (kind == OP_ADVANCE && !OP_ARG(op))
		return true;
	if (last && (kind == OP_ADVANCE || kind == OP_LEBS) && (*last & 15) == kind &&
	    OP_ARG(*last) < OP_ARG_MAX - OP_ARG(op)) {
		*last += OP(0, OP_ARG(op));
		return true;
	}
	return put_op(t, op);
}

/* One attribute specification of the section. */
struct spec {
	uint64_t attribute, form;
	int64_t value; /* of DW_FORM_implicit_const */
};

static inline bool next_spec(struct bytes *in, struct spec *ret)
{
	/* A fast path: there are millions of specifications, and nearly all are two bytes long. */
	if (in->left >= 2 && !((in->p[0] | in->p[1]) & 0x80) &&
	    in->p[1] != DW_FORM_implicit_const) {
		*ret = (struct spec){.attribute = in->p[0], .form = in->p[1]};
		bytes_skip(in, 2);
		return ret->attribute || ret->form;
	}
	*ret = (struct spec){.attribute = bytes_uleb(in), .form = bytes_uleb(in)};
	if (ret->form == DW_FORM_implicit_const)
		ret->value = bytes_sleb(in);
	return !in->failed && (ret->attribute || ret->form);
}

/* Compiles the program that skips a DIE, or only sets a length if all attributes have fixed
 * ones. */
static int compile_skip(struct die_table *t, struct die_abbrev *a, struct bytes in, struct err *err)
{
	uint32_t first = (uint32_t)t->op_count;
	uint32_t len = 0;
	bool fixed = true;
	struct spec s;

	a->sibling_at = DIE_NO_SIBLING;
	while (next_spec(&in, &s)) {
		uint32_t op = die_op_of_form(s.form, t->encoding);

		if ((op & 15) == OP_END) {
			t->op_count = first;
			a->flags |= DIE_UNKNOWN;
			a->skip = s.form < DIE_NO_PROGRAM ? (uint32_t)s.form : DIE_NO_PROGRAM - 1;
			return 0;
		}
		if (s.attribute == DW_AT_sibling && s.form == DW_FORM_ref4 && fixed)
			a->sibling_at = len;
		if (s.attribute == DW_AT_low_pc || s.attribute == DW_AT_ranges)
			a->flags |= a->flags & DIE_IS_SCOPE ? DIE_HAS_CODE : 0;
		fixed &= (op & 15) == OP_ADVANCE;
		if (fixed)
			len += OP_ARG(op);
		if (!put_skip(t, first, op))
			return err_no_memory(err);
	}
	a->skip = first;
	if (fixed) {
		t->op_count = first;
		a->skip = DIE_NO_PROGRAM;
		a->fixed_len = len;
		return 0;
	}
	return put_op(t, OP(OP_END, 0)) ? 0 : err_no_memory(err);
}

static uint32_t how_of(uint64_t form, struct unit_encoding encoding)
{
	uint32_t op = die_op_of_form(form, encoding);

	if (form == DW_FORM_sdata || form == DW_FORM_flag_present)
		return TAKE_OTHER;
	if ((op & 15) == OP_ADVANCE && OP_ARG(op) <= 8)
		return OP_ARG(op);
	return (op & 15) == OP_LEBS ? TAKE_ULEB : TAKE_OTHER;
}

static int compile_take(struct die_table *t, struct die_abbrev *a, struct bytes in, struct err *err)
{
	uint32_t first = (uint32_t)t->op_count;
	bool ok = true;
	struct spec s;

	a->take = first;
	while (ok && next_spec(&in, &s)) {
		enum die_slot slot = slot_of_attribute(s.attribute, t->encoding);

		if (slot == DIE_SLOTS) {
			ok = put_skip(t, first, die_op_of_form(s.form, t->encoding));
		} else if (s.form == DW_FORM_implicit_const) {
			uint64_t v = (uint64_t)s.value;

			ok = put_op(t, OP(OP_CONST, slot)) && put_op(t, (uint32_t)v) &&
			     put_op(t, (uint32_t)(v >> 32));
			first = (uint32_t)t->op_count; /* put_skip() must not merge with it */
		} else {
			ok = put_op(t,
				    OP(OP_TAKE, (uint32_t)slot | how_of(s.form, t->encoding) << 8 |
							(uint32_t)s.form << 12));
		}
	}
	return ok && put_op(t, OP(OP_END, 0)) ? 0 : err_no_memory(err);
}

/* Returns whether a DIE with this tag may be part of a function signature. */
static bool is_of_types(uint32_t tag)
{
	switch (tag) {
	case DW_TAG_array_type:
	case DW_TAG_class_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_file_type:
	case DW_TAG_formal_parameter:
	case DW_TAG_interface_type:
	case DW_TAG_module:
	case DW_TAG_namespace:
	case DW_TAG_packed_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_set_type:
	case DW_TAG_string_type:
	case DW_TAG_structure_type:
	case DW_TAG_subrange_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_template_alias:
	case DW_TAG_typedef:
	case DW_TAG_union_type:
	case DW_TAG_ptr_to_member_type:
	case DW_TAG_base_type:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_unspecified_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_atomic_type:
		return true;
	default:
		return false;
	}
}

static int compile_one(struct die_table *t, struct die_abbrev *a, const struct bytes *specs,
		       struct err *err)
{
	int rc = compile_skip(t, a, *specs, err);

	a->take = DIE_NO_PROGRAM;
	if (!rc && !(a->flags & DIE_UNKNOWN) &&
	    (a->flags & DIE_IS_SCOPE || is_unit_tag(a->tag) ||
	     (t->encoding.types && is_of_types(a->tag))))
		rc = compile_take(t, a, *specs, err);
	return rc;
}

/* Compilers number codes from 1 without gaps, so an array finds them; sparse codes are sorted for a
 * binary search. */
static int index_codes(struct die_table *t, struct err *err)
{
	uint64_t max = 0;

	for (size_t i = 0; i < t->abbrev_count; i++)
		if (t->abbrevs[i].code > max)
			max = t->abbrevs[i].code;
	if (max > 4 * (uint64_t)t->abbrev_count + 64) {
		qsort(t->abbrevs, t->abbrev_count, sizeof(*t->abbrevs), compare_u64);
		return 0;
	}
	t->by_code = calloc(max + 1, sizeof(*t->by_code));
	if (!t->by_code)
		return err_no_memory(err);
	t->by_code_len = max + 1;
	for (size_t i = 0; i < t->abbrev_count; i++)
		t->by_code[t->abbrevs[i].code] = (uint32_t)i + 1;
	return 0;
}

static int compile_table(struct die_table *t, struct bytes *in, struct err *err)
{
	for (;;) {
		struct die_abbrev a = {.code = bytes_uleb(in)};
		struct bytes specs;
		struct spec s;
		uint64_t tag;

		/* A table at the end of its section may lack the closing 0. */
		if (!a.code && (!in->failed || t->abbrev_count))
			return index_codes(t, err);
		tag = bytes_uleb(in);
		a.tag = tag > UINT32_MAX ? UINT32_MAX : (uint32_t)tag;
		a.flags = flags_of_tag(a.tag) | (bytes_u8(in) ? DIE_HAS_CHILDREN : 0);
		specs = *in;
		while (next_spec(in, &s))
			;
		if (in->failed)
			return err_set(err, ERR_DATA,
				       "abbreviation table at 0x%llx leaves .debug_abbrev",
				       (unsigned long long)t->off);
		if (t->abbrev_count >= LIMIT_ABBREVS)
			return err_set(err, ERR_LIMIT, "more than %llu abbreviations in one table",
				       (unsigned long long)LIMIT_ABBREVS);
		TRY(compile_one(t, &a, &specs, err));
		if (!GROW(t->abbrevs, &t->abbrevs_cap, t->abbrev_count + 1, LIMIT_ABBREVS))
			return err_no_memory(err);
		t->abbrevs[t->abbrev_count++] = a;
	}
}

int die_table_compile(struct die_table *t, const uint8_t *section, size_t section_len, uint64_t off,
		      struct unit_encoding encoding, struct err *err)
{
	struct bytes in = bytes_of(section, section_len);
	int rc;

	*t = (struct die_table){.off = off, .encoding = encoding};
	bytes_skip(&in, off);
	rc = compile_table(t, &in, err);
	if (rc)
		die_table_done(t);
	return rc;
}

void die_table_done(struct die_table *t)
{
	free(t->abbrevs);
	free(t->ops);
	free(t->by_code);
	*t = (struct die_table){0};
}

const struct die_abbrev *die_table_search(const struct die_table *t, uint64_t code)
{
	struct die_abbrev key = {.code = code};

	if (t->by_code || !t->abbrev_count)
		return NULL;
	return bsearch(&key, t->abbrevs, t->abbrev_count, sizeof(key), compare_u64);
}

bool die_abbrevs_cross_units(const uint8_t *section, size_t section_len, bool types)
{
	struct bytes in = bytes_of(section, section_len);

	while (in.left) {
		struct spec s;

		if (!bytes_uleb(&in))
			continue; /* the end of a table, or padding */
		bytes_uleb(&in);
		bytes_u8(&in);
		while (next_spec(&in, &s))
			if ((s.attribute == DW_AT_abstract_origin ||
			     s.attribute == DW_AT_specification ||
			     (types && s.attribute == DW_AT_type)) &&
			    (s.form == DW_FORM_ref_addr || s.form == DW_FORM_indirect ||
			     (types && s.form == DW_FORM_ref_sig8)))
				return true;
			else if (types && s.attribute == DW_AT_signature)
				return true;
		if (in.failed)
			return true;
	}
	return in.failed;
}
