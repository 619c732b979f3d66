/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLS_H
#define RAWSTACK_SYMBOLS_H
/*
 * Chooses the symbol that names an address, from candidates of any symbol table (ELF, kallsyms), by
 * these rules:
 *
 *	- a symbol with a size covers it; of nested ones the one that starts last wins;
 *	- one without a size reaches up to the next symbol or the end of its code section, but only
 *	  where no sized symbol is;
 *	- at one address: default version over others, a function over a bare label, global over
 *	  weak over local, the shortest name, the first in the table.
 */
#include "debug_info.h"
#include "interval_overlay.h"

enum symbol_binding {
	SYMBOL_LOCAL = 0,
	SYMBOL_WEAK = 1,
	SYMBOL_GLOBAL = 2
};

struct symbol {
	uint64_t vaddr, len; /* len 0: size unknown */
	uint32_t name;       /* string of a struct debug_text */
	uint32_t name_len;
	uint8_t binding;      /* enum symbol_binding */
	bool is_function;     /* else a bare label (STT_NOTYPE) */
	bool default_version; /* or it has no version */
};

struct symbols {
	struct symbol *list;
	size_t count, cap;
	struct interval_overlay spans; /* disjoint, once chosen; value: index into list */
	uint32_t *by_name; /* index into list, or one of symbols.c's marks; NULL: not needed yet */
};

#define SYMBOLS_INIT                                     \
	{                                                \
		.spans = INTERVAL_OVERLAY_INIT(SIZE_MAX) \
	}

bool symbols_add(struct symbols *s, const struct symbol *sym);

/*
 * Chooses the symbol of each address and fills s->spans; sorts the list. `code` holds the
 * executable addresses, flattened; symbols outside of them are dropped. If it is empty, no symbol
 * is dropped, and one without size or successor covers its first byte. ERR_LIMIT, ERR_MEMORY.
 */
int symbols_choose(struct symbols *s, const struct interval_overlay *code,
		   struct err *err) _must_check_;

/*
 * Gives the entry of the function of a symbol. For "f.cold" ("f.cold.1" of older compilers), the
 * unlikely code that GCC moves out of f, it is the entry of f, if there is exactly one f. Call it
 * after symbols_choose(). Returns false if memory is out.
 */
bool symbols_entry(struct symbols *s, const struct debug_text *text, uint32_t symbol,
		   uint64_t *ret);

void symbols_done(struct symbols *s);

#endif
