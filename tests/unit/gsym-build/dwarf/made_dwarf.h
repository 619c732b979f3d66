/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MADE_DWARF_H
#define RAWSTACK_MADE_DWARF_H
/*
 * Debug information made by hand, byte by byte, good and bad: sections that a test fills, packed
 * into an ELF file that the image loader reads, and the report of a reader as text to compare.
 */
#include "buf.h"
#include "die_companions.h"

enum made_section {
	MADE_INFO,
	MADE_ABBREV,
	MADE_STR,
	MADE_LINE,
	MADE_LINE_STR,
	MADE_STR_OFFSETS,
	MADE_ADDR,
	MADE_RANGES,
	MADE_RNGLISTS,
	MADE_SECTIONS,
};

struct made {
	struct buf sections[MADE_SECTIONS];
	/* The unit at hand. */
	unsigned int version, offset_size, address_size;
	size_t unit;
};

void made_init(struct made *m);
void made_done(struct made *m);

/* ELF64 with the sections that are not empty. */
void made_elf(const struct made *m, struct buf *out);

/* One abbreviation: code, tag, children, then pairs of attribute and form up to -1; behind
 * DW_FORM_implicit_const its value. */
void made_abbrev(struct made *m, int code, int tag, int children, ...);

/* A unit with the abbreviations that begin at abbrev_off. Its length is written at the end. */
void made_unit(struct made *m, unsigned int version, unsigned int offset_size,
	       unsigned int address_size, uint64_t abbrev_off);
void made_unit_end(struct made *m);

/* Appends to .debug_info. */
void made_u(struct made *m, unsigned int size, uint64_t v); /* size bytes */
void made_leb(struct made *m, uint64_t v);
void made_text(struct made *m, const char *s); /* with its NUL */

/* Offset of the next byte in its unit. */
uint64_t made_at(const struct made *m);

typedef int made_reader(struct image *im, struct debug_text *text, const struct debug_sink *sink,
			struct debug_report *report, struct err *err);

/*
 * Facts of a unit as text, one line for each scope, span, row and range; scopes that neither have
 * code nor hold any are left out and the others numbered.
 */
void made_print(const struct debug_text *text, const struct debug_unit *u, struct buf *out);

/* What a reader says of a file: all units, then the report. Returns what the reader returned; out
 * holds what it gave before. */
int made_report(made_reader *reader, const void *elf, size_t len, struct buf *out, struct err *err);

#endif
