/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_H
#define RAWSTACK_RSYM_H
/*
 * The lookup table of one binary, as a reader sees it: it maps a link-time address to a chain of
 * functions, files and lines. It works on any bytes in memory (a mapped file, a value of a store),
 * reads neither ELF nor DWARF, and allocates nothing in lookups. rsym_format.h and FORMAT.md
 * describe the layout; rsym_writer.h writes tables.
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
 * it is used. It is immutable after rsym_open(), so threads may share it.
 */
#include "buf.h"
#include "build_id.h"
#include "err.h"
#include "librsym.h"
#include "limits.h"

#define RSYM_FRAMES_MAX (LIMIT_INLINE_DEPTH + 1)
#define RSYM_NONE       RSYM_TABLE_NONE /* no function, no file */

/* Sorted strings in compressed blocks; the fields belong to rsym_text.h. */
struct rsym_texts {
	const uint8_t *ends, *dictionary, *blocks;
	uint64_t blocks_len;
	uint32_t count, block_count, block_max, dictionary_len;
	uint8_t block_strings, end_bits;
};

/* An optional section; p is NULL if the table does not have it. */
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
	uint64_t node_count; /* functions and inlined calls in all blocks, copies included */
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
	RSYM_HAS_DWARF = 1 << 0,   /* DWARF was read; if not set, all names come from symbols */
	RSYM_HAS_SYMBOLS = 1 << 1, /* a symbol table was read */
	RSYM_IS_KERNEL = 1 << 2,   /* text_base is valid */
	RSYM_HAS_SEGMENTS = 1 << 3,
};

/*
 * Validates the whole table: it checks magic, version, bounds and checksums, and decodes every
 * block, row, record and string once. ERR_UNSUPPORTED for an unknown major version or another byte
 * order, ERR_DATA for a damaged table, ERR_USAGE if p is no multiple of 16, ERR_MEMORY. After an
 * error *t is undefined.
 */
int rsym_open(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

/*
 * Opens bytes that rsym_open() has accepted before; a store checks each table once, when it takes
 * it in. It reads the header, the directory and the heads of sections, less than 1 % of the table.
 * Later damage may give wrong answers, but no lookup reads outside the bytes or loops forever.
 */
int rsym_open_trusted(struct rsym *t, const void *p, size_t len, struct err *err) _must_check_;

struct rsym_section {
	uint32_t id;
	const char *name; /* "unknown" */
	uint64_t len;
};

/* Describes the i-th section of the file, known or unknown, for reports. Returns 1, or 0 if the
 * file has no more than i sections. */
int rsym_section(const struct rsym *t, uint32_t i, struct rsym_section *ret);

/*
 * Stores the frames at vaddr (struct rsym_frame is that of librsym.h): the innermost inlined call
 * first, the function that contains it last. File and line of the first frame are those of the code
 * at vaddr; those of each other frame are the site of the call that the frame before it stands for.
 * Returns the number of frames, at most cap, or 0 if vaddr is in no function. Of a longer chain the
 * first cap - 1 frames and the outermost are kept. An address that has a line but no function
 * (assembler with line rows and no symbol) has one frame, whose function has an empty name.
 */
int rsym_lookup(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap);

/*
 * Looks up many addresses, which is faster than one at a time: in a sorted list each search
 * continues from the one before, and in an unsorted list memory is prefetched for several searches
 * together. Works through the addresses in order until fewer than RSYM_FRAMES_MAX elements of
 * frames are left. Returns how many addresses are done. The frames of address i, as rsym_lookup()
 * gives them, are frames[ends[i - 1]] (frames[0] for the first address) to frames[ends[i] - 1].
 */
size_t rsym_lookup_batch(const struct rsym *t, const uint64_t *vaddrs, size_t count,
			 struct rsym_frame *frames, size_t cap, uint32_t *ends);

/*
 * Returns the address at which to look up a return address: one byte before it, inside the call.
 * The trampoline of a signal handler (__restore_rt of glibc, sigreturn__sigaction of Go) is not
 * called; the kernel pushes the address of its first instruction. So if no function holds the byte
 * before and one begins at the address, the result is the address itself. For 0 the result is 0.
 */
uint64_t rsym_call_vaddr(const struct rsym *t, uint64_t return_vaddr);

/*
 * Stores the columns and discriminators of the first `count` frames at vaddr, in the order of
 * rsym_lookup(). Returns false and stores zeros if the table has none (only `build --columns` keeps
 * them). Takes a microsecond or two.
 */
bool rsym_columns_at(const struct rsym *t, uint64_t vaddr, struct rsym_column *columns,
		     size_t count);

/* Returns the address where the columns of vaddr end, or UINT64_MAX behind the last row. For
 * verification. */
uint64_t rsym_columns_end(const struct rsym *t, uint64_t vaddr);

/* Stores the half-open range of addresses with the same answer as vaddr. Returns 1, or 0 if vaddr
 * is in a gap; the range is then the gap. For verification and caches. */
int rsym_range(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

struct rsym_function {
	uint64_t vaddr;      /* address of the entry; 0 for a function that exists only inlined */
	uint32_t start_line; /* of its declaration, 0: unknown */
	uint32_t file;       /* of its declaration, or RSYM_NONE */
	bool from_symbol;    /* a symbol names it; DWARF does not describe it */
	bool has_entry;      /* vaddr is valid */
};

/* Describes a function, whose id is any number below t->function_count; ERR_USAGE for other
 * numbers. */
int rsym_function(const struct rsym *t, uint32_t function, struct rsym_function *ret,
		  struct err *err);

/*
 * Finds the other names of the function whose entry is vaddr (the one in struct rsym_function):
 * aliases, and functions with the same code that the linker folded into this one. They are
 * functions like others; the ids of up to cap of them are stored in *functions. Returns how many
 * there are.
 */
uint32_t rsym_function_aliases(const struct rsym *t, uint64_t vaddr, uint32_t *functions,
			       uint32_t cap);

/* Appends to `out` the signature of a function as text, "int (char const *, ...)". Returns 1, or 0
 * if the table has none for it (only `build --types` keeps them). Costs what rsym_name() does. */
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
 * to cache_max bytes for names and as much for paths; the reader takes about 200 KB besides. Only
 * one thread at a time may use it. rsym_reader_new() returns NULL if memory is out. Texts are valid
 * until the next call with the same reader.
 */
struct rsym_reader;

struct rsym_reader *rsym_reader_new(const struct rsym *t, size_t cache_max, struct err *err);
void rsym_reader_free(struct rsym_reader *r);
DEFINE_FREEP(struct rsym_reader, rsym_reader_free);

int rsym_reader_name(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err);
int rsym_reader_file(struct rsym_reader *r, uint32_t file, const uint8_t **ret, size_t *ret_len,
		     struct err *err);
/*
 * Returns how many bytes of names and paths were unpacked so far. A name costs a whole block, which
 * a hostile table can make as large as RSYM_TEXT_BLOCK_MAX, so a server that takes untrusted tables
 * limits this sum.
 */
uint64_t rsym_reader_unpacked_len(const struct rsym_reader *r);

/* Reads the signature of a function. Returns 1, or 0 as rsym_type() does. */
int rsym_reader_type(struct rsym_reader *r, uint32_t function, const uint8_t **ret, size_t *ret_len,
		     struct err *err);

/*
 * Returns the number of a function's name, which is below t->function_count and shared by all
 * functions of that name, or RSYM_NONE for an id out of range. It decodes nothing, so the number
 * serves as the key of a cache of names.
 */
uint32_t rsym_name_id(const struct rsym *t, uint32_t function);

/* Converts a file offset to an address by the segments of the executable. Returns 1, or 0 if
 * file_off is in no loaded segment. */
int rsym_vaddr_of_file_off(const struct rsym *t, uint64_t file_off, uint64_t *ret_vaddr);

/*
 * Converts an offset in a code section of a relocatable file, which is how addresses in loaded
 * kernel modules are given. Returns 1, or 0 if the table has no such section (a linked file has
 * none) or off is behind its end.
 */
int rsym_vaddr_of_section(const struct rsym *t, const void *name, size_t name_len, uint64_t off,
			  uint64_t *ret_vaddr);

/* The style in which a name is shown. */
enum rsym_shown_style {
	RSYM_SHOWN_SHORT, /* without parameters and return type */
	RSYM_SHOWN_FULL,
};

/* Appends the demangled text of a name, or the name itself if it has none. Returns false if out is
 * full. */
typedef bool (*rsym_show_fn)(enum rsym_shown_style style, const void *name, size_t len,
			     struct buf *out);

/* Returns whether the table has the texts that rsym_shown() gives. */
static inline bool rsym_has_shown(const struct rsym *t)
{
	return t->shown.p != NULL;
}

/*
 * Appends the text that the builder made of a name, given by its number (rsym_name_id()). Returns
 * 1, or 0 if the table has no such texts. ERR_DATA; ERR_LIMIT if out is full. rsym_shown_fetch()
 * and, after it, rsym_shown_fetch_text() only prefetch the memory that this reads.
 */
int rsym_shown(const struct rsym *t, uint32_t name, enum rsym_shown_style style, struct buf *out);
void rsym_shown_fetch(const struct rsym *t, uint32_t name);
void rsym_shown_fetch_text(const struct rsym *t, uint32_t name);

#endif
