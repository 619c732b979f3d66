/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_WRITER_H
#define RAWSTACK_RSYM_WRITER_H
/*
 * Makes the bytes of a table from flattened rows. It knows the format and nothing of ELF or DWARF.
 * Equal calls in equal order give equal bytes.
 *
 *	struct rsym_writer *w = rsym_writer_new(&err);
 *
 *	main = rsym_writer_function(w, &(struct rsym_writer_function){.name = "main", ...});
 *	node = rsym_writer_node(w, RSYM_NONE, main, RSYM_NONE, 0);
 *	rsym_writer_row(w, 0x1139, node, file, 3);
 *	rsym_writer_row(w, 0x1150, RSYM_NONE, RSYM_NONE, 0);
 *	rsym_writer_finish(w, &info, NULL, &out, &err);
 *
 * A failure (memory, or a count above 32 bits) is sticky: calls then return RSYM_NONE or do
 * nothing, and rsym_writer_finish() reports it. Only one thread at a time may use a writer.
 */
#include "helper.h"
#include "rsym.h"

struct rsym_writer;

struct rsym_writer *rsym_writer_new(struct err *err) _must_check_;
void rsym_writer_free(struct rsym_writer *w);
DEFINE_FREEP(struct rsym_writer, rsym_writer_free);

/*
 * The functions below return an id of the writer, which is not the table's id. Equal input gives
 * the same id; for nodes, only if it was seen recently. All text is copied, up to LIMIT_NAME_LEN.
 */
uint32_t rsym_writer_file(struct rsym_writer *w, const void *dir, size_t dir_len, const void *base,
			  size_t base_len);

struct rsym_writer_function {
	const void *name;
	size_t name_len;
	uint64_t vaddr;
	uint32_t file, start_line; /* of the declaration */
	bool from_symbol, has_entry;
	const void *type; /* its signature, or NULL */
	size_t type_len;
};

uint32_t rsym_writer_function(struct rsym_writer *w, const struct rsym_writer_function *f);

/* Adds a function, or a call inlined into a parent (RSYM_NONE for a function) at call_file and
 * call_line. A node with more than LIMIT_INLINE_DEPTH ancestors replaces its parent. */
uint32_t rsym_writer_node(struct rsym_writer *w, uint32_t parent, uint32_t function,
			  uint32_t call_file, uint32_t call_line);

/* Declares a function, which has an entry, to be another name of the function that the table
 * answers there. */
void rsym_writer_function_alias(struct rsym_writer *w, uint32_t function);

/* Sets the answer from vaddr up to the next row; a node of RSYM_NONE means no answer. Addresses
 * must rise; equal neighbours are merged. */
void rsym_writer_row(struct rsym_writer *w, uint64_t vaddr, uint32_t node, uint32_t file,
		     uint32_t line);

struct rsym_writer_segment {
	uint64_t vaddr, mem_len, file_off, file_len;
	uint32_t flags; /* PF_X, PF_W, PF_R */
};

void rsym_writer_segment(struct rsym_writer *w, const struct rsym_writer_segment *s);

/* Returns the buffer of an optional section (an id of rsym_format.h from RSYM_SECTION_OPTIONAL on),
 * to append to before rsym_writer_finish(). A section that stays empty is not written. */
struct buf *rsym_writer_optional(struct rsym_writer *w, uint32_t id);

struct rsym_writer_info {
	struct build_id id;
	uint32_t flags; /* RSYM_HAS_...; RSYM_HAS_SEGMENTS is added by the writer */
	uint64_t text_base;
	bool quick;        /* for a table used once: names are packed fast rather than small */
	rsym_show_fn show; /* makes the shown text of each name; NULL: none is kept */
};

/*
 * Appends the whole table to out, which must be empty; the ceiling of out is that of the table. If
 * the last row is not a gap, it ends at UINT64_MAX. It may be called once, and nothing can be added
 * after it. A helper, which may be NULL, compresses the names and packs rows in parallel; the bytes
 * are the same. ERR_LIMIT, ERR_MEMORY, ERR_INTERNAL (rows out of order, a second call).
 */
int rsym_writer_finish(struct rsym_writer *w, const struct rsym_writer_info *info,
		       struct helper *helper, struct buf *out, struct err *err) _must_check_;

/* Counts of what was added so far, for reports. */
struct rsym_writer_counts {
	uint64_t function_count, range_count, node_count, file_count;
};

void rsym_writer_counts(const struct rsym_writer *w, struct rsym_writer_counts *ret);

#endif
