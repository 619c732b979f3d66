/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_ROWS_H
#define RAWSTACK_PLAIN_ROWS_H
/*
 * Reads the line table of a unit through libdwarf, to check line_table.h. A separate pass over the
 * opcodes corrects two faults of libdwarf version 20210528:
 *
 *	- it starts the sequences of DWARF 5 at file 0, where the standard says 1 (DWARF 5 section
 *	  6.2.2, table 6.4), so rows before the first DW_LNS_set_file of a sequence get file 1;
 *	- it takes a row behind DW_LNS_set_epilogue_begin for the end of a sequence.
 */
#include <libdwarf.h>

#include "line_table.h"

/* A zeroed struct is an empty table. */
struct plain_rows {
	Dwarf_Line_Context context; /* NULL if libdwarf refused the table */
	struct line_table refused;  /* the files of a refused table, from line_table.h */
	Dwarf_Signed first, end;    /* file numbers are in [first, end) */
	Dwarf_Unsigned version;
	uint32_t *ids; /* in debug_text, by number - first; DEBUG_NONE until requested */
};

/* The place of a unit's line table; `off` is its offset in .debug_line. */
struct plain_rows_place {
	Dwarf_Debug dbg;
	Dwarf_Die unit;
	const struct line_sections *sections;
	uint64_t off;
};

/*
 * Reads the line table at a place, with the columns and discriminators if `columns` is set. Rows
 * hold file numbers, for plain_rows_file(). Returns 1 if libdwarf read it, or ERR_MEMORY. Returns 0
 * if libdwarf refused it; *out and the files then come from line_table.h, and *err says what is
 * wrong, with code 0 if that decoder found no fault.
 */
int plain_rows_read(struct plain_rows *t, const struct plain_rows_place *place, bool columns,
		    struct line_rows *out, struct err *err) _must_check_;
void plain_rows_done(struct plain_rows *t);

/* Returns the file with this number in the unit's rows and DIEs, or DEBUG_NONE if there is none. */
uint32_t plain_rows_file(struct plain_rows *t, uint64_t number, const char *comp_dir,
			 struct debug_text *text);

#endif
