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

/* Filled by rsym_open(). Callers may read the members above the line; the others are private. */
struct rsym {
	const uint8_t *p;
	size_t len;
	struct build_id id;
	uint64_t generation; /* a hash of the content: equal bytes have an equal number */
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
	uint32_t line_base_stride, function_stride; /* bytes from one group to the next */
	uint8_t block_rows, line_base_bits, frequent_bits, file_bits, line_bits, decl_bits,
		entry_bits;
	struct rsym_texts names, files;
	struct rsym_optional report, aliases, code, columns, types, shown;
	struct rsym_texts signatures;
};

enum rsym_flag {
	RSYM_HAS_DWARF = 1 << 0,   /* if not set, names come from symbols only */
	RSYM_HAS_SYMBOLS = 1 << 1, /* a symbol table took part */
	RSYM_IS_KERNEL = 1 << 2,   /* text_base is valid */
	RSYM_HAS_SEGMENTS = 1 << 3,
};

/*
 * Validates the whole table: magic, version, bounds and checksums; and it decodes every block, row,
 * record and string once. ERR_UNSUPPORTED for an unknown major version or another byte order,
 * ERR_DATA for anything damaged; *t is then undefined. p must be a multiple of 16.
 */
int rsym_open(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

/*
 * Opens bytes that rsym_open() has accepted before; a store checks each table once, when it takes
 * it in. Reads the header, the directory and the heads of sections, less than 1 % of the table.
 * Later damage may give wrong answers, but no lookup reads outside the bytes or loops.
 */
int rsym_open_trusted(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

/* The i-th section of the file, including unknown ones: 1, or 0 behind the last. For reports. */
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
 * Looks up many addresses at once, which is faster: a sorted list continues from one address to the
 * next, an unsorted one is prefetched. Works in order and stops when fewer than RSYM_FRAMES_MAX
 * places are left in frames; returns how many addresses are done. The frames of address i, as
 * rsym_lookup() gives them, are frames[ends[i - 1]] (0 for the first) to frames[ends[i] - 1].
 */
size_t rsym_lookup_batch(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			 struct rsym_frame *frames, size_t cap, uint32_t *ends);

/*
 * The address at which to look up a return address: one byte before it, inside the call. The
 * trampoline of a signal handler (__restore_rt of glibc, sigreturn__sigaction of Go) is not called;
 * the kernel pushes the address of its first instruction. So if no function holds the byte before
 * and one begins at the address, the result is the address itself. 0 gives 0.
 */
uint64_t rsym_call_vaddr(const struct rsym *t, uint64_t return_vaddr);

struct rsym_column {
	uint32_t column, discriminator; /* 0: none known */
};

/*
 * Gives the columns and discriminators of the first `count` frames at vaddr, in the order of
 * rsym_lookup(). False, and zeros, when the table has none (they are kept by `build --columns`
 * only). Takes a microsecond or two.
 */
bool rsym_columns_at(const struct rsym *t, uint64_t vaddr, struct rsym_column *columns,
		     size_t count);

/* The address where the columns of vaddr end; UINT64_MAX behind the last row. For verification. */
uint64_t rsym_columns_end(const struct rsym *t, uint64_t vaddr);

/* The half-open range of addresses with the same answer as vaddr. 1; 0 when vaddr is in a gap,
 * which is then the range. For verification and caches. */
int rsym_range(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

struct rsym_function {
	uint64_t vaddr;      /* address of the entry; 0 for a function that exists only inlined */
	uint32_t start_line; /* of its declaration, 0: unknown */
	uint32_t file;       /* of its declaration, or RSYM_NONE */
	bool from_symbol;    /* a symbol names it; DWARF does not describe it */
	bool has_entry;      /* vaddr is valid */
};

/* Any number below t->function_count is a valid id; for other numbers ERR_USAGE. */
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
 * path of a file. Each call sets up zstd and unpacks 16 or 32 strings, about 20 microseconds. Use a
 * struct rsym_reader for more than a few.
 */
int rsym_name(const struct rsym *t, uint32_t function, struct buf *out, struct err *err);
int rsym_file(const struct rsym *t, uint32_t file, struct buf *out, struct err *err);

/*
 * Reads names and paths of one table, whose bytes must outlive it. Unpacked blocks are cached, up
 * to cache_max bytes for names and as much for paths. The reader takes about 200 KB besides. One
 * thread at a time. rsym_reader_new() returns NULL when memory is out. Texts are valid until the
 * next call with the same reader.
 */
struct rsym_reader;

struct rsym_reader *rsym_reader_new(const struct rsym *t, size_t cache_max, struct err *err);
void rsym_reader_free(struct rsym_reader *r);
DEFINE_FREEP(struct rsym_reader, rsym_reader_free);

int rsym_reader_name(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err);
int rsym_reader_file(struct rsym_reader *r, uint32_t file, const uint8_t **ret, size_t *ret_len,
		     struct err *err);
/* Bytes of names and paths unpacked so far. A name costs a whole block, which a hostile table can
 * make as large as RSYM_TEXT_BLOCK_MAX, so a server that takes untrusted tables limits this sum. */
uint64_t rsym_reader_unpacked_len(const struct rsym_reader *r);

/* The signature of a function: 1, or 0 as for rsym_type(). */
int rsym_reader_type(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err);

/* The number of a name, below t->function_count, shared by all functions of that name; RSYM_NONE
 * for an id out of range. It decodes nothing, so it serves as the key of a cache of names. */
uint32_t rsym_name_id(const struct rsym *t, uint32_t function);

/* Converts a file offset by the segments of the executable. 1 and *ret_vaddr, or 0 when file_off is
 * in no loaded segment. */
int rsym_vaddr_of_file_off(const struct rsym *t, uint64_t file_off, uint64_t *ret_vaddr);

/*
 * Converts an offset in a code section of a relocatable file, which is how addresses in loaded
 * kernel modules are given. 1; 0 when the table has no such section (a linked file has none) or off
 * is behind its end.
 */
int rsym_vaddr_of_section(const struct rsym *t, const void *name, size_t name_len, uint64_t off,
			  uint64_t *ret_vaddr);

/* The style in which a name is shown. */
enum rsym_shown_style {
	RSYM_SHOWN_SHORT, /* without parameters and return type */
	RSYM_SHOWN_FULL,
};

/* Appends the text of a name, or the name itself if it has none; false when out is full. */
typedef bool (*rsym_show_fn)(enum rsym_shown_style style, const void *name, size_t len,
			     struct buf *out);

/*
 * Appends the text that the builder made of a name (rsym_name_id()); 0: the table has none.
 * ERR_DATA; ERR_LIMIT when out is full. The two fetch functions only prefetch memory for it; call
 * the first one first.
 */
static inline bool rsym_has_shown(const struct rsym *t)
{
	return t->shown.p != NULL;
}

int rsym_shown(const struct rsym *t, uint32_t name, enum rsym_shown_style style, struct buf *out);
void rsym_shown_fetch(const struct rsym *t, uint32_t name);
void rsym_shown_fetch_text(const struct rsym *t, uint32_t name);

#endif
