/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBRSYM_H
#define LIBRSYM_H
/*
 * librsym: asks Rawstack's symbol lookup tables (rsym(5)), which rawstack-gsym-build(1) makes of
 * debug files. A table answers a link-time address with the chain of functions, files and lines
 * there, inlined calls included, in some hundred nanoseconds. The library reads no ELF and no
 * DWARF, opens no file but the table, prints nothing, starts no thread and needs only zstd.
 *
 *	struct rsym_error error;
 *	struct rsym_table *table;
 *	struct rsym_frame frames[RSYM_TABLE_FRAMES_MAX];
 *
 *	if (rsym_table_open_file(&table, "prog.rsym", &error))
 *		errx(1, "%s", error.message);
 *	n = rsym_table_lookup(table, vaddr, frames, RSYM_TABLE_FRAMES_MAX);
 *
 * Tables are not trusted. Opening one decodes all of it once and refuses what is damaged; lookups
 * afterwards stay inside the table and end, whatever it holds.
 *
 * Errors: functions that return int return 0 or, where a header comment says so, 1 on success, and
 * one of enum rsym_error_code, which is negative, on failure. `error` may be NULL.
 *
 * Threads: a struct rsym_table does not change after it was opened, and any number of threads may
 * use it. A struct rsym_names belongs to one thread at a time.
 *
 * Stability: functions, structures and numbers here keep their meaning within soname 0 of the
 * library. Structures that the library fills may grow at their end; their callers pass the size
 * that they were compiled with.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Instead of the number of a function or of a file: there is none. */
#define RSYM_TABLE_NONE       UINT32_MAX
/* No chain has more frames. */
#define RSYM_TABLE_FRAMES_MAX 513

enum rsym_error_code {
	RSYM_ERROR_USAGE = -1, /* an argument is wrong */
	RSYM_ERROR_DATA = -2,  /* no table, or a damaged one */
	RSYM_ERROR_UNSUPPORTED =
		-3,                /* a table of a later major version, or of another byte order */
	RSYM_ERROR_LIMIT = -4,     /* a text is longer than a limit of this library */
	RSYM_ERROR_NOT_FOUND = -5, /* there is no such file */
	RSYM_ERROR_IO = -7,        /* the system cannot open, read or map it */
	RSYM_ERROR_MEMORY = -8,    /* memory is out */
	RSYM_ERROR_DENIED = -10,   /* the system does not permit it */
};

/* One line of text without a newline; bytes of strangers in it are made printable. */
struct rsym_error {
	int code;
	char message[480];
};

/* --- tables ---------------------------------------------------------------------------------- */

struct rsym_table;

/*
 * Opens a table file, maps it and validates it whole: some ten milliseconds for each MB. *ret is to
 * be closed by the caller. The file must be a regular one, and nobody may write into it or truncate
 * it while it is open (replacing it by rename() is harmless): reading behind the end of a truncated
 * file ends the process by SIGBUS, and changed bytes may give wrong answers.
 */
int rsym_table_open_file(struct rsym_table **ret, const char *path, struct rsym_error *error);

/* Opens a table in memory and validates it. `bytes` is borrowed: it stays unchanged, and where it
 * is, until the table is closed. It is a multiple of 16. */
int rsym_table_open_bytes(struct rsym_table **ret, const void *bytes, size_t len,
			  struct rsym_error *error);

/* Closes a table; NULL is accepted. The struct rsym_names of the table are freed before. */
void rsym_table_close(struct rsym_table *table);

enum rsym_table_flag {
	RSYM_TABLE_HAS_DWARF = 1 << 0, /* else all names are those of symbols */
	RSYM_TABLE_HAS_SYMBOLS = 1 << 1,
	RSYM_TABLE_IS_KERNEL = 1 << 2,     /* text_vaddr is valid */
	RSYM_TABLE_HAS_SEGMENTS = 1 << 3,  /* rsym_table_vaddr_of_file_offset() works */
	RSYM_TABLE_HAS_COLUMNS = 1 << 8,   /* rsym_table_columns() works */
	RSYM_TABLE_HAS_TYPES = 1 << 9,     /* rsym_names_type() works */
	RSYM_TABLE_HAS_READABLE = 1 << 10, /* rsym_names_readable() works */
};

struct rsym_table_info {
	uint8_t build_id[64]; /* of the binary; compare it with that of what is running */
	uint32_t build_id_len;
	uint32_t is_file_hash;   /* 1: not a GNU build id, but a hash of a file that has none */
	uint64_t generation;     /* a hash of the content: equal tables have an equal number */
	uint64_t text_vaddr;     /* link-time address of the kernel's _text */
	uint64_t range_count;    /* address ranges with answers of their own */
	uint32_t flags;          /* enum rsym_table_flag */
	uint32_t function_count; /* functions have the numbers below it */
	uint32_t file_count;     /* files likewise */
	uint32_t reserved;
};

/* Describes a table. ret_len is sizeof(*ret); members that this library does not know become 0. */
void rsym_table_info(const struct rsym_table *table, struct rsym_table_info *ret, size_t ret_len);

/* --- lookups --------------------------------------------------------------------------------- */

struct rsym_frame {
	uint32_t function; /* never RSYM_TABLE_NONE */
	uint32_t file;     /* or RSYM_TABLE_NONE */
	uint32_t line;     /* 0: unknown */
	uint32_t column;   /* 0 after a lookup; see rsym_table_columns() */
};

/*
 * Stores the frames at a link-time address: the innermost inlined call first, the function that
 * contains it last. The first frame has the file and line of the code at vaddr, each other frame
 * those of the call that the frame before it stands for. Returns the number of frames, at most cap,
 * or 0 if no function is there. Of a longer chain the first cap - 1 frames and the outermost are
 * kept.
 */
int rsym_table_lookup(const struct rsym_table *table, uint64_t vaddr, struct rsym_frame *frames,
		      size_t cap);

/*
 * Looks up many addresses, faster than one at a time, and fastest if they are sorted. It works
 * through them in order until fewer than RSYM_TABLE_FRAMES_MAX elements of frames are left, and
 * returns how many it has done. The frames of address i are frames[i ? ends[i - 1] : 0] to
 * frames[ends[i] - 1].
 */
size_t rsym_table_lookup_many(const struct rsym_table *table, const uint64_t *vaddrs, size_t count,
			      struct rsym_frame *frames, size_t cap, uint32_t *ends);

/* Returns the address to look up for a return address of a stack: one byte before it, in the call,
 * unless that byte is in no function and one begins at the address (a signal trampoline). */
uint64_t rsym_table_call_vaddr(const struct rsym_table *table, uint64_t return_vaddr);

/* Stores the half-open range of addresses around vaddr with the same answer, for callers that cache
 * answers. Returns 1, or 0 if vaddr is in no function; the range is then the gap. */
int rsym_table_range(const struct rsym_table *table, uint64_t vaddr, uint64_t *ret_start,
		     uint64_t *ret_end);

/* Converts an offset in the file of the executable (pc - start of the mapping + its file offset) to
 * a link-time address. Returns 1, or 0 if no segment was loaded from there. */
int rsym_table_vaddr_of_file_offset(const struct rsym_table *table, uint64_t file_offset,
				    uint64_t *ret_vaddr);

/* Converts an offset in a section of a relocatable file, such as a kernel module. Returns 1, or 0
 * if the table knows no such section or the offset is behind its end. */
int rsym_table_vaddr_of_section(const struct rsym_table *table, const char *section,
				uint64_t offset, uint64_t *ret_vaddr);

struct rsym_column {
	uint32_t column, discriminator; /* 0: unknown */
};

/* Stores the columns of the first `count` frames at vaddr. Returns 1, or 0 and zeros if the table
 * keeps none. */
int rsym_table_columns(const struct rsym_table *table, uint64_t vaddr, struct rsym_column *columns,
		       size_t count);

struct rsym_table_function {
	uint64_t vaddr;      /* of its entry, if has_entry */
	uint32_t start_line; /* of its declaration; 0: unknown */
	uint32_t file;       /* of its declaration, or RSYM_TABLE_NONE */
	uint32_t has_entry;  /* 0: it exists only inlined */
	uint32_t is_symbol;  /* 1: a symbol names it, and debug information does not describe it */
};

/* Describes the function of a number below function_count; ret_len is sizeof(*ret).
 * RSYM_ERROR_USAGE for other numbers. */
int rsym_table_function(const struct rsym_table *table, uint32_t function,
			struct rsym_table_function *ret, size_t ret_len, struct rsym_error *error);

/* Stores up to cap numbers of functions that have the same entry: aliases, and functions with equal
 * code that a linker folded into one. Returns how many there are. */
uint32_t rsym_table_aliases(const struct rsym_table *table, uint64_t entry_vaddr,
			    uint32_t *functions, uint32_t cap);

/* --- names ----------------------------------------------------------------------------------- */

/*
 * Unpacks names and paths, which a table keeps compressed, and caches what it unpacked: up to
 * cache_max bytes of names and as many of paths, besides some 200 KB. Texts are bytes of whoever
 * made the debug file: they may hold anything, control characters and ill-formed UTF-8 too, and
 * *ret_len counts them; no NUL follows. They are valid until the next call with the same
 * struct rsym_names.
 */
struct rsym_names;

/* Returns 0 and *ret, to be freed by the caller before the table is closed; RSYM_ERROR_MEMORY. */
int rsym_names_new(struct rsym_names **ret, const struct rsym_table *table, size_t cache_max,
		   struct rsym_error *error);
void rsym_names_free(struct rsym_names *names);

/* The linkage name of a function, mangled if its language does that; empty for code that has lines
 * and no name. RSYM_ERROR_USAGE for a number of no function. */
int rsym_names_function(struct rsym_names *names, uint32_t function, const char **ret,
			size_t *ret_len, struct rsym_error *error);

/* The path of a file; empty for RSYM_TABLE_NONE. */
int rsym_names_file(struct rsym_names *names, uint32_t file, const char **ret, size_t *ret_len,
		    struct rsym_error *error);

enum rsym_names_style {
	RSYM_NAMES_SHORT = 0, /* without parameters and return type */
	RSYM_NAMES_FULL = 1,
};

/* The name of a function as people read it. Returns 1, or 0 and the linkage name if the table has
 * no such names (`rawstack-gsym-build build --demangled` makes them). */
int rsym_names_readable(struct rsym_names *names, uint32_t function, enum rsym_names_style style,
			const char **ret, size_t *ret_len, struct rsym_error *error);

/* Gets what a function returns and takes, "int (char const *, ...)". Returns 1, or 0 and an empty
 * text if the table does not say (`build --types` keeps it). */
int rsym_names_type(struct rsym_names *names, uint32_t function, const char **ret, size_t *ret_len,
		    struct rsym_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
