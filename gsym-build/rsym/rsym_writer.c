/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_writer.h"

#include <assert.h>
#include <string.h>

#include "intern.h"
#include "rsym_format.h"
#include "rsym_function_alias.h"
#include "rsym_layout.h"
#include "rsym_order.h"
#include "rsym_pack.h"
#include "rsym_shown.h"
#include "rsym_text_writer.h"
#include "rsym_types.h"

/* Ids have 32 bits, and one value, RSYM_NONE, is no id. */
#define MAX_IDS ((size_t)UINT32_MAX - 1)

enum {
	NAMES_BLOCK = 16,
	FILES_BLOCK = 32,
	STRETCH_SHALLOW = 32,
	STRETCH_DEEP = 7,
	RECENT_BITS = 13,
};

struct recent_node {
	struct rsym_content_node node;
	uint32_t next_id; /* id + 1; 0: free */
};

struct rsym_writer {
	/* Ids are in the order of first use; rsym_writer_finish() puts them into their final
	 * order. */
	struct intern names, files, types; /* files: whole paths */
	struct intern functions;           /* struct rsym_content_function */
	struct buf nodes;                  /* struct rsym_content_node */
	struct recent_node *recent;        /* by recent_slot() */
	struct buf starts, rows;           /* uint64_t, struct rsym_content_row */
	struct buf segments;               /* struct rsym_disk_segment */
	struct buf aliases;                /* uint32_t: functions */
	struct buf path;                   /* scratch */
	struct buf optional[RSYM_SECTION_END - RSYM_SECTION_OPTIONAL];
	struct rsym_content_row last;
	bool failed, no_memory; /* something did not fit; the reason is lack of memory */
	bool unordered, finished;
};

struct rsym_writer *rsym_writer_new(struct err *err)
{
	struct rsym_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		err_no_memory(err);
		return NULL;
	}
	w->names = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	w->files = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	w->types = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	w->functions = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	buf_init(&w->nodes, MAX_IDS * sizeof(struct rsym_content_node));
	w->recent = calloc((size_t)1 << RECENT_BITS, sizeof(*w->recent));
	if (!w->recent) {
		rsym_writer_free(w);
		err_no_memory(err);
		return NULL;
	}
	buf_init(&w->starts, SIZE_MAX);
	buf_init(&w->rows, SIZE_MAX);
	buf_init(&w->segments, LIMIT_TABLE_LEN);
	buf_init(&w->aliases, LIMIT_TABLE_LEN);
	buf_init(&w->path, LIMIT_TABLE_LEN);
	for (size_t i = 0; i < ARRAY_LEN(w->optional); i++)
		buf_init(&w->optional[i], LIMIT_TABLE_LEN);
	w->last.node = RSYM_NONE;
	return w;
}

void rsym_writer_free(struct rsym_writer *w)
{
	if (!w)
		return;
	intern_done(&w->names);
	intern_done(&w->files);
	intern_done(&w->types);
	intern_done(&w->functions);
	buf_done(&w->nodes);
	free(w->recent);
	buf_done(&w->starts);
	buf_done(&w->rows);
	buf_done(&w->segments);
	buf_done(&w->aliases);
	buf_done(&w->path);
	for (size_t i = 0; i < ARRAY_LEN(w->optional); i++)
		buf_done(&w->optional[i]);
	free(w);
}

static uint32_t add_table_string(struct rsym_writer *w, struct intern *in, const void *p,
				 size_t len)
{
	uint32_t id = intern_add(in, p, len, NULL);

	w->failed |= id == INTERN_FULL;
	w->no_memory |= in->no_memory;
	return id;
}

/* Text is cut to the length that readers accept: a path may be joined from three parts of that
 * length. */
static uint32_t add_content_text(struct rsym_writer *w, struct intern *in, const void *p,
				 size_t len)
{
	return add_table_string(w, in, p, len < LIMIT_NAME_LEN ? len : LIMIT_NAME_LEN);
}

uint32_t rsym_writer_file(struct rsym_writer *w, const void *dir, size_t dir_len, const void *base,
			  size_t base_len)
{
	buf_reset(&w->path);
	buf_append(&w->path, dir, dir_len);
	if (w->path.len && w->path.p[w->path.len - 1] != '/')
		buf_u8(&w->path, '/');
	buf_append(&w->path, base, base_len);
	if (w->path.failed) {
		w->failed = true;
		w->no_memory |= w->path.no_memory;
		return RSYM_NONE;
	}
	return add_content_text(w, &w->files, w->path.p, w->path.len);
}

uint32_t rsym_writer_function(struct rsym_writer *w, const struct rsym_writer_function *f)
{
	struct rsym_content_function content = {
		.vaddr = f->has_entry ? f->vaddr : 0,
		.name = add_content_text(w, &w->names, f->name, f->name_len),
		.file = f->file,
		.line = f->start_line,
		.flags = (f->has_entry ? RSYM_FUNCTION_HAS_ENTRY : 0u) |
			 (f->from_symbol ? RSYM_FUNCTION_FROM_SYMBOL : 0u),
		.type = f->type ? add_content_text(w, &w->types, f->type, f->type_len) : RSYM_NONE,
	};

	return add_table_string(w, &w->functions, &content, sizeof(content));
}

static size_t node_count(const struct rsym_writer *w)
{
	return w->nodes.len / sizeof(struct rsym_content_node);
}

static struct rsym_content_node *node_at(const struct rsym_writer *w, uint32_t i)
{
	return (struct rsym_content_node *)(void *)w->nodes.p + i;
}

/* The hash is not seeded, because equal calls must give equal tables. Nodes crafted to collide are
 * merely not merged, which costs no time. */
static struct recent_node *recent_slot(const struct rsym_writer *w,
				       const struct rsym_content_node *n)
{
	uint64_t h = n->parent + UINT64_C(0x9e3779b97f4a7c15) * n->function;

	h = (h ^ h >> 32) + UINT64_C(0xc2b2ae3d27d4eb4f) * n->call_line + n->call_file;
	return &w->recent[(h * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - RECENT_BITS)];
}

/* Equal nodes are nearly always close together, as calls inside one function. So only recent ones
 * are remembered, in a table that stays in the CPU cache; a table of all nodes would not. */
static uint32_t add_content_node(struct rsym_writer *w, const struct rsym_content_node *n)
{
	struct recent_node *slot = recent_slot(w, n);

	if (slot->next_id && memcmp(&slot->node, n, sizeof(*n)) == 0)
		return slot->next_id - 1;
	if (!buf_append(&w->nodes, n, sizeof(*n))) {
		w->failed = true;
		w->no_memory |= w->nodes.no_memory;
		return RSYM_NONE;
	}
	*slot = (struct recent_node){.node = *n, .next_id = (uint32_t)node_count(w)};
	return slot->next_id - 1;
}

uint32_t rsym_writer_node(struct rsym_writer *w, uint32_t parent, uint32_t function,
			  uint32_t call_file, uint32_t call_line)
{
	struct rsym_content_node n = {
		.parent = RSYM_NONE,
		.function = function,
		.call_file = RSYM_NONE,
	};

	if (w->failed)
		return RSYM_NONE;
	if (parent != RSYM_NONE) {
		struct rsym_content_node above = *node_at(w, parent);

		if (above.depth == LIMIT_INLINE_DEPTH) {
			n = above;
			n.function = function;
		} else {
			n.parent = parent;
			n.call_file = call_file;
			n.call_line = call_line;
			n.depth = above.depth + 1;
		}
	}
	return add_content_node(w, &n);
}

void rsym_writer_row(struct rsym_writer *w, uint64_t vaddr, uint32_t node, uint32_t file,
		     uint32_t line)
{
	struct rsym_content_row row = {.node = node, .file = file, .line = line};

	if (node == RSYM_NONE)
		row = (struct rsym_content_row){.node = RSYM_NONE, .file = RSYM_NONE};
	if (w->starts.len) {
		uint64_t before;

		memcpy(&before, w->starts.p + w->starts.len - sizeof(before), sizeof(before));
		if (vaddr <= before)
			w->unordered = true;
		if (memcmp(&row, &w->last, sizeof(row)) == 0)
			return;
	} else if (node == RSYM_NONE) {
		return;
	}
	buf_u64(&w->starts, vaddr);
	buf_append(&w->rows, &row, sizeof(row));
	w->last = row;
}

void rsym_writer_segment(struct rsym_writer *w, const struct rsym_writer_segment *s)
{
	struct rsym_disk_segment disk = {
		.vaddr = s->vaddr,
		.mem_len = s->mem_len,
		.file_off = s->file_off,
		.file_len = s->file_len,
		.flags = s->flags,
	};

	buf_append(&w->segments, &disk, sizeof(disk));
}

void rsym_writer_function_alias(struct rsym_writer *w, uint32_t function)
{
	if (function != RSYM_NONE)
		buf_u32(&w->aliases, function);
}

struct buf *rsym_writer_optional(struct rsym_writer *w, uint32_t id)
{
	assert(id >= RSYM_SECTION_OPTIONAL && id < RSYM_SECTION_END);
	return &w->optional[id - RSYM_SECTION_OPTIONAL];
}

void rsym_writer_counts(const struct rsym_writer *w, struct rsym_writer_counts *ret)
{
	*ret = (struct rsym_writer_counts){
		.function_count = w->functions.count,
		.range_count = w->starts.len / sizeof(uint64_t),
		.node_count = node_count(w),
		.file_count = w->files.count,
	};
}

/* The parts of a table under construction. */
struct parts {
	struct rsym_content content;
	struct rsym_content_function *functions; /* sorted; content.functions */
	struct rsym_string *names, *files;       /* sorted */
	struct rsym_line_bases line_bases;
	struct rsym_disk_shape shape;
	struct rsym_index_writer index;
	bool quick;
	struct buf packed[RSYM_SECTION_KNOWN]; /* by section; some stay empty */
};

static void parts_done(struct parts *p)
{
	free(p->functions);
	free(p->names);
	free(p->files);
	rsym_line_bases_done(&p->line_bases);
	rsym_index_writer_done(&p->index);
	for (size_t i = 0; i < ARRAY_LEN(p->packed); i++)
		buf_done(&p->packed[i]);
}

static int order_aliases(struct rsym_writer *w, const struct parts *p, const uint32_t *function_id,
			 struct err *err)
{
	uint32_t count = (uint32_t)(w->aliases.len / sizeof(uint32_t));
	uint32_t *list = (void *)w->aliases.p;

	if (w->aliases.failed)
		return err_no_memory(err);
	TRY(rsym_order_function_aliases(list, &count, p->functions, function_id, err));
	rsym_function_aliases_put(rsym_writer_optional(w, RSYM_SECTION_ALIASES), list, count,
				  (uint32_t)w->functions.count);
	return 0;
}

static int order_types(struct rsym_writer *w, const struct parts *p, struct err *err)
{
	_cleanup_(freep) struct rsym_string *texts = NULL;
	_cleanup_(freep) uint32_t *type_id = NULL;
	_cleanup_(freep) uint32_t *of = NULL;
	uint32_t count = (uint32_t)w->types.count;
	int rc;

	if (!count)
		return 0;
	rc = rsym_order_strings(&w->types, &texts, &type_id, err);
	of = calloc(w->functions.count + 1, sizeof(*of));
	if (rc || !of)
		return rc ? rc : err_no_memory(err);
	for (size_t i = 0; i < w->functions.count; i++)
		of[i] = p->functions[i].type == RSYM_NONE ? count : type_id[p->functions[i].type];
	return rsym_types_put(rsym_writer_optional(w, RSYM_SECTION_TYPES), texts, count, of,
			      (uint32_t)w->functions.count, err);
}

/* Sorts names, files and functions, and gives nodes and rows the new ids in place; nothing can be
 * added after that. */
static int order_content(struct rsym_writer *w, struct parts *p, struct err *err)
{
	_cleanup_(freep) uint32_t *name_id = NULL;
	_cleanup_(freep) uint32_t *file_id = NULL;
	_cleanup_(freep) uint32_t *function_id = NULL;
	struct rsym_content_node *nodes = (void *)w->nodes.p;
	struct rsym_content_row *rows = (void *)w->rows.p;
	size_t row_count = w->starts.len / sizeof(uint64_t);

	TRY(rsym_order_strings(&w->names, &p->names, &name_id, err));
	TRY(rsym_order_strings(&w->files, &p->files, &file_id, err));
	TRY(rsym_order_functions(&w->functions, name_id, file_id, &p->functions, &function_id,
				 err));
	TRY(order_aliases(w, p, function_id, err));
	TRY(order_types(w, p, err));
	for (size_t i = 0; i < node_count(w); i++) {
		nodes[i].function = function_id[nodes[i].function];
		nodes[i].call_file = rsym_order_file(file_id, nodes[i].call_file);
	}
	for (size_t i = 0; i < row_count; i++)
		rows[i].file = rsym_order_file(file_id, rows[i].file);
	p->content = (struct rsym_content){
		.functions = p->functions,
		.nodes = nodes,
		.rows = rows,
		.starts = (const void *)w->starts.p,
		.function_count = w->functions.count,
		.node_count = node_count(w),
		.row_count = row_count,
		.file_count = (uint32_t)w->files.count,
		.name_count = (uint32_t)w->names.count,
	};
	return 0;
}

struct text_job {
	struct parts *p;
	struct err err;
	int rc;
};

static void write_texts(void *ctx)
{
	struct text_job *job = ctx;
	struct parts *p = job->p;

	job->rc = rsym_text_write(p->names, p->content.name_count, NAMES_BLOCK, p->quick,
				  &p->packed[RSYM_SECTION_NAMES], &job->err);
	if (!job->rc)
		job->rc = rsym_text_write(p->files, p->content.file_count, FILES_BLOCK, p->quick,
					  &p->packed[RSYM_SECTION_FILES], &job->err);
}

static int pack_rows(struct parts *p, struct helper *helper, struct err *err)
{
	struct rsym_line_bases_out line_bases_out = {
		.line_bases = &p->packed[RSYM_SECTION_LINE_BASES],
		.bases = &p->packed[RSYM_SECTION_BASES],
		.functions = &p->packed[RSYM_SECTION_FUNCTIONS],
		.decls = &p->packed[RSYM_SECTION_DECLS],
		.entries = &p->packed[RSYM_SECTION_ENTRIES],
	};
	struct rsym_pack_out pack_out = {
		.blocks = &p->packed[RSYM_SECTION_BLOCKS],
		.frequent = &p->packed[RSYM_SECTION_FREQUENT],
		.index = &p->index,
	};
	bool shallow = rsym_pack_is_shallow(&p->content);
	int rc;

	TRY(rsym_line_bases_make(&p->line_bases, &p->content,
				 shallow ? STRETCH_SHALLOW : STRETCH_DEEP, err));
	rsym_line_bases_pack(&p->line_bases, &line_bases_out, &p->shape);
	rc = rsym_pack(&p->content, &p->line_bases, shallow, helper, &pack_out, &p->shape, err);
	if (!rc && !rsym_index_writer_end(&p->index))
		rc = err_no_memory(err);
	buf_append(&p->packed[RSYM_SECTION_SHAPE], &p->shape, sizeof(p->shape));
	return rc;
}

static int pack_content(struct parts *p, struct helper *helper, struct err *err)
{
	struct text_job texts = {.p = p};
	int rc;

	helper_start(helper, write_texts, &texts);
	rc = pack_rows(p, helper, err);
	helper_wait(helper);
	return !rc && texts.rc ? err_set(err, texts.rc, "%s", texts.err.message) : rc;
}

static int lay_out_table(const struct rsym_writer *w, const struct parts *p,
			 struct rsym_disk_header *h, struct buf *out, struct err *err)
{
	const struct buf *sections[RSYM_SECTION_END] = {0};

	for (uint32_t id = 1; id < RSYM_SECTION_KNOWN; id++)
		sections[id] = &p->packed[id];
	sections[RSYM_SECTION_SPANS] = &p->index.spans;
	sections[RSYM_SECTION_LEAF_INDEX] = &p->index.leaf_index;
	sections[RSYM_SECTION_LEAVES] = &p->index.leaves;
	sections[RSYM_SECTION_SEGMENTS] = &w->segments;
	for (uint32_t i = 0; i < ARRAY_LEN(w->optional); i++)
		if (w->optional[i].len || w->optional[i].failed)
			sections[RSYM_SECTION_OPTIONAL + i] = &w->optional[i];
	return rsym_layout_write(h, sections, out, err);
}

int rsym_writer_finish(struct rsym_writer *w, const struct rsym_writer_info *info,
		       struct helper *helper, struct buf *out, struct err *err)
{
	_cleanup_(parts_done) struct parts p = {.quick = info->quick};
	struct rsym_disk_header h = {
		.magic = RSYM_MAGIC,
		.byte_order = RSYM_BYTE_ORDER,
		.major = RSYM_MAJOR,
		.minor = RSYM_MINOR,
		.text_base = info->text_base,
		.flags = info->flags & ~(uint32_t)RSYM_HAS_SEGMENTS,
		.id_kind = info->id.kind,
		.id_len = info->id.len,
	};

	for (size_t i = 0; i < ARRAY_LEN(p.packed); i++)
		buf_init(&p.packed[i], LIMIT_TABLE_LEN);
	rsym_index_writer_init(&p.index);
	if (w->last.node != RSYM_NONE)
		rsym_writer_row(w, UINT64_MAX, RSYM_NONE, RSYM_NONE, 0);
	if (w->unordered || w->finished)
		return err_set(err, ERR_INTERNAL, "rows of a table out of order");
	if (w->failed || w->starts.failed || w->rows.failed || w->segments.failed)
		return err_full(err,
				w->no_memory || w->starts.no_memory || w->rows.no_memory ||
					w->segments.no_memory,
				"the table does not fit into %zu bytes", out->max);
	if (w->segments.len) {
		if (w->segments.len / sizeof(struct rsym_disk_segment) > LIMIT_SEGMENTS)
			return err_set(err, ERR_LIMIT, "more than %d loaded segments",
				       (int)LIMIT_SEGMENTS);
		h.flags |= RSYM_HAS_SEGMENTS;
	}
	memcpy(h.id, info->id.bytes, sizeof(h.id));
	w->finished = true;
	TRY(order_content(w, &p, err));
	if (info->show)
		TRY(rsym_shown_put(rsym_writer_optional(w, RSYM_SECTION_SHOWN), p.names,
				   p.content.name_count, info->show, err));
	TRY(pack_content(&p, helper, err));
	return lay_out_table(w, &p, &h, out, err);
}
