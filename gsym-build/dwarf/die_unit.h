/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_UNIT_H
#define RAWSTACK_DIE_UNIT_H
/* A file with DWARF, its units, their DIEs, and the values in a DIE (DWARF 5 sections 7.5.1 and
 * 7.5.5). The functions keep no state. */
#include "die_abbrev.h"
#include "die_text.h"

/* The sections that the units of one file refer to: the image's own, those of a dwz alternate file,
 * or of a file of split units (DWARF 5 section 7.3.2). Only die_file.c and the opening of a scan
 * write them. */
struct die_file {
	struct die_text strings;
	struct die_section whole; /* .debug_info, unless it is read unit by unit */
	struct die_section abbrev, line, ranges, rnglists;
	struct die_section addr;    /* the image's, which split units use as well */
	const struct die_file *alt; /* the dwz alternate file, or NULL */
	struct die_unit *units;     /* of `whole`, by offset */
	size_t unit_count, units_cap;
	bool is_types; /* `whole` is .debug_types */
};

/* One unit of .debug_info (DWARF 5 section 7.5.1). */
struct die_unit {
	const struct die_file *file;
	uint64_t off, end; /* in the section */
	const uint8_t *p;  /* the byte at off; readable up to `end` */
	uint64_t abbrev_off;
	uint64_t str_base, addr_base; /* valid if has_bases; until then str_base is the default */
	uint64_t dwo_id;              /* of a skeleton or split unit of DWARF 5 */
	uint64_t signature, type_off; /* of a type unit; type_off is relative to off */
	/* In a package, the parts of these sections that belong to a split unit begin here. */
	uint64_t line_base, rnglists_base;
	struct unit_encoding encoding;
	uint8_t type;       /* DW_UT_compile before DWARF 5 */
	uint8_t header_len; /* the unit's own DIE follows it */
	bool has_bases;
};

/* The longest header: 64-bit DWARF, a type unit. */
#define DIE_HEADER_MAX 40

/*
 * Reads the unit header at p, which is at `off` of a section of section_len bytes; `have` bytes are
 * readable at p. Does not set ret->p. In .debug_types, where `types` is true, a header has more
 * fields. Returns ERR_DATA if even the unit's end is unknown, so that no unit behind it can be
 * found, or ERR_UNSUPPORTED (version, address size, unit type), with off and end valid.
 */
int die_unit_header(struct die_unit *ret, const uint8_t *p, size_t have, uint64_t off,
		    uint64_t section_len, bool types, struct err *err);

/* A DIE that was read. Its values can be decoded only together with its unit and its offset. */
struct die {
	const struct die_unit *unit;
	uint64_t off;                    /* in the section */
	const struct die_abbrev *abbrev; /* NULL for the null entry that ends siblings */
	const uint8_t *attributes;       /* where they begin */
	struct die_values v;
};

/*
 * Reads the DIE at `in`, which points to its abbreviation code, and moves `in` behind it. Values
 * are extracted if its abbreviation has a program for that. Returns ERR_DATA or ERR_UNSUPPORTED
 * (unknown form).
 */
int die_next(const struct die_unit *u, const struct die_table *t, struct bytes *in, struct die *ret,
	     struct err *err);

/* These decode a value. They return false or NULL if the attribute is absent or its form is of
 * another class. */
bool die_number(const struct die *d, enum die_slot slot, uint64_t *ret);
bool die_address(const struct die *d, enum die_slot slot, uint64_t *ret);
bool die_section_offset(const struct die *d, enum die_slot slot, uint64_t *ret);
const char *die_string(const struct die *d, enum die_slot slot);

/* Returns the file of the referenced DIE and the DIE's offset in its .debug_info. Returns false if
 * the attribute is no reference, the reference leaves the unit, or the alternate file is
 * missing. */
bool die_reference(const struct die *d, enum die_slot slot, const struct die_file **ret_file,
		   uint64_t *ret);

/* Returns whether a form points into an alternate file. */
bool die_form_is_alt(unsigned int form);

#endif
