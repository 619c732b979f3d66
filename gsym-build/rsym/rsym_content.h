/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_CONTENT_H
#define RAWSTACK_RSYM_CONTENT_H
/*
 * The content of a table, as it passes between the stages of the writer: rsym_writer.c collects it
 * and puts ids into their final order, rsym_line_bases.c makes line bases of it, and rsym_pack.c
 * makes blocks.
 */
#include "rsym.h"

/* Ids in these structs are RSYM_NONE if there is none. */
struct rsym_content_function {
	uint64_t vaddr; /* 0 without an entry */
	uint32_t name;
	uint32_t file, line;
	uint32_t flags; /* RSYM_FUNCTION_... */
	uint32_t type;  /* id of a signature in the writer */
	uint32_t zero;  /* padding, because the struct is hashed as bytes */
};

enum {
	RSYM_FUNCTION_HAS_ENTRY = 1 << 0,
	RSYM_FUNCTION_FROM_SYMBOL = 1 << 1,
};

/* A parent stands before its children. */
struct rsym_content_node {
	uint32_t parent;
	uint32_t function;
	uint32_t call_file, call_line; /* RSYM_NONE and 0 without a parent */
	uint32_t depth;                /* the number of its ancestors */
};

/* A row whose node is RSYM_NONE is a gap. The last row is always a gap. */
struct rsym_content_row {
	uint32_t node;
	uint32_t file, line;
};

struct rsym_content {
	const struct rsym_content_function *functions; /* sorted by name, all distinct */
	const struct rsym_content_node *nodes;
	const struct rsym_content_row *rows;
	const uint64_t *starts; /* of the rows, rising */
	size_t function_count, node_count, row_count;
	uint32_t file_count, name_count;
};

#endif
