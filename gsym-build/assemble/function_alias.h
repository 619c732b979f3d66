/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FUNCTION_ALIAS_H
#define RAWSTACK_FUNCTION_ALIAS_H
/*
 * Other names of functions: symbols at the entry of a function with a different name, functions of
 * DWARF whose code the linker folded into another one (identical code folding), and functions that
 * are the same by declaration. The builder collects candidates, compares them with the answers at
 * the end of a build, and gives them to the writer.
 */
#include "debug_info.h"

struct function_alias {
	uint64_t entry;
	uint32_t name;
	uint32_t decl_file, decl_line;
	bool from_symbol; /* then it has no declaration */
	bool internal;    /* a local symbol at an address that also has an exported one */
};

/* Names at the entries of functions: either candidates, or the names that the table answers. */
struct function_aliases {
	struct function_alias *list;
	size_t count, cap;
};

bool function_aliases_add(struct function_aliases *a, const struct function_alias *alias);

/* Sorts by entry and name. Of equal names it keeps one, preferably from DWARF. */
void function_aliases_sort(struct function_aliases *a, const struct debug_text *text);

/*
 * Reduces the sorted candidates to the other names of functions in `answers` (by entry), without
 * those of compilers' copies. An internal name is kept only where DWARF does not name the function:
 * "__GI_read" beside "read" is a library's private name.
 */
void function_aliases_choose(struct function_aliases *a, const struct function_aliases *answers,
			     const struct debug_text *text);

void function_aliases_done(struct function_aliases *a);

#endif
