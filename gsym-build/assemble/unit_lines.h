/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_LINES_H
#define RAWSTACK_UNIT_LINES_H
/*
 * Makes the line table of one unit disjoint: each address has one file and line. Sequences overlap
 * where a linker folded functions into one, or moved dropped code to an address in use; this module
 * then chooses as LLVM's reader does.
 */
#include "debug_info.h"
#include "interval_overlay.h"

struct unit_line {
	uint64_t start, end;
	uint32_t file, line, column_word; /* as in struct debug_row */
};

struct unit_lines {
	struct unit_line *all; /* sorted, disjoint */
	size_t count, cap;
};

/*
 * Returns whether `start` is the address of code. Linkers cannot delete the debug information of
 * code they drop, so they give it an address outside of `code` (executable addresses, flattened).
 * If `code` is empty, 0 and the two highest addresses of 32 or 64 bits are taken for such
 * tombstones (DWARF 6 proposal 200609.1).
 */
bool is_code(const struct interval_overlay *code, uint64_t start);

/* Fills an empty `lines` from the unit's rows. `scopes`, flattened, says which scope is visible at
 * an address. ERR_MEMORY; the caller must release `lines` even then. */
int unit_lines_make(struct unit_lines *lines, const struct debug_unit *unit,
		    const struct interval_overlay *code, const struct interval_overlay *scopes,
		    struct err *err) _must_check_;

void unit_lines_done(struct unit_lines *lines);

#endif
