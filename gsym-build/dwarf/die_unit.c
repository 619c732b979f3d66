/* SPDX-License-Identifier: Apache-2.0 */
#include "die_unit.h"

#include <dwarf.h>

int die_unit_header(struct die_unit *ret, const uint8_t *p, size_t have, uint64_t off,
		    uint64_t section_len, bool types, struct err *err)
{
	struct bytes in = bytes_of(p, have);
	uint64_t len = bytes_u32(&in);
	uint8_t length_len = 4;
	unsigned int version;

	*ret = (struct die_unit){.off = off, .type = DW_UT_compile};
	ret->encoding.offset_size = 4;
	if (len == UINT32_MAX) {
		len = bytes_u64(&in);
		length_len = 12;
		ret->encoding.offset_size = 8;
	}
	if (in.failed || len > section_len - off - (uint64_t)length_len)
		return err_set(err, ERR_DATA, "its length leaves .debug_info");
	ret->end = off + length_len + len;
	if (in.left > len)
		in.left = len;
	version = bytes_u16(&in);
	if (!in.failed && (version < 2 || version > 5))
		return err_set(err, ERR_UNSUPPORTED, "unknown DWARF version %u", version);
	ret->encoding.version = (uint8_t)version;
	if (version >= 5) {
		ret->type = bytes_u8(&in);
		ret->encoding.address_size = bytes_u8(&in);
	}
	ret->abbrev_off = ret->encoding.offset_size == 4 ? bytes_u32(&in) : bytes_u64(&in);
	if (version < 5) {
		ret->encoding.address_size = bytes_u8(&in);
		ret->type = types ? DW_UT_type : DW_UT_compile;
	}
	switch (ret->type) {
	case DW_UT_compile:
	case DW_UT_partial:
		break;
	case DW_UT_skeleton:
	case DW_UT_split_compile:
		ret->dwo_id = bytes_u64(&in);
		break;
	case DW_UT_type:
	case DW_UT_split_type:
		ret->signature = bytes_u64(&in);
		ret->type_off = ret->encoding.offset_size == 4 ? bytes_u32(&in) : bytes_u64(&in);
		break;
	default:
		return err_set(err, ERR_UNSUPPORTED, "unknown unit type %u", ret->type);
	}
	if (in.failed)
		return err_set(err, ERR_UNSUPPORTED, "it ends inside its header");
	if (ret->encoding.address_size != 4 && ret->encoding.address_size != 8)
		return err_set(err, ERR_UNSUPPORTED, "addresses of %u bytes",
			       ret->encoding.address_size);
	ret->header_len = (uint8_t)(in.p - p);
	return 0;
}

int die_next(const struct die_unit *u, const struct die_table *t, struct bytes *in, struct die *ret,
	     struct err *err)
{
	uint64_t off = u->off + (uint64_t)(in->p - u->p), code = bytes_uleb(in);

	ret->unit = u;
	ret->off = off;
	ret->abbrev = NULL;
	if (!code && !in->failed)
		return 0;
	ret->abbrev = die_table_find(t, code);
	if (!in->failed && !ret->abbrev)
		return err_set(err, ERR_DATA, "DIE at 0x%llx: no abbreviation %llu",
			       (unsigned long long)off, (unsigned long long)code);
	if (!in->failed && ret->abbrev->flags & DIE_UNKNOWN)
		return err_set(err, ERR_UNSUPPORTED, "DIE at 0x%llx: unknown form 0x%x",
			       (unsigned long long)off, ret->abbrev->skip);
	ret->attributes = in->p;
	if (in->failed)
		;
	else if (ret->abbrev->take != DIE_NO_PROGRAM)
		die_take(t, ret->abbrev, in, &ret->v);
	else if (ret->abbrev->skip == DIE_NO_PROGRAM)
		bytes_skip(in, ret->abbrev->fixed_len);
	else
		die_skip(t, ret->abbrev, in);
	if (in->failed)
		return err_set(err, ERR_DATA, "DIE at 0x%llx leaves its unit, or is damaged",
			       (unsigned long long)off);
	return 0;
}

static bool form_is_address(unsigned int form)
{
	switch (form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return true;
	default:
		return false;
	}
}

/* Producers use all constant forms. A negative value is invalid. */
bool die_number(const struct die *d, enum die_slot slot, uint64_t *ret)
{
	switch (d->v.form[slot]) {
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		if ((int64_t)d->v.value[slot] < 0)
			return false;
		break;
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
		break;
	default:
		return false;
	}
	*ret = d->v.value[slot];
	return true;
}

bool die_address(const struct die *d, enum die_slot slot, uint64_t *ret)
{
	struct bytes in = bytes_of(d->unit->file->addr.p, d->unit->file->addr.len);
	unsigned int size = d->unit->encoding.address_size;
	uint64_t at;

	if (!form_is_address(d->v.form[slot]))
		return false;
	if (d->v.form[slot] == DW_FORM_addr) {
		*ret = d->v.value[slot];
		return true;
	}
	if (!CHECKED_MUL(d->v.value[slot], size, &at) || !CHECKED_ADD(at, d->unit->addr_base, &at))
		return false;
	bytes_skip(&in, at);
	at = size == 4 ? bytes_u32(&in) : bytes_u64(&in);
	if (in.failed)
		return false;
	*ret = at;
	return true;
}

bool die_section_offset(const struct die *d, enum die_slot slot, uint64_t *ret)
{
	switch (d->v.form[slot]) {
	case DW_FORM_sec_offset:
	case DW_FORM_data4: /* up to DWARF 3 */
	case DW_FORM_data8:
		*ret = d->v.value[slot];
		return true;
	default:
		return false;
	}
}

bool die_form_is_alt(unsigned int form)
{
	switch (form) {
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return true;
	default:
		return false;
	}
}

bool die_reference(const struct die *d, enum die_slot slot, const struct die_file **ret_file,
		   uint64_t *ret)
{
	uint64_t off = d->v.value[slot];

	*ret_file = d->unit->file;
	switch (d->v.form[slot]) {
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		*ret_file = d->unit->file->alt;
		*ret = off;
		return *ret_file && off;
	case DW_FORM_ref_addr:
		*ret = off;
		return true;
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		if (off >= d->unit->end - d->unit->off)
			return false;
		*ret = d->unit->off + off;
		return true;
	default:
		return false;
	}
}

const char *die_string(const struct die *d, enum die_slot slot)
{
	const struct die_file *f = d->unit->file;
	uint64_t v = d->v.value[slot];

	switch (d->v.form[slot]) {
	case DW_FORM_string: /* die_take() has checked that the string ends inside the unit */
		return (const char *)d->attributes + v;
	case DW_FORM_strp:
		return die_text_at(&f->strings.str, v);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return f->alt ? die_text_at(&f->alt->strings.str, v) : NULL;
	case DW_FORM_line_strp:
		return die_text_at(&f->strings.line_str, v);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return die_text_index(&f->strings, d->unit->str_base, v,
				      d->unit->encoding.offset_size);
	default:
		return NULL;
	}
}
