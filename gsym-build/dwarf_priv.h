/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DWARF_PRIV_H
#define RAWSTACK_DWARF_PRIV_H
/* Shared by the dwarf_*.c files only: the reader's state, and libdwarf behind small functions that
 * free what they allocate. */
#include <dwarf.h>
#include <libdwarf.h>

#include "dwarf_reader.h"
#include "dwarf_rows.h"
#include "dwarf_spans.h"

/* One libdwarf instance over an image. It holds on to the image. */
struct dwarf_object {
	Dwarf_Debug dbg;
	struct object_section *sections;
	Dwarf_Obj_Access_Interface access;
	size_t section_count;
	bool is_64;
};

/* 1 opened, 0 when there is no .debug_info, negative. */
int object_open(struct dwarf_object *o, struct image *im, struct err *err);
void object_close(struct dwarf_object *o);

/* The message of a libdwarf error, which is freed. Returns ERR_DATA. */
int object_failed(Dwarf_Debug dbg, Dwarf_Error e, const char *what, struct err *err);

/* What a DIE says about itself; nothing is followed. Strings lie in the image's sections. */
struct die_facts {
	const char *linkage_name, *name, *comp_dir, *dwo_name;
	Dwarf_Off origin; /* DW_AT_specification, else DW_AT_abstract_origin; 0: none */
	uint64_t low, high, ranges, entry;
	uint64_t decl_file, decl_line, call_file, call_line;
	uint64_t addr_base, rnglists_base, lines;
	bool has_low, has_high, high_is_length, has_ranges, ranges_is_index, has_entry;
	bool has_decl_file, has_call_file, has_lines;
	bool in_alt_file; /* a name or reference points into a dwz file */
};

int die_read(Dwarf_Debug dbg, Dwarf_Die die, struct die_facts *ret, struct err *err);

struct scope_names {
	Dwarf_Off origin;
	const char *linkage_name, *name;
	bool has_decl_file, needed;
};

struct reader {
	struct image *im;
	struct facts_text *text;
	const struct facts_sink *sink;
	struct debug_report *report;
	struct dwarf_object object;

	/* of the current unit */
	struct range_source source;
	struct line_sections line_sections;
	struct rows_table lines;
	const char *comp_dir;
	Dwarf_Off unit_off, unit_end;
	Dwarf_Half unit_kind;
	struct facts_scope *scopes;
	struct scope_names *scope_names; /* beside scopes */
	struct facts_span *spans;
	struct line_rows rows;
	struct range_list unit_ranges, scratch;
	size_t scope_count, scopes_cap, scope_names_cap, span_count, spans_cap;

	/* Memo of names by DIE offset, for the current unit. */
	struct intern origins;
	struct origin_names *origin_names;
	size_t origin_names_cap;
};

/* Fills in name and declaration of the scopes marked as needed. */
int names_resolve(struct reader *r, struct err *err);

#endif
