/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_PRIV_H
#define RAWSTACK_PLAIN_PRIV_H
/* The state of the plain reader and the functions that its files share. Only plain_*.c include
 * it. */
#include <dwarf.h>
#include <libdwarf.h>

#include "plain_ranges.h"
#include "plain_reader.h"
#include "plain_rows.h"

/* One libdwarf instance over an image, which must stay open. */
struct plain_object {
	Dwarf_Debug dbg;
	struct plain_object_section *sections;
	Dwarf_Obj_Access_Interface access;
	size_t section_count;
	uint8_t *partial; /* .debug_info up to its damage, or NULL */
	bool is_64;
};

/* Opens the image's sections, or with `split` those of a .dwo file or package. Returns 1, 0 if
 * there is no .debug_info or libdwarf might search the package's index without end, or an error. */
int plain_object_open(struct plain_object *o, struct image *im, bool split, struct err *err);
void plain_object_close(struct plain_object *o);

/* Puts the message of a libdwarf error into *err and frees the error. Returns ERR_DATA. */
int plain_object_failed(Dwarf_Debug dbg, Dwarf_Error e, const char *what, struct err *err);

/* A DIE of the current file, or of its dwz alternate file. */
struct die_ref {
	Dwarf_Off off; /* 0 if there is no DIE */
	bool in_alt;
};

/* The attributes of one DIE, without those of DIEs it refers to. Strings are in the image's
 * sections. */
struct plain_die {
	const char *linkage_name, *name, *comp_dir, *dwo_name;
	Dwarf_Off off;
	struct die_ref origin;        /* DW_AT_specification, else DW_AT_abstract_origin */
	uint64_t dwo_id, ranges_base; /* GNU extension to DWARF 4 */
	uint64_t low, high, ranges, entry;
	uint64_t decl_file, decl_line, call_file, call_line, call_column, discriminator;
	uint64_t addr_base, rnglists_base, lines;
	bool has_low, has_high, high_is_length, has_ranges, ranges_is_index, has_entry;
	bool has_decl_file, has_lines, has_dwo_id;
	bool in_alt_file; /* a name or reference points into a missing dwz file */
};

struct scope_names {
	struct die_ref origin;
	Dwarf_Off off; /* the scope's own DIE */
	const char *linkage_name, *name;
	bool has_decl_file, needed;
};

/* A .dwo file or a package of them. */
struct plain_split_file {
	struct plain_object object;
	const uint8_t *rnglists;
	size_t rnglists_len;
	struct line_sections lines;
};

/* A unit of a .dwo file or package, found by the id in its skeleton. */
struct plain_split_unit {
	uint64_t id;
	struct plain_split_file *file;
	Dwarf_Off off, end, die;
	Dwarf_Half version;
	unsigned int address_size, offset_size;
};

struct plain_reader {
	struct image *im;
	const struct die_companions *companions;
	struct debug_text *text;
	const struct debug_sink *sink;
	struct debug_report *report;
	struct plain_object object, alt; /* alt.dbg is NULL if there is none */
	struct plain_split_file *split_files;
	struct plain_split_unit *split_units; /* by id */
	size_t split_file_count, split_unit_count, split_units_cap;
	const uint8_t *rnglists; /* the image's own; `source` has those of the current unit */
	size_t rnglists_len;

	/* The current unit. */
	Dwarf_Debug dbg; /* dbg of `object`, or of a split file */
	bool in_split;
	uint64_t unit_id, ranges_bias;
	struct range_source source;
	struct line_sections line_sections;
	struct plain_rows lines;
	const char *comp_dir;
	Dwarf_Off unit_off, unit_end;
	Dwarf_Half unit_kind;
	struct debug_scope *scopes;
	struct scope_names *scope_names; /* parallel to scopes */
	struct debug_span *spans;
	struct plain_types *types_of; /* NULL if types are not wanted */
	uint32_t *types;              /* parallel to scopes */
	struct line_rows rows;
	struct range_list unit_ranges, scratch;
	size_t scope_count, scopes_cap, scope_names_cap, span_count, spans_cap, types_cap;

	/* Cache of names by DIE offset, for the current unit. */
	struct intern origins;
	struct origin_names *origin_names;
	size_t origin_names_cap;
};

/* Reads a DIE of `dbg`, which is r->dbg, r->alt.dbg or that of a split file. Returns ERR_DATA. */
int plain_die_read(struct plain_reader *r, Dwarf_Debug dbg, Dwarf_Die die, struct plain_die *ret,
		   struct err *err);

/* Opens the companions of the image. One that cannot be read is left out. Returns ERR_MEMORY. */
int plain_split_open(struct plain_reader *r, struct err *err);
void plain_split_close(struct plain_reader *r);

/* Returns the split unit whose skeleton is `d`, or NULL. */
const struct plain_split_unit *plain_split_find(const struct plain_reader *r,
						const struct plain_die *d);

/* Makes a split unit the current one, and replaces *die, the skeleton's DIE, by the unit's.
 * plain_split_leave() undoes it. */
int plain_split_enter(struct plain_reader *r, const struct plain_split_unit *u,
		      const struct plain_die *skeleton, Dwarf_Die *die, struct err *err);
void plain_split_leave(struct plain_reader *r);

/* Make signatures if they are wanted. Types are opened once for each r->object; then the scopes
 * marked as needed are resolved for each unit, whose DIE is `unit`. */
int plain_types_open(struct plain_reader *r, struct err *err);
void plain_types_close(struct plain_reader *r);
int plain_types_resolve(struct plain_reader *r, Dwarf_Die unit, struct err *err);

/* Fills in name and declaration of the scopes marked as needed. Returns ERR_MEMORY. */
int plain_names_resolve(struct plain_reader *r, struct err *err);

#endif
