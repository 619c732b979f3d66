/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FLATTEN_H
#define RAWSTACK_FLATTEN_H
/*
 * Turns the debug information of one unit at a time into rows, each of which gives the innermost
 * scope, file and line from its address on. It decides inside a unit (inner over outer, last row at
 * an address, alias DIEs); the builder decides later which unit owns an address and where symbols
 * are used. FORMAT.md lists the rules, which were measured against LLVM's DWARF reader.
 */
#include "debug_info.h"
#include "function_alias.h"
#include "interval_overlay.h"

struct flat_row {
	uint64_t start;
	uint32_t node; /* index into nodes; DEBUG_NONE in pieces without a function */
	uint32_t file; /* or DEBUG_NONE */
	uint32_t line;
	uint32_t column_word; /* as debug_column_word() */
};

/* A function, an inlined call, or a symbol. */
struct flat_node {
	uint64_t entry;
	uint32_t parent; /* index into nodes, or DEBUG_NONE */
	uint32_t name;   /* string, or DEBUG_NONE */
	uint32_t decl_file, decl_line;
	uint32_t call_file, call_line, call_column_word;
	bool has_entry, from_symbol;
};

/* The kind of a piece. Where pieces of several units overlap, the highest kind wins. */
enum flat_kind {
	FLAT_STRAY = 0,    /* line rows at addresses that their unit does not claim */
	FLAT_LINES = 1,    /* line rows without a function */
	FLAT_FUNCTION = 2, /* functions, with or without lines */
};

/* A run of addresses that one unit describes without a gap. */
struct flat_piece {
	uint64_t start, end;
	size_t row_first, row_count; /* the first row starts at `start` */
	uint32_t unit;               /* the unit's number */
	enum flat_kind kind;
};

struct flat {
	struct flat_row *rows;
	struct flat_node *nodes;
	struct flat_piece *pieces;
	size_t row_count, rows_cap, node_count, nodes_cap, piece_count, pieces_cap;
	struct function_aliases hidden; /* functions that others of their unit hide everywhere */

	/*
	 * Executable addresses (flattened). Code that starts elsewhere is a tombstone of deleted
	 * code and is dropped. If there are none, only 0 and the two highest addresses are
	 * tombstones.
	 */
	struct interval_overlay code;
};

void flat_done(struct flat *f);

/* Releases only rows and pieces, which are most of the memory, and keeps the nodes. */
void flat_done_rows(struct flat *f);

/* Adds a unit, whose number must be unique. ERR_MEMORY, ERR_LIMIT. */
int flat_add_unit(struct flat *f, const struct debug_unit *unit, struct err *err) _must_check_;

/* Adds a node that belongs to no unit, for a symbol. Returns its index, or DEBUG_NONE if memory is
 * out. */
uint32_t flat_add_node(struct flat *f, const struct flat_node *node);

#endif
