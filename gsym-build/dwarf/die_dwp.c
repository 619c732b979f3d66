/* SPDX-License-Identifier: Apache-2.0 */
#include "die_dwp.h"

/* Returns the section with a DW_SECT_* number, or DWP_SECTIONS if it is not used. In version 2,
 * number 8 is .debug_macro.dwo. */
static enum dwp_section dwp_section_of(uint32_t number, uint32_t version)
{
	switch (number) {
	case 1:
		return DWP_INFO;
	case 2:
		return version < 5 ? DWP_TYPES : DWP_SECTIONS;
	case 3:
		return DWP_ABBREV;
	case 4:
		return DWP_LINE;
	case 6:
		return DWP_STR_OFFSETS;
	case 8:
		return version >= 5 ? DWP_RNGLISTS : DWP_SECTIONS;
	default:
		return DWP_SECTIONS;
	}
}

/* Takes count * a * b bytes. All three are 32-bit numbers from the file, so the product may
 * overflow. */
static const uint8_t *take_index_table(struct bytes *in, uint64_t count, uint64_t a, uint64_t b)
{
	uint64_t len;

	if (!CHECKED_MUL(count, a, &len) || !CHECKED_MUL(len, b, &len)) {
		bytes_fail(in);
		return NULL;
	}
	return bytes_take(in, len);
}

static uint32_t u32_at(const uint8_t *table, uint64_t index)
{
	uint32_t v;

	memcpy(&v, table + 4 * index, sizeof(v));
	return v;
}

/* Returns whether there is a free slot, at which a search for an unknown id ends. Tools fill at
 * most two thirds of the slots (DWARF 5 section 7.3.5.3). */
static bool has_free_slot(const struct dwp_index *x)
{
	for (uint32_t i = 0; i < x->slot_count; i++) {
		uint64_t hash;

		memcpy(&hash, x->hashes + UINT64_C(8) * i, sizeof(hash));
		if (!hash && !u32_at(x->rows, i))
			return true;
	}
	return false;
}

int dwp_index_open(struct dwp_index *ret, const uint8_t *p, size_t len, struct err *err)
{
	struct bytes in = bytes_of(p, len);
	/* DWARF 5 has 16 bits and padding here, version 2 has 32 bits. Both are read alike, because
	 * the padding is 0. */
	uint32_t version = bytes_u32(&in);
	struct dwp_index x = {
		.column_count = bytes_u32(&in),
		.unit_count = bytes_u32(&in),
		.slot_count = bytes_u32(&in),
	};

	*ret = (struct dwp_index){0};
	if (!in.failed && version != 2 && version != 5)
		return err_set(err, ERR_UNSUPPORTED, ".debug_cu_index of version %u", version);
	x.hashes = take_index_table(&in, x.slot_count, 8, 1);
	x.rows = take_index_table(&in, x.slot_count, 4, 1);
	for (int i = 0; i < DWP_SECTIONS; i++)
		x.columns[i] = DWP_NO_COLUMN;
	for (uint32_t i = 0; i < x.column_count && !in.failed; i++) {
		enum dwp_section s = dwp_section_of(bytes_u32(&in), version);

		if (s != DWP_SECTIONS)
			x.columns[s] = i;
	}
	x.offsets = take_index_table(&in, x.unit_count, x.column_count, 4);
	x.lens = take_index_table(&in, x.unit_count, x.column_count, 4);
	if (in.failed)
		return err_set(err, ERR_DATA, ".debug_cu_index is cut, or its counts are wrong");
	/* The low bits of an id select its slot. */
	if (x.slot_count & (x.slot_count - 1))
		return err_set(err, ERR_DATA, ".debug_cu_index of %u slots, no power of 2",
			       x.slot_count);
	if (x.slot_count && !has_free_slot(&x))
		return err_set(err, ERR_DATA, ".debug_cu_index has no free slot");
	*ret = x;
	return 0;
}

static void read_row(const struct dwp_index *x, uint32_t unit, struct dwp_row *ret)
{
	*ret = (struct dwp_row){0};
	for (int i = 0; i < DWP_SECTIONS; i++) {
		uint64_t at = (uint64_t)unit * x->column_count + x->columns[i];

		if (x->columns[i] == DWP_NO_COLUMN)
			continue;
		ret->off[i] = u32_at(x->offsets, at);
		ret->len[i] = u32_at(x->lens, at);
	}
}

int dwp_index_find(const struct dwp_index *x, uint64_t id, struct dwp_row *ret)
{
	uint64_t mask = (uint64_t)x->slot_count - 1;
	uint64_t slot = id & mask, step = ((id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < x->slot_count; i++, slot = (slot + step) & mask) {
		uint32_t unit = u32_at(x->rows, slot);
		uint64_t hash;

		if (!unit)
			return 0;
		memcpy(&hash, x->hashes + 8 * slot, sizeof(hash));
		if (hash != id)
			continue;
		if (unit > x->unit_count)
			return 0;
		read_row(x, unit - 1, ret);
		return 1;
	}
	return 0;
}

int dwp_index_slot(const struct dwp_index *x, uint32_t slot, struct dwp_row *ret)
{
	uint32_t unit = u32_at(x->rows, slot);

	if (!unit || unit > x->unit_count)
		return 0;
	read_row(x, unit - 1, ret);
	return 1;
}
