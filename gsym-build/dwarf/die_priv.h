/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_PRIV_H
#define RAWSTACK_DIE_PRIV_H
/* Shared by the die_*.c files only: the scanner's state, units, and what values of DIEs mean. */
#include "die_abbrev.h"
#include "die_dwp.h"
#include "die_repeats.h"
#include "die_scan.h"
#include "die_text.h"
#include "line_table.h"
#include "range_list.h"
#include "section_stream.h"
#include "unit_filter.h"

/*
 * What units of one file point into: the image's own sections, those of a dwz alternate file, or of
 * a file of split units (DWARF 5 section 7.3.2).
 */
struct die_file {
	struct die_section abbrev;
	struct die_text strings;
	struct die_section whole; /* .debug_info, unless it is read unit by unit */
	struct die_unit *units;   /* of `whole`, by offset */
	size_t unit_count, units_cap;
	/* Of split units only: */
	struct die_section line, rnglists;
	bool is_types; /* `whole` is .debug_types */
};

/* One unit of .debug_info (DWARF 5 section 7.5.1). */
struct die_unit {
	struct die_file *file;
	uint64_t off, end; /* in the section */
	const uint8_t *p;  /* the byte at off; all up to end can be read */
	uint64_t abbrev_off;
	uint64_t str_base, addr_base; /* valid when has_bases; before, str_base is the default */
	uint64_t dwo_id;              /* of a skeleton or split unit of DWARF 5 */
	uint64_t signature, type_off; /* of a type unit; the type's DIE counts from off */
	/* Of a split unit in a package: where its parts of these sections begin. */
	uint64_t line_base, rnglists_base;
	struct unit_encoding encoding;
	uint8_t type;       /* DW_UT_compile before DWARF 5 */
	uint8_t header_len; /* the unit's own DIE stands behind it */
	bool has_bases;
};

/* The longest header: 64-bit DWARF, a type unit. */
#define DIE_HEADER_MAX 40

/*
 * Reads the header at `off` of a section of section_len bytes, of which `have` stand at p; sets no
 * ret->p. In .debug_types, where `types` is true, it has more fields. ERR_DATA: not even the unit's
 * end is known, so nothing behind it can be found. ERR_UNSUPPORTED (version, address size, unit
 * type): off and end are valid.
 */
int die_unit_header(struct die_unit *ret, const uint8_t *p, size_t have, uint64_t off,
		    uint64_t section_len, bool types, struct err *err);

/* A DIE at hand: its values mean something only with the unit and the place. */
struct die {
	const struct die_unit *unit;
	uint64_t off;                    /* in the section */
	const struct die_abbrev *abbrev; /* NULL: the null entry that ends siblings */
	const uint8_t *attributes;       /* where they begin */
	struct die_values v;
};

/* What a scope says of its name, and where else to look. */
struct scope_name {
	const char *linkage_name, *name;
	struct die_file *file; /* where the origin is */
	uint64_t origin;       /* offset of a DIE in its .debug_info; 0: none */
	uint64_t off;          /* of its own DIE */
};

/* What the chain of origins that starts at one DIE gives. */
struct origin_name {
	uint32_t name; /* string: the linkage name, else the plain one; DEBUG_NONE */
	uint32_t decl_file, decl_line;
	bool is_linkage, has_decl_file;
};

/* What was found for an origin, in the place that its offset gives. One that takes the place of
 * another costs the other its memory, and no more. */
struct origin_memo {
	const struct die_file *file;
	uint64_t off;
	uint32_t stamp; /* of the unit: file numbers of names differ between units; 0: free */
	struct origin_name name;
};

#define DIE_ORIGINS_BITS 14
#define DIE_ORIGINS      ((size_t)1 << DIE_ORIGINS_BITS)

/* A unit of a .dwo file, by its id. */
struct die_split_unit {
	uint64_t id;
	struct die_unit unit;
};

struct die_split {
	struct die_file *files; /* of loose .dwo files, behind them the .dwp file */
	size_t file_count;
	struct die_split_unit *units; /* of the loose files, by id */
	size_t unit_count, units_cap;
	struct dwp_index index; /* of the .dwp file; without one no id is found in it */
};

/* A type unit, by its signature: where the DIE of its type is. */
struct die_signature {
	uint64_t id;
	struct die_file *file;
	uint64_t off;
	size_t order; /* as found: of copies the first is taken */
};

struct die_signatures {
	struct die_file *files;     /* of sections .debug_types and .debug_types.dwo */
	struct die_signature *list; /* by id */
	size_t file_count, count, cap;
};

/* What stands around types, of the units that were asked about (enclosing_scopes.c). */
struct enclosing_scopes {
	struct intern seen; /* a file and the offset of a unit */
	struct enclosing_unit *units;
	struct enclosing_range *ranges;
	size_t units_cap, range_count, ranges_cap;
};

/* Compiled tables that are kept: compilers make one for each unit, or one for all. */
#define DIE_TABLES 32

struct die_scan {
	struct image *im;
	struct debug_text *text;
	const struct debug_sink *sink;
	struct debug_report *report;
	uint32_t number; /* of the current unit */

	struct buf *missing, *notes; /* see struct die_companions */
	struct unit_filter wanted;
	bool columns, want_types;
	struct helper *helper; /* inflates ahead, or NULL */
	/* Signatures: of the scopes at hand, by scope; and all that were made, by DIE. */
	uint32_t *types, *type_ids;
	struct intern types_seen;
	size_t types_cap, type_ids_cap;
	struct die_signatures signatures;
	struct enclosing_scopes enclosing;
	bool is_c;         /* the current unit: tags are a name space of their own */
	bool is_objective; /* it is Objective C, which is in is_c too */
	struct die_section addr, rnglists;
	struct die_file file;       /* of the image; whole when its units refer to each other */
	struct die_file *alt;       /* the dwz alternate file, or NULL */
	struct die_split split;     /* files of split units */
	struct section_stream info; /* the units one after the other, when the file is not whole */
	struct die_table tables[DIE_TABLES];
	const uint8_t *table_sections[DIE_TABLES]; /* beside it: the .debug_abbrev of each */
	size_t table_next;                         /* the one to be replaced */

	/* Of the current unit. */
	struct die_unit unit;
	const char *unit_name; /* or NULL */
	struct range_source ranges;
	uint64_t ranges_bias; /* where what split units say of range lists counts from */
	struct line_sections line_sections;
	struct line_table lines;
	struct die_repeats *repeats; /* of both readers; the first one's own */
	struct die_repeats own_repeats;
	struct line_rows rows;
	const char *comp_dir;
	struct debug_scope *scopes;
	struct scope_name *names; /* beside scopes */
	struct debug_span *spans;
	struct range_list unit_ranges, scratch;
	size_t scope_count, scopes_cap, names_cap, span_count, spans_cap;

	struct origin_memo *origins; /* DIE_ORIGINS of them */
	uint32_t origins_stamp;      /* of the current unit, as is the next */
	unsigned int origins_bits;   /* of the hash of an origin: so much of them is in use */
};

/*
 * Opens everything but .debug_info; what is missing and noted is the caller's to say. 0; errors as
 * die_scan_with(). To be closed in any case.
 */
int die_scan_open(struct die_scan *s, struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err) _must_check_;
/* .debug_info as well: 1: units can be read; 0: there are none; negative. */
int die_scan_open_info(struct die_scan *s, const struct die_companions *companions,
		       struct err *err) _must_check_;
void die_scan_close(struct die_scan *s);

/* Length of .debug_info. */
uint64_t die_info_len(const struct die_scan *s);

/*
 * The unit at an offset, made visible. 1; 0: this one cannot be read, for the reason in *why, but
 * ret->end is valid; negative: nothing behind it can be read either.
 */
int die_unit_at(struct die_scan *s, uint64_t off, struct die_unit *ret, struct err *why);

/* Reads s->unit, that die_unit_at() found, and gives it to the sink, or notes why not. 0;
 * ERR_MEMORY, ERR_LIMIT of die_repeats_check(), and what the sink returns. */
int die_unit_read(struct die_scan *s, int found, struct err *why, struct err *err) _must_check_;

/* Reads the DIE at an offset, of a kind whose values are taken, and steps over its values; false
 * when there is none. */
bool die_at(struct die_scan *s, const struct die_file *f, uint64_t off, struct bytes *ret_in,
	    struct die *ret);

/* Fills s->types, when they are wanted; after die_names_resolve(). */
int die_types_resolve(struct die_scan *s, struct err *err);

/* Notes the language of the current unit, whose DIE is d. */
void die_types_language(struct die_scan *s, const struct die *d);

/* After the image and its companions were opened, when types are wanted. ERR_MEMORY. */
int die_signatures_open(struct die_scan *s, const struct die_companions *c,
			struct err *err) _must_check_;
void die_signatures_close(struct die_scan *s);

/* The DIE of a type by the signature of its unit. */
bool die_signatures_find(const struct die_scan *s, uint64_t id, struct die_file **ret_file,
			 uint64_t *ret);

/*
 * Offsets of the namespaces and classes that hold a DIE, the nearest first, up to one that is in a
 * function: their number, at most cap. Tables of abbreviations may be replaced meanwhile.
 */
size_t enclosing_scopes_find(struct die_scan *s, const struct die *d, uint64_t *ret, size_t cap);
void enclosing_scopes_done(struct enclosing_scopes *x);

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

/* File, and offset in its .debug_info, of the DIE that is referred to; one outside of its unit, or
 * in an alternate file that is not there, is none. */
bool die_reference(const struct die_scan *s, const struct die *d, enum die_slot slot,
		   struct die_file **ret_file, uint64_t *ret);

bool die_form_is_address(unsigned int form);

/* Whether a form points into an alternate file. */
bool die_form_is_alt(unsigned int form);

/* Names and origin of a scope; tells the report of names that lie in a dwz file. */
struct scope_name die_scope_name(struct die_scan *s, const struct die *d);

/* All units of f->whole, for references between them. Those that cannot be read are left out; the
 * scan says why. ERR_MEMORY. */
int die_units_list(struct die_file *f, struct err *err) _must_check_;

/*
 * Opens what goes with the image. A damaged companion is left out, as if it were not there, and the
 * report says why; ERR_MEMORY.
 */
int die_companions_open(struct die_scan *s, const struct die_companions *c,
			struct err *err) _must_check_;
void die_companions_close(struct die_scan *s);
void die_file_close(struct die_file *f);

/* The unit of a package's file whose section `info` (or types) a row of its index describes. */
int die_split_unit_of_row(struct die_file *f, enum dwp_section info, const struct dwp_row *row,
			  struct die_unit *ret);

/* The split unit of a skeleton whose DIE is d: 1; 0: there is none, or it is in no file at hand. */
int die_split_find(struct die_scan *s, const struct die *d, struct die_unit *ret);

/* Notes that one is about to be read; false when that was done too often. */
bool die_split_count(struct die_scan *s, const struct die_unit *split);

/*
 * Makes a split unit the current one: its DIE is read, and ranges and file numbers are those it
 * means. The lines of the skeleton have been read. Errors as die_unit_open().
 */
int die_split_enter(struct die_scan *s, const struct die *skeleton, const struct die_unit *split,
		    const struct die_table **ret_table, struct bytes *in, struct err *err);

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
