/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of a DIE: stepped over, or taken. */
#include <string.h>

#include "die_abbrev.h"
#include "die_ops.h"

uint32_t die_op_of_form(uint64_t form, struct unit_encoding s)
{
	switch (form) {
	case DIE_FORM_FLAG_PRESENT:
	case DIE_FORM_IMPLICIT_CONST:
		return OP(OP_ADVANCE, 0);
	case DIE_FORM_DATA1:
	case DIE_FORM_FLAG:
	case DIE_FORM_REF1:
	case DIE_FORM_STRX1:
	case DIE_FORM_ADDRX1:
		return OP(OP_ADVANCE, 1);
	case DIE_FORM_DATA2:
	case DIE_FORM_REF2:
	case DIE_FORM_STRX2:
	case DIE_FORM_ADDRX2:
		return OP(OP_ADVANCE, 2);
	case DIE_FORM_STRX3:
	case DIE_FORM_ADDRX3:
		return OP(OP_ADVANCE, 3);
	case DIE_FORM_DATA4:
	case DIE_FORM_REF4:
	case DIE_FORM_REF_SUP4:
	case DIE_FORM_STRX4:
	case DIE_FORM_ADDRX4:
		return OP(OP_ADVANCE, 4);
	case DIE_FORM_DATA8:
	case DIE_FORM_REF8:
	case DIE_FORM_REF_SUP8:
	case DIE_FORM_REF_SIG8:
		return OP(OP_ADVANCE, 8);
	case DIE_FORM_DATA16:
		return OP(OP_ADVANCE, 16);
	case DIE_FORM_ADDR:
		return OP(OP_ADVANCE, s.address_size);
	case DIE_FORM_REF_ADDR: /* DWARF 2 made it the size of an address */
		return OP(OP_ADVANCE, s.version == 2 ? s.address_size : s.offset_size);
	case DIE_FORM_STRP:
	case DIE_FORM_LINE_STRP:
	case DIE_FORM_SEC_OFFSET:
	case DIE_FORM_STRP_SUP:
	case DIE_FORM_GNU_REF_ALT:
	case DIE_FORM_GNU_STRP_ALT:
		return OP(OP_ADVANCE, s.offset_size);
	case DIE_FORM_SDATA:
	case DIE_FORM_UDATA:
	case DIE_FORM_REF_UDATA:
	case DIE_FORM_STRX:
	case DIE_FORM_ADDRX:
	case DIE_FORM_LOCLISTX:
	case DIE_FORM_RNGLISTX:
	case DIE_FORM_GNU_ADDR_INDEX:
	case DIE_FORM_GNU_STR_INDEX:
		return OP(OP_LEBS, 1);
	case DIE_FORM_STRING:
		return OP(OP_STRING, 0);
	case DIE_FORM_BLOCK1:
		return OP(OP_BLOCK1, 0);
	case DIE_FORM_BLOCK2:
		return OP(OP_BLOCK2, 0);
	case DIE_FORM_BLOCK4:
		return OP(OP_BLOCK4, 0);
	case DIE_FORM_BLOCK:
	case DIE_FORM_EXPRLOC:
		return OP(OP_BLOCK, 0);
	case DIE_FORM_INDIRECT:
		return OP(OP_INDIRECT, 0);
	default:
		return OP(OP_END, 0);
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
		/* Its value stands in the abbreviation, or it leads back here: neither may be. */
		if (form == DIE_FORM_IMPLICIT_CONST || (op & 15) == OP_INDIRECT ||
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

/* size: at most 8. */
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

/* The value of a form: numbers as they are, blocks as 0, DW_FORM_string as its place. */
static uint64_t take_form(uint32_t form, struct unit_encoding encoding, const uint8_t *start,
			  struct bytes *in)
{
	uint32_t op = die_op_of_form(form, encoding);

	if (form == DIE_FORM_SDATA)
		return (uint64_t)bytes_sleb(in);
	if (form == DIE_FORM_FLAG_PRESENT)
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

static void take(uint32_t arg, struct unit_encoding encoding, const uint8_t *start,
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
	if (form == DIE_FORM_INDIRECT) {
		form = bytes_uleb(in);
		if (form == DIE_FORM_INDIRECT || form == DIE_FORM_IMPLICIT_CONST ||
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
			take(OP_ARG(*op), t->encoding, start, in, ret);
			break;
		case OP_CONST:
			ret->form[OP_ARG(*op)] = DIE_FORM_IMPLICIT_CONST;
			ret->value[OP_ARG(*op)] = op[1] | (uint64_t)op[2] << 32;
			op += 2;
			break;
		default:
			run_skip(*op, t->encoding, in);
			break;
		}
	}
}
