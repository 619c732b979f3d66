/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_ABBREV_H
#define RAWSTACK_DIE_ABBREV_H
/*
 * Abbreviation tables (DWARF 5 section 7.5.3) compiled into short programs that step over a DIE or
 * take out of it what a table needs. Nine DIEs in ten are stepped over, and most of those have no
 * attribute of variable length: for them a DIE costs one addition. A program is correct for one
 * encoding of units only, since forms differ in size with version, address and offset size.
 *
 * Compiling trusts nothing: a cut table is an error of the units that use it, an unknown form one
 * of the units that have such a DIE.
 */
#include "bytes.h"
#include "err.h"
#include "unit_encoding.h"

/* The attributes that are taken out of a DIE. */
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
	DIE_CALL_COLUMN, /* only when columns are wanted, as is the next */
	DIE_DISCRIMINATOR,
	DIE_TYPE, /* only when types are wanted, as are the next */
	DIE_CONTAINING_TYPE,
	DIE_SIGNATURE,
	/* of units only */
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

/*
 * Values as they stand in the DIE, by slot; form 0 is "not there". Of a DW_FORM_string the value is
 * the offset of its first byte behind the cursor's start given to die_take().
 */
struct die_values {
	uint64_t value[DIE_SLOTS];
	uint16_t form[DIE_SLOTS];
};

enum die_abbrev_flag {
	DIE_HAS_CHILDREN = 1 << 0,
	DIE_IS_SCOPE = 1 << 1, /* a subprogram or an inlined call */
	DIE_HAS_CODE = 1 << 2, /* ... with DW_AT_low_pc or DW_AT_ranges */
	DIE_NO_CODE = 1 << 3,  /* nothing below it has code: parameters, variables, call sites */
	DIE_UNKNOWN = 1 << 4,  /* uses a form of unknown size: `skip` is that form */
	/* In a unit of C nothing below it has code: members are no functions there (ISO C 6.7.2.1),
	 * as they are in C++, Rust and others, and of what C has to say half are members. */
	DIE_NO_CODE_IN_C = 1 << 5,
};

#define DIE_NO_SIBLING UINT32_MAX

struct die_abbrev {
	uint64_t code;
	uint32_t tag;
	uint32_t flags;      /* enum die_abbrev_flag */
	uint32_t skip;       /* first op of the program that steps over it, or ... */
	uint32_t fixed_len;  /* ... its length in bytes, when skip is DIE_NO_PROGRAM */
	uint32_t take;       /* ... of the program that takes values, or DIE_NO_PROGRAM */
	uint32_t sibling_at; /* where a DW_AT_sibling of 4 bytes stands, or DIE_NO_SIBLING */
};

#define DIE_NO_PROGRAM UINT32_MAX

/* One compiled table. Read-only once compiled. */
struct die_table {
	uint64_t off; /* in .debug_abbrev */
	struct unit_encoding encoding;
	struct die_abbrev *abbrevs;
	uint32_t *ops;
	uint32_t *by_code; /* code -> index + 1, for codes below by_code_len; else sorted by code */
	size_t abbrev_count, abbrevs_cap, op_count, ops_cap, by_code_len;
};

/* ERR_DATA, ERR_LIMIT, ERR_MEMORY; *t is then empty. */
int die_table_compile(struct die_table *t, const uint8_t *section, size_t section_len, uint64_t off,
		      struct unit_encoding encoding, struct err *err) _must_check_;
void die_table_done(struct die_table *t);

/* The slow half of die_table_find(). */
const struct die_abbrev *die_table_search(const struct die_table *t, uint64_t code);

/* NULL when the table has no such code. */
static inline const struct die_abbrev *die_table_find(const struct die_table *t, uint64_t code)
{
	if (code < t->by_code_len)
		return t->by_code[code] ? &t->abbrevs[t->by_code[code] - 1] : NULL;
	return die_table_search(t, code);
}

/* Steps over the attributes of a DIE that has such a program. `in` fails when the DIE leaves it. */
void die_skip(const struct die_table *t, const struct die_abbrev *a, struct bytes *in);

/* Takes the values of a DIE that has such a program, and steps over it. */
void die_take(const struct die_table *t, const struct die_abbrev *a, struct bytes *in,
	      struct die_values *ret);

/*
 * Whether a DIE anywhere may name another unit's DIE as its origin (DW_FORM_ref_addr: link-time
 * optimisation, dwz), so that units cannot be forgotten once they are read. True too when the
 * section cannot be read to its end. With `types` also whether types of other units, or type units,
 * are referred to.
 */
bool die_abbrevs_cross_units(const uint8_t *section, size_t section_len, bool types);

#endif
