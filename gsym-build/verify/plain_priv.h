/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_PRIV_H
#define RAWSTACK_PLAIN_PRIV_H
/* Shared by the plain_*.c files only: the reader's state, and libdwarf behind small functions that
 * free what they allocate. */
#include <dwarf.h>
#include <libdwarf.h>

#include "plain_ranges.h"
#include "plain_reader.h"
#include "plain_rows.h"

/* One libdwarf instance over an image. It holds on to the image. */
struct plain_object {
	Dwarf_Debug dbg;
	struct plain_object_section *sections;
	Dwarf_Obj_Access_Interface access;
	size_t section_count;
	uint8_t *partial; /* .debug_info up to where it is damaged, or NULL */
	bool is_64;
};

/* Opens the plain sections or, for a split file, those of .dwo. 1 opened, 0 when there is no
 * .debug_info, or an index of it that libdwarf would search for ever; negative. */
int plain_object_open(struct plain_object *o, struct image *im, bool split, struct err *err);
void plain_object_close(struct plain_object *o);

/* The message of a libdwarf error, which is freed. Returns ERR_DATA. */
int plain_object_failed(Dwarf_Debug dbg, Dwarf_Error e, const char *what, struct err *err);

/* A DIE of the file at hand, or of its dwz alternate file. */
struct die_ref {
	Dwarf_Off off; /* 0: none */
	bool in_alt;
};

/* The attributes of one DIE; no reference is followed. Strings are in the image's sections. */
struct plain_die {
	const char *linkage_name, *name, *comp_dir, *dwo_name;
	Dwarf_Off off;
	struct die_ref origin;        /* DW_AT_specification, else DW_AT_abstract_origin */
	uint64_t dwo_id, ranges_base; /* GNU extension to DWARF 4 */
	uint64_t low, high, ranges, entry;
	uint64_t decl_file, decl_line, call_file, call_line, call_column, discriminator;
	uint64_t addr_base, rnglists_base, lines;
	bool has_low, has_high, high_is_length, has_ranges, ranges_is_index, has_entry;
	bool has_decl_file, has_call_file, has_lines, has_dwo_id;
	bool in_alt_file; /* a name or reference points into a dwz file that is not there */
};

struct scope_names {
	struct die_ref origin;
	Dwarf_Off off; /* of its own DIE */
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

/* A unit of such a file, found by the id in its skeleton. */
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
	struct plain_object object, alt; /* alt.dbg is NULL when there is none */
	struct plain_split_file *split_files;
	struct plain_split_unit *split_units; /* by id */
	size_t split_file_count, split_unit_count, split_units_cap;
	const uint8_t *rnglists; /* of the file itself; `source` has those of the current unit */
	size_t rnglists_len;

	/* of the current unit */
	Dwarf_Debug dbg; /* that of object, or of a split file */
	bool in_split;
	uint64_t unit_id, ranges_bias;
	struct range_source source;
	struct line_sections line_sections;
	struct plain_rows lines;
	const char *comp_dir;
	Dwarf_Off unit_off, unit_end;
	Dwarf_Half unit_kind;
	struct debug_scope *scopes;
	struct scope_names *scope_names; /* beside scopes */
	struct debug_span *spans;
	struct plain_types *types_of; /* NULL: types are not wanted */
	uint32_t *types;              /* beside scopes */
	struct line_rows rows;
	struct range_list unit_ranges, scratch;
	size_t scope_count, scopes_cap, scope_names_cap, span_count, spans_cap, types_cap;

	/* Memo of names by DIE offset, for the current unit. */
	struct intern origins;
	struct origin_names *origin_names;
	size_t origin_names_cap;
};

/* A DIE of r->dbg, or of r->alt.dbg when it is in the alternate file. */
int plain_die_read(struct plain_reader *r, Dwarf_Debug dbg, Dwarf_Die die, struct plain_die *ret,
		   struct err *err);

/* The files that go with an image. */
int plain_split_open(struct plain_reader *r, struct err *err);
void plain_split_close(struct plain_reader *r);

/* The split unit whose skeleton is `d`, or NULL. */
const struct plain_split_unit *plain_split_find(const struct plain_reader *r,
						const struct plain_die *d);

/* Makes it the current unit: *die, which is replaced, its DIE. Undone by plain_split_leave(). */
int plain_split_enter(struct plain_reader *r, const struct plain_split_unit *u,
		      const struct plain_die *skeleton, Dwarf_Die *die, struct err *err);
void plain_split_leave(struct plain_reader *r);

/* Make signatures if they are wanted: open once for each r->object, then resolve the scopes marked
 * as needed of each unit, whose DIE is `unit`. */
int plain_types_open(struct plain_reader *r, struct err *err);
void plain_types_close(struct plain_reader *r);
int plain_types_resolve(struct plain_reader *r, Dwarf_Die unit, struct err *err);

/* Fills in name and declaration of the scopes marked as needed. */
int plain_names_resolve(struct plain_reader *r, struct err *err);

#endif
