/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_ABBREV_H
#define RAWSTACK_DIE_ABBREV_H
/*
 * Abbreviation tables (DWARF 5 section 7.5.3), compiled into short programs that skip a DIE or
 * extract the attributes that a build needs. Nine DIEs in ten are skipped, and most of those have
 * no attribute of variable length, so skipping them costs one addition. A program fits one unit
 * encoding only, because the size of a form depends on the version, address size and offset size.
 *
 * The compiler trusts no input: a truncated table is an error in every unit that uses it, and an
 * unknown form is an error only in units that have such a DIE.
 */
#include "bytes.h"
#include "err.h"
#include "unit_encoding.h"

/* The attributes that are extracted from a DIE. */
enum die_slot {
	DIE_LOW,
	DIE_HIGH,
	DIE_RANGES,
	DIE_ENTRY,
	DIE_ORIGIN,
	DIE_SPECIFICATION,
	DIE_LINKAGE_NAME,
	DIE_NAME,
	DIE_DECL_FILE,
	DIE_DECL_LINE,
	DIE_CALL_FILE,
	DIE_CALL_LINE,
	DIE_CALL_COLUMN, /* this and the next are taken only when columns are wanted */
	DIE_DISCRIMINATOR,
	DIE_TYPE, /* this and the next two are taken only when types are wanted */
	DIE_CONTAINING_TYPE,
	DIE_SIGNATURE,
	/* The following occur in unit DIEs only. */
	DIE_LANGUAGE,
	DIE_STMT_LIST,
	DIE_COMP_DIR,
	DIE_STR_OFFSETS_BASE,
	DIE_ADDR_BASE,
	DIE_RNGLISTS_BASE,
	DIE_DWO_NAME,
	DIE_DWO_ID,
	DIE_RANGES_BASE,
	DIE_SLOTS,
};

/* Raw attribute values of a DIE, by slot; form 0 means that the attribute is absent. The value of a
 * DW_FORM_string is the offset of its first byte from where die_take() began to read. */
struct die_values {
	uint64_t value[DIE_SLOTS];
	uint16_t form[DIE_SLOTS];
};

enum die_abbrev_flag {
	DIE_HAS_CHILDREN = 1 << 0,
	DIE_IS_SCOPE = 1 << 1, /* a subprogram or an inlined call */
	DIE_HAS_CODE = 1 << 2, /* a scope with DW_AT_low_pc or DW_AT_ranges */
	DIE_NO_CODE = 1 << 3,  /* nothing below it has code, as with parameters and call sites */
	DIE_UNKNOWN = 1 << 4,  /* it uses a form of unknown size; `skip` is that form */
	/* Nothing below it has code if the unit is C, whose structures have no member functions
	 * (ISO C 6.7.2.1); C++ and Rust have them. Half of the DIEs of a C unit are members. */
	DIE_NO_CODE_IN_C = 1 << 5,
};

#define DIE_NO_SIBLING UINT32_MAX

struct die_abbrev {
	uint64_t code;
	uint32_t tag;
	uint32_t flags;      /* enum die_abbrev_flag */
	uint32_t skip;       /* first op of the program that skips the DIE, or DIE_NO_PROGRAM */
	uint32_t fixed_len;  /* length in bytes of the attributes when skip is DIE_NO_PROGRAM */
	uint32_t take;       /* first op of the program that extracts values, or DIE_NO_PROGRAM */
	uint32_t sibling_at; /* offset of a 4-byte DW_AT_sibling, or DIE_NO_SIBLING */
};

#define DIE_NO_PROGRAM UINT32_MAX

/* One compiled table. Read-only once compiled. */
struct die_table {
	uint64_t off; /* in .debug_abbrev */
	struct unit_encoding encoding;
	struct die_abbrev *abbrevs;
	uint32_t *ops;
	uint32_t *by_code; /* index + 1 of each code; NULL if abbrevs is sorted by code */
	size_t abbrev_count, abbrevs_cap, op_count, ops_cap, by_code_len;
};

/* Compiles the table at `off` of the section. Returns ERR_DATA, ERR_LIMIT or ERR_MEMORY, and *t is
 * then empty. */
int die_table_compile(struct die_table *t, const uint8_t *section, size_t section_len, uint64_t off,
		      struct unit_encoding encoding, struct err *err) _must_check_;
void die_table_done(struct die_table *t);

/* The slow path of die_table_find(). */
const struct die_abbrev *die_table_search(const struct die_table *t, uint64_t code);

/* Returns the abbreviation with this code, or NULL if the table has none. */
static inline const struct die_abbrev *die_table_find(const struct die_table *t, uint64_t code)
{
	if (code < t->by_code_len)
		return t->by_code[code] ? &t->abbrevs[t->by_code[code] - 1] : NULL;
	return die_table_search(t, code);
}

/* Skips the attributes of a DIE whose `skip` is a program. `in` fails when the DIE runs past its
 * end. */
void die_skip(const struct die_table *t, const struct die_abbrev *a, struct bytes *in);

/* Extracts the values of a DIE whose `take` is a program, and moves `in` behind its attributes. */
void die_take(const struct die_table *t, const struct die_abbrev *a, struct bytes *in,
	      struct die_values *ret);

/*
 * Returns whether any DIE may refer to a DIE of another unit as its origin (DW_FORM_ref_addr, which
 * link-time optimisation and dwz write), so that all units must stay readable. Also returns true if
 * the section cannot be read to its end. With `types`, references to types of other units and to
 * type units count as well.
 */
bool die_abbrevs_cross_units(const uint8_t *section, size_t section_len, bool types);

#endif
