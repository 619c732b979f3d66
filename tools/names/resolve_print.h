/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_PRINT_H
#define RAWSTACK_RESOLVE_PRINT_H
/*
 * Prints the answers for single addresses, in the formats that people and scripts want: for each
 * address begin, then its frames, innermost first, then end.
 */
#include "source_lines.h"

enum resolve_style {
	RESOLVE_TEXT, /* "0x12: f at /a.c:3", then " (inlined by) g at /b.c:4" */
	RESOLVE_JSON, /* one object per address */
	RESOLVE_LLVM, /* as `llvm-symbolizer --inlines`: function, file:line:column, empty line */
	RESOLVE_GNU,  /* like addr2line */
	RESOLVE_LINE, /* " f at /a.c:3, inlined into g at /b.c:4", nothing without a name */
};

/* The options -a -f -i -p -s of addr2line. */
struct resolve_gnu {
	bool addresses, functions, inlines, pretty, base_names;
	unsigned int address_bytes; /* 4, else 8: how wide -a prints */
};

struct resolve_frame {
	const void *function, *file; /* untrusted bytes; empty: not known */
	size_t function_len, file_len;
	uint32_t line; /* 0: not known */
	bool inlined;
};

struct resolve_printer {
	enum resolve_style style;
	struct resolve_gnu gnu;
	struct buf *out;
	struct source_lines *source; /* text style: prints the lines around a frame's; or NULL */
	bool links;                  /* text style: files are hyperlinks of the terminal */
	uint64_t address;
	size_t frames; /* frames of this address so far */
};

void resolve_begin(struct resolve_printer *p, uint64_t address, const char *status);
void resolve_frame(struct resolve_printer *p, const struct resolve_frame *f);
void resolve_end(struct resolve_printer *p);

#endif
