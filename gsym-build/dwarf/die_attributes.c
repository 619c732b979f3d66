/* SPDX-License-Identifier: Apache-2.0 */
/* Skips or extracts the attributes of a DIE. */
#include <dwarf.h>
#include <string.h>

#include "die_abbrev.h"
#include "die_ops.h"

/* Returns how to skip a value whose length follows from its form and the unit, or OP_END. */
static uint32_t op_of_fixed_form(uint64_t form, struct unit_encoding s)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return OP(OP_ADVANCE, 0);
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return OP(OP_ADVANCE, 1);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return OP(OP_ADVANCE, 2);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return OP(OP_ADVANCE, 3);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return OP(OP_ADVANCE, 4);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return OP(OP_ADVANCE, 8);
	case DW_FORM_data16:
		return OP(OP_ADVANCE, 16);
	case DW_FORM_addr:
		return OP(OP_ADVANCE, s.address_size);
	case DW_FORM_ref_addr: /* the size of an address in DWARF 2 */
		return OP(OP_ADVANCE, s.version == 2 ? s.address_size : s.offset_size);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return OP(OP_ADVANCE, s.offset_size);
	default:
		return OP(OP_END, 0);
	}
}

uint32_t die_op_of_form(uint64_t form, struct unit_encoding s)
{
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return OP(OP_LEBS, 1);
	case DW_FORM_string:
		return OP(OP_STRING, 0);
	case DW_FORM_block1:
		return OP(OP_BLOCK1, 0);
	case DW_FORM_block2:
		return OP(OP_BLOCK2, 0);
	case DW_FORM_block4:
		return OP(OP_BLOCK4, 0);
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return OP(OP_BLOCK, 0);
	case DW_FORM_indirect:
		return OP(OP_INDIRECT, 0);
	default:
		return op_of_fixed_form(form, s);
	}
}

static void skip_leb(struct bytes *in)
{
	while (bytes_u8(in) & 0x80)
		;
}

static void run_skip(uint32_t op, struct unit_encoding encoding, struct bytes *in)
{
	size_t ignored;
	uint64_t form;

	switch (op & 15) {
	case OP_ADVANCE:
		bytes_skip(in, OP_ARG(op));
		break;
	case OP_LEBS:
		for (uint32_t n = OP_ARG(op); n; n--)
			skip_leb(in);
		break;
	case OP_STRING:
		bytes_cstr(in, &ignored);
		break;
	case OP_BLOCK1:
		bytes_skip(in, bytes_u8(in));
		break;
	case OP_BLOCK2:
		bytes_skip(in, bytes_u16(in));
		break;
	case OP_BLOCK4:
		bytes_skip(in, bytes_u32(in));
		break;
	case OP_BLOCK:
		bytes_skip(in, bytes_uleb(in));
		break;
	case OP_INDIRECT:
		form = bytes_uleb(in);
		op = die_op_of_form(form, encoding);
		/* An implicit constant has no value in the DIE, and DW_FORM_indirect could nest
		 * without end. */
		if (form == DW_FORM_implicit_const || (op & 15) == OP_INDIRECT ||
		    (op & 15) == OP_END)
			bytes_fail(in);
		else
			run_skip(op, encoding, in);
		break;
	default:
		bytes_fail(in);
		break;
	}
}

void die_skip(const struct die_table *t, const struct die_abbrev *a, struct bytes *in)
{
	for (const uint32_t *op = &t->ops[a->skip]; *op != OP_END && !in->failed; op++)
		run_skip(*op, t->encoding, in);
}

/* Reads a number of at most 8 bytes. */
static inline uint64_t bytes_sized(struct bytes *in, unsigned int size)
{
	const uint8_t *p;
	uint64_t v = 0;

	if (size && in->p && in->left >= sizeof(v)) {
		memcpy(&v, in->p, sizeof(v));
		bytes_skip(in, size);
		return v & (UINT64_MAX >> (64 - 8 * size));
	}
	p = bytes_take(in, size);

	if (p)
		memcpy(&v, p, size);
	return v;
}

/* Returns the value of a form: 0 for a block, and the offset from `start` for DW_FORM_string. */
static uint64_t take_form(uint32_t form, struct unit_encoding encoding, const uint8_t *start,
			  struct bytes *in)
{
	uint32_t op = die_op_of_form(form, encoding);

	if (form == DW_FORM_sdata)
		return (uint64_t)bytes_sleb(in);
	if (form == DW_FORM_flag_present)
		return 1;
	if ((op & 15) == OP_ADVANCE && OP_ARG(op) <= 8)
		return bytes_sized(in, OP_ARG(op));
	if ((op & 15) == OP_LEBS)
		return bytes_uleb(in);
	if ((op & 15) == OP_STRING) {
		uint64_t at = (uint64_t)(in->p - start);

		run_skip(op, encoding, in);
		return at;
	}
	run_skip(op, encoding, in);
	return 0;
}

static void take_value(uint32_t arg, struct unit_encoding encoding, const uint8_t *start,
		       struct bytes *in, struct die_values *ret)
{
	enum die_slot slot = (enum die_slot)(arg & 255);
	uint32_t how = arg >> 8 & 15;
	uint64_t form = arg >> 12;

	if (how < TAKE_OTHER) {
		ret->value[slot] = how == TAKE_ULEB ? bytes_uleb(in) : bytes_sized(in, how);
		ret->form[slot] = (uint16_t)form;
		return;
	}
	if (form == DW_FORM_indirect) {
		form = bytes_uleb(in);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const ||
		    form > UINT16_MAX) {
			bytes_fail(in);
			return;
		}
	}
	ret->value[slot] = take_form((uint32_t)form, encoding, start, in);
	ret->form[slot] = (uint16_t)form;
}

void die_take(const struct die_table *t, const struct die_abbrev *a, struct bytes *in,
	      struct die_values *ret)
{
	const uint8_t *start = in->p;

	memset(ret->form, 0, sizeof(ret->form));
	for (const uint32_t *op = &t->ops[a->take]; *op != OP_END && !in->failed; op++) {
		switch (*op & 15) {
		case OP_TAKE:
			take_value(OP_ARG(*op), t->encoding, start, in, ret);
			break;
		case OP_CONST:
			ret->form[OP_ARG(*op)] = DW_FORM_implicit_const;
			ret->value[OP_ARG(*op)] = op[1] | (uint64_t)op[2] << 32;
			op += 2;
			break;
		default:
			run_skip(*op, t->encoding, in);
			break;
		}
	}
}
