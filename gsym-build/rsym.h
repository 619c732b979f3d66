/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_H
#define RAWSTACK_RSYM_H
/*
 * The lookup table of one binary, as a reader sees it: link-time address in, chain of functions,
 * files and lines out. Works on any bytes in memory (a mapped file, a value of a store); reads no
 * ELF, no DWARF, allocates nothing in lookups. The layout is in rsym_format.h and FORMAT.md, the
 * writer in rsym_writer.h.
 *
 *	struct rsym table;
 *	struct rsym_frame frames[RSYM_FRAMES_MAX];
 *
 *	if (rsym_open(&table, p, len, &err))
 *		return err.code;
 *	n = rsym_lookup(&table, vaddr, frames, ARRAY_LEN(frames));
 *	for (int i = 0; i < n; i++)
 *		rsym_name(&table, frames[i].function, &text, &err);
 *
 * A struct rsym is a value that borrows the bytes: they must stay mapped and unchanged as long as
 * it is used. It is immutable after rsym_open(): share it between threads freely.
 */
#include "buf.h"
#include "build_id.h"
#include "err.h"
#include "limits.h"

#define RSYM_FRAMES_MAX (LIMIT_INLINE_DEPTH + 1)
#define RSYM_NONE       UINT32_MAX /* no function, no file */

struct rsym_section {
	const uint8_t *p;
	uint64_t len;
};

/* Filled by rsym_open(). Fields are read through the functions below; `generation` may be read. */
struct rsym {
	const uint8_t *p;
	size_t len;
	struct build_id id;
	uint64_t generation; /* of the content: equal bytes, equal number */
	uint64_t text_base;  /* kernel tables: link address of _text */
	uint32_t flags;      /* RSYM_HAS_... */
	uint32_t function_count, file_count, node_count, segment_count;
	uint64_t range_count;
	struct rsym_section sections[16];
};

enum rsym_flag {
	RSYM_HAS_DWARF = 1 << 0,   /* else names come from symbols only */
	RSYM_HAS_SYMBOLS = 1 << 1, /* a symbol table took part */
	RSYM_IS_KERNEL = 1 << 2,   /* text_base is valid */
	RSYM_HAS_SEGMENTS = 1 << 3,
};

/*
 * Validates the whole table (magic, version, bounds, order, references, checksums) so that lookups
 * need no more than cheap checks. ERR_UNSUPPORTED for an unknown major version or another byte
 * order, ERR_DATA for anything damaged; *t is then undefined.
 */
int rsym_open(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

struct rsym_frame {
	uint32_t function; /* id for rsym_function() and rsym_name(); never RSYM_NONE */
	uint32_t file;     /* id for rsym_file(), or RSYM_NONE: a symbol without a line */
	uint32_t line;     /* 0: none known */
	uint32_t column;   /* 0: none stored */
};

/*
 * The frames at vaddr: innermost inlined call first, the function that holds them last; a frame's
 * file and line are where it is executing, those of an outer frame are its call site. Returns their
 * number (at most cap; deeper chains lose the outermost but one), 0 when vaddr is in no function.
 * A frame chain of a line without a function (assembler with line rows, no symbol) has one frame
 * whose function has an empty name.
 */
int rsym_lookup(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap);

/* The half-open range of addresses that has vaddr's answer; 1, or 0 when vaddr is in a gap (the
 * range is then that gap). For verification and for caches. */
int rsym_range(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

struct rsym_function {
	uint64_t vaddr;      /* of its entry; 0 for one that exists only inlined */
	uint32_t start_line; /* of its declaration, 0: unknown */
	uint32_t file;       /* of its declaration, or RSYM_NONE */
	bool from_symbol;    /* named by a symbol, DWARF says nothing of it */
	bool has_entry;      /* vaddr is valid */
};

/* Ids come from rsym_lookup(), or are any number below t->function_count. ERR_USAGE otherwise. */
int rsym_function(const struct rsym *t, uint32_t function, struct rsym_function *ret,
		  struct err *err);

/*
 * Append to `out` the linkage name of a function (mangled, untrusted bytes, no NUL added) and the
 * path of a file. May decompress: decode an id once and keep the text.
 */
int rsym_name(const struct rsym *t, uint32_t function, struct buf *out, struct err *err);
int rsym_file(const struct rsym *t, uint32_t file, struct buf *out, struct err *err);

/* Address conversion through the segments of the executable: 1 and *ret_vaddr, or 0 when file_off
 * is in no loaded segment. */
int rsym_vaddr_of_file_off(const struct rsym *t, uint64_t file_off, uint64_t *ret_vaddr);

/* Whether vaddr lies in an executable segment (true when the table has no segments). */
bool rsym_in_segments(const struct rsym *t, uint64_t vaddr);

#endif
