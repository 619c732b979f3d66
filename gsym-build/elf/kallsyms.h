/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KALLSYMS_H
#define RAWSTACK_KALLSYMS_H
/*
 * Reads the text of /proc/kallsyms, which has one "address type name [module]" per line, as symbols
 * of the kernel. It takes the text symbols (types t, T, w, W) of the kernel itself. Those of
 * modules and BPF programs have a fourth column and are left out: their addresses mean nothing
 * after another boot.
 */
#include "symbols.h"

/* Returns whether the bytes look like kallsyms: the first line has the three columns. */
bool kallsyms_detect(const void *p, size_t len);

/*
 * Adds symbols, each with a size up to the next symbol of any kind; *ret_text_base is the address
 * of _text. ERR_DATA: a line of another shape, or no _text. ERR_DENIED: all addresses are 0, as the
 * kernel shows them without privilege. ERR_MEMORY.
 */
int kallsyms_read(const void *p, size_t len, struct debug_text *text, struct symbols *symbols,
		  uint64_t *ret_text_base, struct err *err) _must_check_;

#endif
