/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_PRIV_H
#define RAWSTACK_DIE_PRIV_H
/* Shared by the die_*.c files only: the scanner's state, units, and what values of DIEs mean. */
#include "die_abbrev.h"
#include "die_scan.h"
#include "die_text.h"
#include "die_window.h"
#include "dwarf_lines.h"
#include "dwarf_ranges.h"

/* One unit of .debug_info (DWARF 5 section 7.5.1). */
struct die_unit {
	uint64_t off, end; /* in the section */
	const uint8_t *p;  /* the byte at off; all up to end can be read */
	uint64_t abbrev_off;
	uint64_t str_base, addr_base; /* valid when has_bases */
	struct die_shape shape;
	uint8_t type;       /* enum die_unit_type; DIE_UT_COMPILE before DWARF 5 */
	uint8_t header_len; /* the unit's own DIE stands behind it */
	bool has_bases;
};

/* The longest header: 64-bit DWARF, a type unit. */
#define DIE_HEADER_MAX 40

/*
 * Reads the header at `off` of a section of section_len bytes, of which `have` stand at p; sets no
 * ret->p. ERR_DATA: not even the unit's end is known, so nothing behind it can be found.
 * ERR_UNSUPPORTED (version, address size, unit type): off and end are valid.
 */
int die_unit_header(struct die_unit *ret, const uint8_t *p, size_t have, uint64_t off,
		    uint64_t section_len, struct err *err);

/* A DIE at hand: its values mean something only with the unit and the place. */
struct die {
	const struct die_unit *unit;
	const struct die_abbrev *abbrev; /* NULL: the null entry that ends siblings */
	const uint8_t *attributes;       /* where they begin */
	struct die_values v;
};

/* What a scope says of its name, and where else to look. */
struct scope_name {
	const char *linkage_name, *name;
	uint64_t origin; /* offset of a DIE in .debug_info; 0: none */
};

/* What the chain of origins that starts at one DIE gives. */
struct origin_name {
	uint32_t name; /* string: the linkage name, else the plain one; FACTS_NONE */
	uint32_t decl_file, decl_line;
	bool is_linkage, has_decl_file;
};

/* Compiled tables that are kept: compilers make one for each unit, or one for all. */
#define DIE_TABLES 32

struct die_scan {
	struct image *im;
	struct facts_text *text;
	const struct facts_sink *sink;
	struct debug_report *report;

	struct die_section abbrev, addr;
	struct die_text strings;
	struct die_window info;   /* the units one after the other, or ... */
	struct die_section whole; /* ... all at once, when they refer to each other */
	struct die_unit *units;   /* then: all of them, by offset */
	size_t unit_count, units_cap;
	struct die_table tables[DIE_TABLES];
	size_t table_next; /* the one to be replaced */

	/* Of the current unit. */
	struct die_unit unit;
	struct range_source ranges;
	struct line_sections line_sections;
	struct line_table lines;
	struct line_rows rows;
	const char *comp_dir;
	struct facts_scope *scopes;
	struct scope_name *names; /* beside scopes */
	struct facts_span *spans;
	struct range_list unit_ranges, scratch;
	size_t scope_count, scopes_cap, names_cap, span_count, spans_cap;

	/* Memo of origins by DIE offset, for the current unit. */
	struct intern origins;
	struct origin_name *origin_names;
	size_t origin_names_cap;
};

/* The compiled abbreviations of a unit; valid until DIE_TABLES others were asked for. */
int die_table_of(struct die_scan *s, const struct die_unit *u, const struct die_table **ret,
		 struct err *err);

/*
 * Reads the DIE at `in`, which begins at its code, and steps over it. Its values are those that its
 * abbreviation takes, or none. ERR_DATA, ERR_UNSUPPORTED (unknown form).
 */
int die_next(const struct die_unit *u, const struct die_table *t, struct bytes *in, struct die *ret,
	     struct err *err);

/* Reads the unit's own DIE, notes its bases, and leaves *in behind it. */
int die_unit_open(struct die_scan *s, struct die_unit *u, const struct die_table **ret_table,
		  struct bytes *in, struct die *ret, struct err *err);

/* What a value means. False, or NULL, when it is not there or its form cannot mean that. */
bool die_number(const struct die *d, enum die_slot slot, uint64_t *ret);
bool die_address(const struct die_scan *s, const struct die *d, enum die_slot slot, uint64_t *ret);
bool die_section_offset(const struct die *d, enum die_slot slot, uint64_t *ret);
const char *die_string(const struct die_scan *s, const struct die *d, enum die_slot slot);

/* Offset in .debug_info of the DIE that is referred to; one outside of its unit is none. */
bool die_reference(const struct die *d, enum die_slot slot, uint64_t *ret);

bool die_form_is_address(unsigned int form);

/* Names and origin of a scope; tells the report of names that lie in a dwz file. */
struct scope_name die_scope_name(struct die_scan *s, const struct die *d);

/* The ranges that a DIE gives, into s->scratch. ERR_DATA, ERR_LIMIT, ERR_MEMORY. */
int die_ranges_read(struct die_scan *s, const struct die *d, struct err *err) _must_check_;

/*
 * All scopes below the unit's own DIE, which `in` stands behind, with their spans. Names are left
 * to die_names_resolve(). ERR_DATA, ERR_UNSUPPORTED, ERR_LIMIT, ERR_MEMORY.
 */
int die_walk(struct die_scan *s, const struct die_table *t, const struct bytes *in,
	     struct err *err) _must_check_;

/* Fills in names and declarations of all scopes. ERR_MEMORY. */
int die_names_resolve(struct die_scan *s, struct err *err) _must_check_;

#endif
