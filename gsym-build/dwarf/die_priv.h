/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_PRIV_H
#define RAWSTACK_DIE_PRIV_H
/* Private to the die_*.c files: the scanner's state, units, and the decoding of attribute
 * values. */
#include "die_abbrev.h"
#include "die_dwp.h"
#include "die_repeats.h"
#include "die_scan.h"
#include "die_text.h"
#include "line_table.h"
#include "range_list.h"
#include "section_stream.h"
#include "unit_filter.h"

/* The sections that the units of one file refer to: the image's own sections, those of a dwz
 * alternate file, or of a file of split units (DWARF 5 section 7.3.2). */
struct die_file {
	struct die_section abbrev;
	struct die_text strings;
	struct die_section whole; /* .debug_info, unless it is read unit by unit */
	struct die_unit *units;   /* of `whole`, by offset */
	size_t unit_count, units_cap;
	/* The next two are set only for files of split units. */
	struct die_section line, rnglists;
	bool is_types; /* `whole` is .debug_types */
};

/* One unit of .debug_info (DWARF 5 section 7.5.1). */
struct die_unit {
	struct die_file *file;
	uint64_t off, end; /* in the section */
	const uint8_t *p;  /* the byte at off; readable up to `end` */
	uint64_t abbrev_off;
	uint64_t str_base, addr_base; /* valid when has_bases; until then str_base is the default */
	uint64_t dwo_id;              /* of a skeleton or split unit of DWARF 5 */
	uint64_t signature, type_off; /* of a type unit; type_off is relative to off */
	/* Where the contributions of a split unit in a package begin in these sections. */
	uint64_t line_base, rnglists_base;
	struct unit_encoding encoding;
	uint8_t type;       /* DW_UT_compile before DWARF 5 */
	uint8_t header_len; /* the unit's own DIE follows it */
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

/* A DIE that was read. Its values can be decoded only together with its unit and its offset. */
struct die {
	const struct die_unit *unit;
	uint64_t off;                    /* in the section */
	const struct die_abbrev *abbrev; /* NULL: the null entry that ends siblings */
	const uint8_t *attributes;       /* where they begin */
	struct die_values v;
};

/* The names in a scope's own DIE, and the DIE that its origin refers to. */
struct scope_name {
	const char *linkage_name, *name;
	struct die_file *file; /* where the origin is */
	uint64_t origin;       /* offset of the DIE in that file's .debug_info; 0: none */
	uint64_t off;          /* offset of the scope's own DIE */
};

/* The name and declaration that the chain of origins from one DIE leads to. */
struct origin_name {
	uint32_t name; /* string: the linkage name, else the plain one; DEBUG_NONE */
	uint32_t decl_file, decl_line;
	bool is_linkage, has_decl_file;
};

/* An entry of a direct-mapped cache of origins, indexed by a hash of the offset. On a collision the
 * newer one wins, and the other is resolved again when it is needed. */
struct origin_memo {
	const struct die_file *file;
	uint64_t off;
	uint32_t stamp; /* of the unit, because file numbers differ between units; 0: free */
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
	struct die_file *files; /* the loose .dwo files, then the .dwp file */
	size_t file_count;
	struct die_split_unit *units; /* of the loose files, by id */
	size_t unit_count, units_cap;
	struct dwp_index index; /* of the .dwp file; empty when there is none */
};

/* A type unit, by its signature: where the DIE of its type is. */
struct die_signature {
	uint64_t id;
	struct die_file *file;
	uint64_t off;
	size_t order; /* order in which it was found: the first of several copies is taken */
};

struct die_signatures {
	struct die_file *files;     /* of sections .debug_types and .debug_types.dwo */
	struct die_signature *list; /* by id */
	size_t file_count, count, cap;
};

/* The namespaces and classes around types, for the units that were looked up
 * (enclosing_scopes.c). */
struct enclosing_scopes {
	struct intern seen; /* a file and the offset of a unit */
	struct enclosing_unit *units;
	struct enclosing_range *ranges;
	size_t units_cap, range_count, ranges_cap;
};

/* Number of compiled tables that are cached. Compilers emit one table for each unit, or one for all
 * of them. */
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
	/* Function signatures: `types` by scope of the current unit, `type_ids` by DIE for all made
	 * so far. */
	uint32_t *types, *type_ids;
	struct intern types_seen;
	size_t types_cap, type_ids_cap;
	struct die_signatures signatures;
	struct enclosing_scopes enclosing;
	bool is_c;         /* the current unit is C, where tags have a name space of their own */
	bool is_objective; /* the current unit is Objective C; is_c is set too */
	struct die_section addr, rnglists;
	struct die_file file; /* of the image; `whole` is set when its units refer to each other */
	struct die_file *alt; /* the dwz alternate file, or NULL */
	struct die_split split;     /* files of split units */
	struct section_stream info; /* .debug_info unit by unit, when file.whole is not set */
	struct die_table tables[DIE_TABLES];
	const uint8_t *table_sections[DIE_TABLES]; /* the .debug_abbrev that each table is from */
	size_t table_next;                         /* index of the table to replace next */

	/* The members up to spans_cap describe the current unit. */
	struct die_unit unit;
	const char *unit_name; /* or NULL */
	struct range_source ranges;
	uint64_t ranges_bias; /* added to the range list offsets of a split unit */
	struct line_sections line_sections;
	struct line_table lines;
	struct die_repeats *repeats; /* shared by both threads: own_repeats of the first */
	struct die_repeats own_repeats;
	struct line_rows rows;
	const char *comp_dir;
	struct debug_scope *scopes;
	struct scope_name *names; /* parallel to scopes */
	struct debug_span *spans;
	struct range_list unit_ranges, scratch;
	size_t scope_count, scopes_cap, names_cap, span_count, spans_cap;

	struct origin_memo *origins; /* array of DIE_ORIGINS */
	uint32_t origins_stamp;      /* of the current unit, like origins_bits */
	unsigned int origins_bits;   /* width of the hash: 1 << origins_bits entries are in use */
};

/* Opens everything but .debug_info. The caller sets s->missing and s->notes. 0; errors as
 * die_scan_with(). The caller must call die_scan_close() even after an error. */
int die_scan_open(struct die_scan *s, struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err) _must_check_;
/* Opens .debug_info. 1: units can be read; 0: there are none; negative on error. */
int die_scan_open_info(struct die_scan *s, const struct die_companions *companions,
		       struct err *err) _must_check_;
void die_scan_close(struct die_scan *s);

/* Length of .debug_info. */
uint64_t die_info_len(const struct die_scan *s);

/* Finds the unit at an offset and makes its bytes readable. 1; 0: this unit cannot be read (*why
 * says why) but ret->end is valid; negative: no later unit can be found either. */
int die_unit_at(struct die_scan *s, uint64_t off, struct die_unit *ret, struct err *why);

/* Reads s->unit, which die_unit_at() found, and gives it to the sink, or notes why it cannot be
 * read. 0; ERR_MEMORY, ERR_LIMIT of die_repeats_check(), and what the sink returns. */
int die_unit_read(struct die_scan *s, int found, struct err *why, struct err *err) _must_check_;

/* Reads the DIE at an offset and leaves *ret_in behind its attributes. False when there is no DIE
 * whose values are extracted. */
bool die_at(struct die_scan *s, const struct die_file *f, uint64_t off, struct bytes *ret_in,
	    struct die *ret);

/* Fills s->types if types are wanted. Call die_names_resolve() first. */
int die_types_resolve(struct die_scan *s, struct err *err);

/* Sets is_c and is_objective from the language of the current unit, whose DIE is d. */
void die_types_language(struct die_scan *s, const struct die *d);

/* Indexes the type units. Call it once the image and its companions are open, when types are
 * wanted. ERR_MEMORY. */
int die_signatures_open(struct die_scan *s, const struct die_companions *c,
			struct err *err) _must_check_;
void die_signatures_close(struct die_scan *s);

/* Finds the DIE of a type by the signature of its unit. */
bool die_signatures_find(const struct die_scan *s, uint64_t id, struct die_file **ret_file,
			 uint64_t *ret);

/* Stores the offsets of the namespaces and classes around a DIE, nearest first, ending at one that
 * is inside a function. Returns their number, at most cap. May evict cached abbreviation tables. */
size_t enclosing_scopes_find(struct die_scan *s, const struct die *d, uint64_t *ret, size_t cap);
void enclosing_scopes_done(struct enclosing_scopes *x);

/* The compiled abbreviations of a unit; valid until DIE_TABLES other tables have been requested. */
int die_table_of(struct die_scan *s, const struct die_unit *u, const struct die_table **ret,
		 struct err *err);

/*
 * Reads the DIE at `in`, which points to its abbreviation code, and moves behind it. Values are
 * extracted if its abbreviation has a program for that. ERR_DATA, ERR_UNSUPPORTED (unknown form).
 */
int die_next(const struct die_unit *u, const struct die_table *t, struct bytes *in, struct die *ret,
	     struct err *err);

/* Reads the unit's own DIE, notes its bases, and leaves *in behind it. */
int die_unit_open(struct die_scan *s, struct die_unit *u, const struct die_table **ret_table,
		  struct bytes *in, struct die *ret, struct err *err);

/* These decode a value. False or NULL: the attribute is absent, or its form is of another class. */
bool die_number(const struct die *d, enum die_slot slot, uint64_t *ret);
bool die_address(const struct die_scan *s, const struct die *d, enum die_slot slot, uint64_t *ret);
bool die_section_offset(const struct die *d, enum die_slot slot, uint64_t *ret);
const char *die_string(const struct die_scan *s, const struct die *d, enum die_slot slot);

/* The file of the referenced DIE, and its offset in that .debug_info. False when the reference
 * leaves the unit, or the alternate file is missing. */
bool die_reference(const struct die_scan *s, const struct die *d, enum die_slot slot,
		   struct die_file **ret_file, uint64_t *ret);

bool die_form_is_address(unsigned int form);

/* Whether a form points into an alternate file. */
bool die_form_is_alt(unsigned int form);

/* Reads the names and origin of a scope. Sets needs_alt_file in the report when a name is in a
 * missing dwz file. */
struct scope_name die_scope_name(struct die_scan *s, const struct die *d);

/* Lists all units of f->whole, for references between them. Unreadable units are left out; the scan
 * reports them. ERR_MEMORY. */
int die_units_list(struct die_file *f, struct err *err) _must_check_;

/* Opens the companions of the image. A damaged one is treated as missing, and the report says why.
 * ERR_MEMORY. */
int die_companions_open(struct die_scan *s, const struct die_companions *c,
			struct err *err) _must_check_;
void die_companions_close(struct die_scan *s);
void die_file_close(struct die_file *f);

/* Reads the unit of a package whose part of section `info` a row of the index describes. */
int die_split_unit_of_row(struct die_file *f, enum dwp_section info, const struct dwp_row *row,
			  struct die_unit *ret);

/* Finds the split unit of the skeleton whose DIE is d. 1; 0: it has none, or no companion
 * holds it. */
int die_split_find(struct die_scan *s, const struct die *d, struct die_unit *ret);

/* Counts that a split unit is about to be read; false when that exceeds the limit
 * (die_repeats.h). */
bool die_split_count(struct die_scan *s, const struct die_unit *split);

/* Makes a split unit the current one: reads its DIE and sets up its range lists and file table. The
 * lines of the skeleton must have been read. Errors as die_unit_open(). */
int die_split_enter(struct die_scan *s, const struct die *skeleton, const struct die_unit *split,
		    const struct die_table **ret_table, struct bytes *in, struct err *err);

/* Reads a DIE's ranges into s->scratch. ERR_DATA, ERR_LIMIT, ERR_MEMORY. */
int die_ranges_read(struct die_scan *s, const struct die *d, struct err *err) _must_check_;

/* Collects all scopes below the unit's own DIE, and their spans; `in` points behind that DIE.
 * die_names_resolve() adds the names. ERR_DATA, ERR_UNSUPPORTED, ERR_LIMIT, ERR_MEMORY. */
int die_walk(struct die_scan *s, const struct die_table *t, const struct bytes *in,
	     struct err *err) _must_check_;

/* Fills in names and declarations of all scopes. ERR_MEMORY. */
int die_names_resolve(struct die_scan *s, struct err *err) _must_check_;

#endif
