/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ALIAS_H
#define RAWSTACK_ALIAS_H
/*
 * Other names of functions: symbols at the entry of a function that is called otherwise, and
 * functions of DWARF whose code the linker folded into another one's (identical code folding), or
 * that are the same by declaration. Collected from everyone who knows of functions, compared with
 * the answers at the end of a build, and given to the writer.
 */
#include "debug_info.h"

struct alias {
	uint64_t entry;
	uint32_t name;
	uint32_t decl_file, decl_line;
	bool from_symbol; /* then there is no declaration */
	bool internal;    /* a local symbol where an exported one stands too */
};

/* Of names at the entries of functions: candidates, and the names that answer there. */
struct aliases {
	struct alias *list;
	size_t count, cap;
};

bool aliases_add(struct aliases *a, const struct alias *alias);

/* By entry and name; of equal ones one is kept, that of DWARF over a symbol's. */
void aliases_sort(struct aliases *a, const struct debug_text *text);

/*
 * Keeps of the candidates, sorted, those that are another name of a function that answers at its
 * entry (`answers`, by entry), and no compiler's copy of it. Internal names count only where no
 * DWARF names the function: "__GI_read" beside "read" is how a library calls itself.
 */
void aliases_choose(struct aliases *a, const struct aliases *answers,
		    const struct debug_text *text);

void aliases_done(struct aliases *a);

#endif
