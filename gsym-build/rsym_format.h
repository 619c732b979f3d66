/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_FORMAT_H
#define RAWSTACK_RSYM_FORMAT_H
/*
 * The bytes of a table file, for its reader and its writer only; FORMAT.md says why they are so.
 * Little-endian, naturally aligned, no hidden padding. A file is
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
	RSYM_MAJOR = 1, /* a reader of another major cannot read the file */
	RSYM_MINOR = 0, /* sections were added that a reader may skip */
	RSYM_ALIGN = 16,
	RSYM_FILE_MIN = 4096,
	RSYM_SECTIONS_MAX = 1024,
};

struct rsym_disk_header {
	uint8_t magic[8];
	uint32_t byte_order;
	uint16_t major, minor;
	uint64_t file_len; /* all of it, padding included */
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

/* Ids below 16 fit struct rsym.sections. Reserved: 9 columns, 10 discriminators, 11 type
 * signatures, 12 aliases. */
enum rsym_section_id {
	RSYM_SECTION_STARTS = 1,      /* u64, strictly rising: first address of each range */
	RSYM_SECTION_ROWS = 2,        /* struct rsym_disk_row, one per start; the last is a gap */
	RSYM_SECTION_NODES = 3,       /* struct rsym_disk_node */
	RSYM_SECTION_FUNCTIONS = 4,   /* struct rsym_disk_function */
	RSYM_SECTION_FILES = 5,       /* struct rsym_disk_file */
	RSYM_SECTION_STRING_ENDS = 6, /* u32, never falling: end of each string in STRINGS */
	RSYM_SECTION_STRINGS = 7,     /* bytes, no NUL between them */
	RSYM_SECTION_SEGMENTS = 8,    /* struct rsym_disk_segment, may be absent */
	RSYM_SECTION_KNOWN = 9,
};

/* No node, no file, no parent. */
#define RSYM_DISK_NONE UINT32_MAX

struct rsym_disk_row {
	uint32_t node; /* RSYM_DISK_NONE: no answer here */
	uint32_t file;
	uint32_t line;
};

/* One function or inlined call with all that holds it. A parent stands before its children. */
struct rsym_disk_node {
	uint32_t parent;
	uint32_t function;
	uint32_t call_file, call_line; /* of this call in the parent; none and 0 without a parent */
	uint32_t depth;                /* parents above it, at most LIMIT_INLINE_DEPTH */
};

enum rsym_disk_function_flag {
	RSYM_FUNCTION_HAS_ENTRY = 1 << 0,
	RSYM_FUNCTION_FROM_SYMBOL = 1 << 1,
};

struct rsym_disk_function {
	uint64_t vaddr;
	uint32_t name; /* string */
	uint32_t file;
	uint32_t start_line;
	uint32_t flags;
};

/* The path is dir, a '/' unless dir is empty or ends in one, and base. */
struct rsym_disk_file {
	uint32_t dir, base; /* strings */
};

/* A PT_LOAD of the executable. */
struct rsym_disk_segment {
	uint64_t vaddr, mem_len;
	uint64_t file_off, file_len;
	uint32_t flags; /* PF_X = 1, PF_W = 2, PF_R = 4 (System V gABI "Program Header") */
	uint32_t reserved;
};

_Static_assert(sizeof(struct rsym_disk_header) == 128, "layout");
_Static_assert(offsetof(struct rsym_disk_header, generation) == 24, "layout");
_Static_assert(offsetof(struct rsym_disk_header, id) == 56, "layout");
_Static_assert(offsetof(struct rsym_disk_header, header_crc) == 124, "layout");
_Static_assert(sizeof(struct rsym_disk_entry) == 24, "layout");
_Static_assert(sizeof(struct rsym_disk_row) == 12, "layout");
_Static_assert(sizeof(struct rsym_disk_node) == 20, "layout");
_Static_assert(sizeof(struct rsym_disk_function) == 24, "layout");
_Static_assert(sizeof(struct rsym_disk_file) == 8, "layout");
_Static_assert(sizeof(struct rsym_disk_segment) == 40, "layout");

#endif
