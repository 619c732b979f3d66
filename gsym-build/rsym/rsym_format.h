/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_FORMAT_H
#define RAWSTACK_RSYM_FORMAT_H
/*
 * The bytes of a table file, for its reader and its writer only; FORMAT.md describes each of them
 * and says why. Little-endian. A file is
 *
 *	header | directory: one entry per section | sections, each on a multiple of RSYM_ALIGN
 *
 * padded with zeros to at least RSYM_FILE_MIN bytes. A reader skips sections of unknown id and
 * refuses another major version.
 */
#include <stddef.h>
#include <stdint.h>

#define RSYM_MAGIC      "\x89RSYM\r\n\x1a" /* not text, and damaged by text-mode copies */
#define RSYM_BYTE_ORDER 0x01020304u

enum {
	RSYM_MAJOR = 3, /* a reader of another major cannot read the file */
	RSYM_MINOR = 0, /* grows when sections are added that a reader may skip */
	RSYM_ALIGN = 64,
	RSYM_FILE_MIN = 4096,
	RSYM_SECTIONS_MAX = 1024,
	/* Padding bytes behind the last section: a packed number is read by up to two loads of 8
	 * bytes. */
	RSYM_PAD = 16,
};

struct rsym_disk_header {
	uint8_t magic[8];
	uint32_t byte_order;
	uint16_t major, minor;
	uint64_t file_len; /* of the whole file, padding included */
	uint64_t generation;
	uint64_t text_base;
	uint32_t flags; /* enum rsym_flag; unknown bits are ignored */
	uint32_t section_count;
	uint8_t id_kind, id_len; /* enum build_id_kind */
	uint8_t reserved[6];     /* zero */
	uint8_t id[64];
	uint32_t directory_crc; /* CRC-32C of the directory */
	uint32_t header_crc;    /* CRC-32C of the bytes above */
};

struct rsym_disk_entry {
	uint32_t id;
	uint32_t crc; /* CRC-32C of the section */
	uint64_t off; /* from the start of the file */
	uint64_t len;
};

enum rsym_section_id {
	RSYM_SECTION_SHAPE = 1, /* struct rsym_disk_shape */
	RSYM_SECTION_SPANS = 2, /* struct rsym_disk_span, rising */
	RSYM_SECTION_LEAF_INDEX =
		3, /* u32, for each span: starts of leaves, then the first leaf of each part */
	RSYM_SECTION_LEAVES = 4,     /* struct rsym_disk_leaf */
	RSYM_SECTION_BLOCKS = 5,     /* packed rows and nodes */
	RSYM_SECTION_LINE_BASES = 6, /* groups of RSYM_GROUP */
	RSYM_SECTION_BASES = 7,      /* struct rsym_disk_base, rising by line base */
	RSYM_SECTION_FREQUENT = 8,   /* u32: line bases */
	RSYM_SECTION_FUNCTIONS = 9,  /* groups of RSYM_GROUP */
	RSYM_SECTION_DECLS = 10,     /* struct rsym_disk_decl, rising by function */
	RSYM_SECTION_ENTRIES = 11,   /* packed addresses */
	RSYM_SECTION_NAMES = 12,     /* a text pool */
	RSYM_SECTION_FILES = 13,     /* a text pool */
	RSYM_SECTION_SEGMENTS = 14,  /* struct rsym_disk_segment, may be empty */
	RSYM_SECTION_KNOWN = 15,

	/* Sections from here on are optional; a reader may skip them. */
	RSYM_SECTION_OPTIONAL = 32, /* the first id */
	RSYM_SECTION_COLUMNS = 32,  /* struct rsym_disk_columns, index, chains, rows */
	RSYM_SECTION_TYPES = 34,    /* u64 count, packed by function, a text pool */
	RSYM_SECTION_ALIASES = 35,  /* u32 count, packed functions by entry */
	RSYM_SECTION_REPORT = 36,   /* struct rsym_disk_report, then text */
	RSYM_SECTION_CODE = 37,     /* u64 count, struct rsym_disk_code by name, names */
	RSYM_SECTION_SHOWN = 38,    /* u32 count, zero, u32 ends of blocks, texts */
	RSYM_SECTION_END = 40,
};

/* Counts and widths of everything packed. */
struct rsym_disk_shape {
	uint64_t row_count;
	uint64_t node_count; /* in all blocks, copies included */
	uint64_t entry_base; /* lowest entry of a function */
	uint32_t line_base_count;
	uint32_t function_count;
	uint32_t entry_count;
	uint8_t block_rows;     /* of a full block: 64 or 128 */
	uint8_t line_base_bits; /* a line base, in a node */
	uint8_t frequent_bits;  /* an index into FREQUENT, in a node */
	uint8_t file_bits;      /* a file, in a line base; the count of files means none */
	uint8_t line_bits;      /* a lowest line, in a line base; all ones: look into BASES */
	uint8_t decl_bits; /* lowest line - declaration, in a function; all ones: look into DECLS */
	uint8_t entry_bits;  /* entry - entry_base, in ENTRIES */
	uint8_t reserved[5]; /* zero */
};

/* The addresses base .. base + last, which are less than 4 GiB apart. All deltas are relative to
 * base. */
struct rsym_disk_span {
	uint64_t base; /* first address of the first row */
	uint32_t last; /* delta of the last row */
	uint32_t leaf_first, leaf_count;
	uint32_t leaf_index_first;
};

enum {
	RSYM_LEAF_STARTS_AT_ONCE = 8, /* how many starts of leaves are compared at once */
	RSYM_LEAF_BLOCKS = 14,
	RSYM_LEAF_FAR = UINT16_MAX,
	RSYM_GROUP = 64,
	RSYM_ROWS_MAX = 128,
	RSYM_LINE_BASE_BITS_MAX = 57, /* of a file and a line together, which one load reads */
	RSYM_NODES_MAX = 1023,        /* in a block; 10 bits hold an index or "none" */
};

/*
 * Fourteen blocks in one cache line. starts[i] and ends[i] are the address and the offset where
 * block i ends and the next one begins, relative to `start` and `off`. Unused places hold
 * RSYM_LEAF_FAR; so does the last used start when the next leaf is farther away.
 */
struct rsym_disk_leaf {
	uint32_t start; /* delta of the first row */
	uint32_t off;   /* of the first block in BLOCKS */
	uint16_t starts[RSYM_LEAF_BLOCKS];
	uint16_t ends[RSYM_LEAF_BLOCKS];
};

/* The head of a group of line bases. Their packed records (file, lowest line) follow it. */
struct rsym_disk_line_bases {
	uint32_t functions_before;      /* bits of `first` set before this group */
	uint32_t first_low, first_high; /* a bit for each line base that begins a function */
};

/* The head of a group of functions. Their packed records follow it. */
struct rsym_disk_functions {
	uint32_t names_before, entries_before;
	uint64_t name;   /* a bit for each function that begins a name */
	uint64_t entry;  /* a bit for each function that has an address */
	uint64_t symbol; /* a bit for each function that a symbol names */
};

struct rsym_disk_base {
	uint32_t line_base, line;
};

struct rsym_disk_decl {
	uint32_t function, file, line;
};

/* The head of a text pool, which holds sorted strings in blocks. It is followed by the ends of the
 * blocks (packed, padded to whole bytes), the dictionary, and the blocks. */
struct rsym_disk_texts {
	uint32_t count; /* strings */
	uint32_t dictionary_len;
	uint32_t block_max;    /* bytes of the largest block, unpacked */
	uint8_t block_strings; /* of a full block */
	uint8_t end_bits;
	uint8_t reserved[2]; /* zero */
};

/* A PT_LOAD of the executable. */
struct rsym_disk_segment {
	uint64_t vaddr, mem_len;
	uint64_t file_off, file_len;
	uint32_t flags; /* PF_X = 1, PF_W = 2, PF_R = 4 (System V gABI "Program Header") */
	uint32_t reserved;
};

/* A report of what the build read. Notes on what it could not read follow, each of three
 * NUL-terminated strings. */
struct rsym_disk_report {
	uint64_t input_len;
	uint64_t unit_count, units_skipped;
	uint64_t symbol_count, inline_count;
	uint64_t relocations_skipped;
	uint32_t note_count; /* the notes take at most LIMIT_SKIPPED_LEN bytes */
	uint32_t flags;      /* 1: names lie in a dwz file that was not there */
};

/* A code section of a relocatable file. */
struct rsym_disk_code {
	uint64_t vaddr, len;
	uint32_t name_at,
		name_len; /* offset in the names, which follow the last of these structs */
};

enum {
	RSYM_COLUMNS_ROWS = 64, /* rows of a full block */
};

/* The head of the section of columns. The index of blocks, the chains, and the rows follow it. */
struct rsym_disk_columns {
	uint32_t row_count, chain_count;
};

struct rsym_disk_columns_block {
	uint64_t vaddr; /* of the first row */
	uint32_t off;   /* where its rows begin, in the rows */
	uint32_t reserved;
};

/* A chain of column words. Chains are numbered from 1. */
struct rsym_disk_chain {
	uint32_t around;      /* the chain of the outer frames: a lower number, or 0 */
	uint32_t column_word; /* column in the low 16 bits, discriminator above */
};

#define RSYM_DISK_NONE UINT32_MAX

_Static_assert(sizeof(struct rsym_disk_header) == 128, "layout");
_Static_assert(offsetof(struct rsym_disk_header, generation) == 24, "layout");
_Static_assert(offsetof(struct rsym_disk_header, id) == 56, "layout");
_Static_assert(offsetof(struct rsym_disk_header, header_crc) == 124, "layout");
_Static_assert(sizeof(struct rsym_disk_entry) == 24, "layout");
_Static_assert(sizeof(struct rsym_disk_shape) == 48, "layout");
_Static_assert(offsetof(struct rsym_disk_shape, block_rows) == 36, "layout");
_Static_assert(sizeof(struct rsym_disk_span) == 24, "layout");
_Static_assert(sizeof(struct rsym_disk_leaf) == 64, "layout");
_Static_assert(sizeof(struct rsym_disk_line_bases) == 12, "layout");
_Static_assert(sizeof(struct rsym_disk_functions) == 32, "layout");
_Static_assert(sizeof(struct rsym_disk_base) == 8, "layout");
_Static_assert(sizeof(struct rsym_disk_decl) == 12, "layout");
_Static_assert(sizeof(struct rsym_disk_texts) == 16, "layout");
_Static_assert(sizeof(struct rsym_disk_segment) == 40, "layout");
_Static_assert(sizeof(struct rsym_disk_report) == 56, "layout");
_Static_assert(sizeof(struct rsym_disk_code) == 24, "layout");
_Static_assert(sizeof(struct rsym_disk_columns) == 8, "layout");
_Static_assert(sizeof(struct rsym_disk_columns_block) == 16, "layout");
_Static_assert(sizeof(struct rsym_disk_chain) == 8, "layout");

#endif
