/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_DWP_H
#define RAWSTACK_DIE_DWP_H
/*
 * The index of a package of split units (.debug_cu_index of a .dwp file) says which part of each
 * section belongs to the unit with an id. Both DWARF 5 (section 7.3.5) and the GNU extension to
 * DWARF 4 are read; the latter's index has version 2 and numbers two sections differently.
 */
#include "bytes.h"
#include "err.h"

enum dwp_section {
	DWP_INFO,
	DWP_ABBREV,
	DWP_LINE,
	DWP_STR_OFFSETS,
	DWP_RNGLISTS,
	DWP_TYPES, /* version 2 only */
	DWP_SECTIONS,
};

/* Borrows the section. A zeroed struct is an empty index. */
struct dwp_index {
	const uint8_t *hashes;  /* an id for each slot */
	const uint8_t *rows;    /* the number of each slot's unit, from 1 on; 0 if it is free */
	const uint8_t *offsets; /* a row of 32-bit numbers for each unit, one for each column */
	const uint8_t *lens;    /* the same layout as offsets */
	uint32_t column_count, unit_count, slot_count;
	uint32_t columns[DWP_SECTIONS]; /* column of each section, or DWP_NO_COLUMN */
};

#define DWP_NO_COLUMN UINT32_MAX

/* The part of each section that belongs to one unit. A section without a column has length 0. */
struct dwp_row {
	uint32_t off[DWP_SECTIONS], len[DWP_SECTIONS];
};

/* Returns ERR_UNSUPPORTED for another version, or ERR_DATA if the index is damaged; *ret is then
 * empty. */
int dwp_index_open(struct dwp_index *ret, const uint8_t *p, size_t len,
		   struct err *err) _must_check_;

/* Returns 1 and *ret, or 0 if no unit has this id. The row is not checked against the lengths of
 * the sections. */
int dwp_index_find(const struct dwp_index *index, uint64_t id, struct dwp_row *ret);

/* Reads a slot below slot_count. Returns 1 and *ret, or 0 if the slot is free. */
int dwp_index_slot(const struct dwp_index *index, uint32_t slot, struct dwp_row *ret);

#endif
