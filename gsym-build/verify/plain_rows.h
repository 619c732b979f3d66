/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_ROWS_H
#define RAWSTACK_PLAIN_ROWS_H
/*
 * The line table of a unit as libdwarf reads it: the second opinion about line_table.h. Two faults
 * of its version 20210528 are made good here, by a pass over the opcodes beside it:
 *
 *	- it starts the sequences of DWARF 5 at file 0, where the standard says 1 (DWARF 5 section
 *	  6.2.2, table 6.4): rows whose sequence never set its file have file 1;
 *	- it takes a row behind DW_LNS_set_epilogue_begin for the end of a sequence.
 */
#include <libdwarf.h>

#include "line_table.h"

/* Zero is an empty table. */
struct plain_rows {
	Dwarf_Line_Context context; /* NULL: libdwarf refused the table */
	struct line_table refused;  /* its files then, by the decoder of line_table.h */
	Dwarf_Signed first, end;    /* file numbers */
	Dwarf_Unsigned version;
	uint32_t *ids; /* of debug_text, by number from `first` on; DEBUG_NONE until asked for */
};

/*
 * Reads the table at `off` of .debug_line, which is that of `unit`. Rows carry file numbers, for
 * plain_rows_file(). 1: libdwarf read it; 0: it refused, and what the other decoder reads is given
 * instead: *err says what is wrong, code 0 if that finds no fault. ERR_MEMORY.
 */
int plain_rows_read(struct plain_rows *t, Dwarf_Debug dbg, Dwarf_Die unit,
		    const struct line_sections *s, uint64_t off, bool columns,
		    struct line_rows *out, struct err *err) _must_check_;
void plain_rows_done(struct plain_rows *t);

/* The file of a number as rows and DIEs of the unit count; DEBUG_NONE when there is none. */
uint32_t plain_rows_file(struct plain_rows *t, uint64_t number, const char *comp_dir,
			 struct debug_text *text);

#endif
