/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FUNCTION_ALIAS_H
#define RAWSTACK_FUNCTION_ALIAS_H
/*
 * Other names of functions: symbols at the entry of a function that is called otherwise, and
 * functions of DWARF whose code the linker folded into another one's (identical code folding), or
 * that are the same by declaration. Collected from everyone who knows of functions, compared with
 * the answers at the end of a build, and given to the writer.
 */
#include "debug_info.h"

struct function_alias {
	uint64_t entry;
	uint32_t name;
	uint32_t decl_file, decl_line;
	bool from_symbol; /* then there is no declaration */
	bool internal;    /* a local symbol where an exported one stands too */
};

/* Of names at the entries of functions: candidates, and the names that answer there. */
struct function_aliases {
	struct function_alias *list;
	size_t count, cap;
};

bool function_aliases_add(struct function_aliases *a, const struct function_alias *alias);

/* By entry and name; of equal ones one is kept, that of DWARF over a symbol's. */
void function_aliases_sort(struct function_aliases *a, const struct debug_text *text);

/*
 * Keeps of the candidates, sorted, those that are another name of a function that answers at its
 * entry (`answers`, by entry), and no compiler's copy of it. Internal names count only where no
 * DWARF names the function: "__GI_read" beside "read" is how a library calls itself.
 */
void function_aliases_choose(struct function_aliases *a, const struct function_aliases *answers,
			     const struct debug_text *text);

void function_aliases_done(struct function_aliases *a);

#endif
