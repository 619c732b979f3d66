/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_LINES_H
#define RAWSTACK_UNIT_LINES_H
/*
 * The line table of one unit, made disjoint: from each address to the next, one file and line.
 * Sequences overlap where a linker folded functions into one, or put dropped code onto an address
 * that is somebody's; who has an address then is decided here, as LLVM's reader decides it.
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

/* Whether what starts here is code. Linkers cannot delete the debug information of code they drop,
 * so they move it to addresses that no code has: outside of `code` (executable addresses,
 * flattened); where that is not known (no spans), 0 and the two highest of 32 or 64 bits are such
 * (DWARF 6 proposal 200609.1). */
bool is_code(const struct interval_overlay *code, uint64_t start);

/* Fills an empty `lines` from the unit's rows. `scopes`, flattened, says which scope shows at an
 * address. ERR_MEMORY; what was made must be released then as well. */
int unit_lines_make(struct unit_lines *lines, const struct debug_unit *unit,
		    const struct interval_overlay *code, const struct interval_overlay *scopes,
		    struct err *err) _must_check_;

void unit_lines_done(struct unit_lines *lines);

#endif
