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

/* Sorted strings in compressed blocks; the fields belong to rsym_text.h. */
struct rsym_texts {
	const uint8_t *ends, *dictionary, *blocks;
	uint64_t blocks_len;
	uint32_t count, block_count, block_max, dictionary_len;
	uint8_t block_strings, end_bits;
};

/* A section that a table can be without: p is NULL then. */
struct rsym_optional {
	const uint8_t *p;
	uint64_t len;
};

/* Filled by rsym_open(). The fields above the line may be read, the others through functions. */
struct rsym {
	const uint8_t *p;
	size_t len;
	struct build_id id;
	uint64_t generation; /* of the content: equal bytes, equal number */
	uint64_t text_base;  /* kernel tables: link address of _text */
	uint32_t flags;      /* RSYM_HAS_... */
	uint32_t function_count, file_count, segment_count, alias_count;
	uint64_t range_count;
	uint64_t node_count; /* functions and inlined calls, once for each block that needs them */
	/* --------------------------------------------------------------------------------- */
	const uint8_t *spans, *leaf_index, *leaves, *blocks, *line_bases, *bases, *frequent,
		*functions, *decls, *entries, *segments;
	uint64_t blocks_len, entry_base;
	uint32_t span_count, leaf_index_count, leaf_count, line_base_count, base_count,
		frequent_count, decl_count, entry_count;
	uint32_t line_base_stride, function_stride; /* bytes of a group */
	uint8_t block_rows, line_base_bits, frequent_bits, file_bits, line_bits, decl_bits,
		entry_bits;
	struct rsym_texts names, files;
	struct rsym_optional report, aliases, code, columns, types, shown;
	struct rsym_texts signatures;
};

enum rsym_flag {
	RSYM_HAS_DWARF = 1 << 0,   /* else names come from symbols only */
	RSYM_HAS_SYMBOLS = 1 << 1, /* a symbol table took part */
	RSYM_IS_KERNEL = 1 << 2,   /* text_base is valid */
	RSYM_HAS_SEGMENTS = 1 << 3,
};

/*
 * Validates the whole table: magic, version, bounds, checksums, and every block, row, record and
 * string decoded once. ERR_UNSUPPORTED for an unknown major version or another byte order, ERR_DATA
 * for anything damaged; *t is then undefined. p must be a multiple of 16.
 */
int rsym_open(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

/*
 * The same for bytes that rsym_open() has accepted before, as a store does with each table it
 * takes: reads the header, the directory and the heads of sections, below 1 % of the table. Damage
 * since then may give wrong answers, but no lookup leaves the bytes or runs on.
 */
int rsym_open_trusted(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

/* The i-th section of the file, of unknown ones too: 1, or 0 behind the last. For reports. */
struct rsym_section {
	uint32_t id;
	const char *name; /* "unknown" */
	uint64_t len;
};

int rsym_section(const struct rsym *t, uint32_t i, struct rsym_section *ret);

struct rsym_frame {
	uint32_t function; /* id for rsym_function() and rsym_name(); never RSYM_NONE */
	uint32_t file;     /* id for rsym_file(), or RSYM_NONE: a symbol without a line */
	uint32_t line;     /* 0: none known */
	uint32_t column;   /* 0: see rsym_columns_at() */
};

/*
 * The frames at vaddr: innermost inlined call first, the function that holds them last; a frame's
 * file and line are where it is executing, those of an outer frame are its call site. Returns their
 * number (at most cap; deeper chains lose the outermost but one), 0 when vaddr is in no function.
 * A frame chain of a line without a function (assembler with line rows, no symbol) has one frame
 * whose function has an empty name.
 */
int rsym_lookup(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap);

/*
 * Many addresses at once, the way to have them fast: sorted ones are read on from each other,
 * others have their memory fetched ahead. Works in order and stops where fewer than RSYM_FRAMES_MAX
 * places are left in frames; returns how many addresses are done. The frames of address i, as
 * rsym_lookup() gives them, are frames[ends[i - 1]] (0 for the first) to frames[ends[i] - 1].
 */
size_t rsym_lookup_batch(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			 struct rsym_frame *frames, size_t cap, uint32_t *ends);

/*
 * Where to look up what stands on a stack as a return address: one byte before it, in the call. No
 * call returns to the trampoline of a signal handler (__restore_rt of glibc, sigreturn__sigaction
 * of Go): the kernel puts the address of its first instruction there. So where no function holds
 * the byte before and one begins at the address, it is the address itself. 0 stays 0.
 */
uint64_t rsym_call_vaddr(const struct rsym *t, uint64_t return_vaddr);

struct rsym_column {
	uint32_t column, discriminator; /* 0: none known */
};

/*
 * Columns and discriminators of the first `count` frames at vaddr, in the order of rsym_lookup().
 * False, and zeros, when the table has none (they are kept by `build --columns` only). Takes a
 * microsecond or two.
 */
bool rsym_columns_at(const struct rsym *t, uint64_t vaddr, struct rsym_column *columns,
		     size_t count);

/* Up to where the table has the columns of vaddr; UINT64_MAX behind the last. For verification. */
uint64_t rsym_columns_end(const struct rsym *t, uint64_t vaddr);

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
 * Other names of the function whose entry is vaddr (as rsym_function() says it): aliases, and
 * functions with the same code that the linker folded into this one. Returns how many there are,
 * and puts up to cap of them, which are functions like others, into *functions.
 */
uint32_t rsym_function_aliases(const struct rsym *t, uint64_t vaddr, uint32_t *functions,
			       uint32_t cap);

/*
 * Appends to `out` the signature of a function as text, "int (char const *, ...)": 1, or 0 when the
 * table has none for it (they are kept by `build --types` only). Costs what rsym_name() does.
 */
int rsym_type(const struct rsym *t, uint32_t function, struct buf *out, struct err *err);

/*
 * Append to `out` the linkage name of a function (mangled, untrusted bytes, no NUL added) and the
 * path of a file. Each call sets up zstd and unpacks 16 or 32 strings: some 20 microseconds. Who
 * wants more than a few takes a struct rsym_reader.
 */
int rsym_name(const struct rsym *t, uint32_t function, struct buf *out, struct err *err);
int rsym_file(const struct rsym *t, uint32_t file, struct buf *out, struct err *err);

/*
 * Reads names and paths of one table, whose bytes must outlive it: unpacked blocks are kept, up to
 * cache_max bytes for the names and as much for the paths, so each is unpacked once while they fit.
 * Memory beside the cache: about 200 KB. One thread at a time. rsym_reader_new() gives NULL out of
 * memory; texts are valid until the next call with the same reader.
 */
struct rsym_reader;

struct rsym_reader *rsym_reader_new(const struct rsym *t, size_t cache_max, struct err *err);
void rsym_reader_free(struct rsym_reader *r);
DEFINE_FREEP(struct rsym_reader, rsym_reader_free);

int rsym_reader_name(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err);
int rsym_reader_file(struct rsym_reader *r, uint32_t file, const uint8_t **ret, size_t *ret_len,
		     struct err *err);
/* Bytes of names and paths that were unpacked so far. A name costs a block, which the table makes
 * as large as it likes (RSYM_TEXT_BLOCK_MAX): who answers strangers adds up. */
uint64_t rsym_reader_unpacked_len(const struct rsym_reader *r);

/* Its signature: 1, or 0 as rsym_type(). */
int rsym_reader_type(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err);

/* Functions of one name share this number, which is below t->function_count; RSYM_NONE for an id
 * out of range. Costs no decoding: who prints names keys their texts by it. */
uint32_t rsym_name_id(const struct rsym *t, uint32_t function);

/* Address conversion through the segments of the executable: 1 and *ret_vaddr, or 0 when file_off
 * is in no loaded segment. */
int rsym_vaddr_of_file_off(const struct rsym *t, uint64_t file_off, uint64_t *ret_vaddr);

/* The same for an offset in a section with code of a relocatable file: how loaded kernel modules
 * are known. 1, or 0 when the table has no such section (tables of linked files have none) or off
 * is behind its end. */
int rsym_vaddr_of_section(const struct rsym *t, const void *name, size_t name_len, uint64_t off,
			  uint64_t *ret_vaddr);

/* How a name is shown. */
enum rsym_shown_style {
	RSYM_SHOWN_SHORT, /* without parameters and return type */
	RSYM_SHOWN_FULL,
};

/* Appends the text of a name, or the name where it has none; false when out is full. */
typedef bool (*rsym_show_fn)(enum rsym_shown_style style, const void *name, size_t len,
			     struct buf *out);

/*
 * Appends the text that the builder made of a name (rsym_name_id()); 0: the table has none.
 * ERR_DATA, ERR_LIMIT when out is full. The fetches wait for nothing and bring it nearer: the first
 * before the second.
 */
static inline bool rsym_has_shown(const struct rsym *t)
{
	return t->shown.p != NULL;
}

int rsym_shown(const struct rsym *t, uint32_t name, enum rsym_shown_style style, struct buf *out);
void rsym_shown_fetch(const struct rsym *t, uint32_t name);
void rsym_shown_fetch_text(const struct rsym *t, uint32_t name);

#endif
