/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEST_RSYM_MODEL_H
#define RAWSTACK_TEST_RSYM_MODEL_H
/*
 * A made-up program as plain arrays, with nothing shared and nothing packed: what a table written
 * from it must answer is read off by following indexes. Equal seeds give equal programs.
 */
#include "rsym.h"
#include "rsym_writer.h"
#include "test_rsym_random.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a program is like. */
struct model_kind {
	const char *name;
	size_t row_count;
	uint32_t function_count, file_count, depth_max;
	uint32_t stay;     /* of 100 rows, how many keep the node of the one before */
	uint32_t step_max; /* bytes from row to row */
	uint64_t jump;     /* now and then, so many */
	uint64_t first;    /* address */
	uint32_t line_max;
	bool drift; /* lines follow each other */
};

struct model_row {
	uint64_t vaddr;
	uint32_t node, file, line;
};

struct model_node {
	uint32_t parent, function, call_file, call_line, depth;
};

struct model_function {
	char name[120];
	uint64_t vaddr;
	uint32_t file, line;
	bool has_entry, from_symbol;
};

struct model {
	const struct model_kind *kind;
	uint64_t rng;
	struct model_function *functions;
	struct model_node *nodes;
	struct model_row *rows;
	size_t node_count, row_count;
	uint32_t at_node; /* of the row before */
};

static inline uint32_t model_file(struct model *m)
{
	return random_below(&m->rng, 20) ? (uint32_t)random_below(&m->rng, m->kind->file_count)
					 : RSYM_NONE;
}

static inline uint32_t model_line(struct model *m)
{
	switch (random_below(&m->rng, 20)) {
	case 0:
		return 0;
	case 1:
		return m->kind->line_max;
	default:
		return (uint32_t)random_below(&m->rng, m->kind->line_max) + 1;
	}
}

static inline void model_functions(struct model *m)
{
	m->functions = calloc(m->kind->function_count, sizeof(*m->functions));
	assert_non_null(m->functions);
	for (uint32_t i = 0; i < m->kind->function_count; i++) {
		struct model_function *f = &m->functions[i];

		f->from_symbol = random_below(&m->rng, 10) == 0;
		f->has_entry = f->from_symbol || random_below(&m->rng, 2);
		if (f->has_entry) /* makes functions of one name distinct */
			f->vaddr = m->kind->first + 16 * i;
		f->file = f->from_symbol && i % 3 ? RSYM_NONE : model_file(m);
		f->line = f->file == RSYM_NONE ? 0 : model_line(m);
		snprintf(f->name, sizeof(f->name), "_ZN5space4part%u5thingIiE%ufunction%uEv", i % 7,
			 i % 3, f->has_entry ? i / 4 : i);
	}
	m->functions[0].name[0] = 0; /* lines without a function */
}

static inline uint32_t model_node(struct model *m)
{
	uint32_t parent = RSYM_NONE, depth = 0;
	struct model_node *n = &m->nodes[m->node_count];

	/* Often a call from a node that is there, sometimes a chain from the start. */
	if (m->kind->depth_max && m->node_count && random_below(&m->rng, 8)) {
		parent = m->node_count > 3 && random_below(&m->rng, 2)
				 ? (uint32_t)(m->node_count - 1 - random_below(&m->rng, 3))
				 : (uint32_t)random_below(&m->rng, m->node_count);
		depth = m->nodes[parent].depth + 1;
		if (depth > m->kind->depth_max) {
			parent = RSYM_NONE;
			depth = 0;
		}
	}
	*n = (struct model_node){
		.parent = parent,
		.function = (uint32_t)random_below(&m->rng, m->kind->function_count),
		.call_file = parent == RSYM_NONE ? RSYM_NONE : model_file(m),
		.call_line = parent == RSYM_NONE ? 0 : model_line(m),
		.depth = depth,
	};
	/* The writer makes equal nodes one; so does the model. */
	for (size_t i = 0; i < m->node_count; i++)
		if (memcmp(&m->nodes[i], n, sizeof(*n)) == 0)
			return (uint32_t)i;
	return (uint32_t)m->node_count++;
}

static inline void model_rows(struct model *m)
{
	uint64_t vaddr = m->kind->first;
	struct model_row *last = NULL;

	for (size_t i = 0; i < m->kind->row_count; i++) {
		struct model_row *r = &m->rows[m->row_count];

		*r = (struct model_row){.vaddr = vaddr, .node = RSYM_NONE, .file = RSYM_NONE};
		if (random_below(&m->rng, 25)) {
			if (!last || last->node == RSYM_NONE ||
			    random_below(&m->rng, 100) >= m->kind->stay)
				r->node = m->node_count > 10 && random_below(&m->rng, 3)
						  ? (uint32_t)(m->node_count - 1 -
							       random_below(&m->rng, 10))
						  : model_node(m);
			else
				r->node = last->node;
			r->file = last && last->node == r->node && random_below(&m->rng, 10)
					  ? last->file
					  : model_file(m);
			r->line = m->kind->drift && last
					  ? last->line + (uint32_t)random_below(&m->rng, 9) - 4
					  : model_line(m);
		}
		vaddr += 1 + random_below(&m->rng, m->kind->step_max);
		if (m->kind->jump && random_below(&m->rng, 150) == 0)
			vaddr += m->kind->jump;
		/* The writer joins equal neighbours; so does the model. */
		if (last && last->node == r->node && last->file == r->file && last->line == r->line)
			continue;
		if (!last && r->node == RSYM_NONE)
			continue;
		last = r;
		m->row_count++;
	}
	if (last && last->node != RSYM_NONE)
		m->rows[m->row_count++] =
			(struct model_row){.vaddr = vaddr, .node = RSYM_NONE, .file = RSYM_NONE};
}

static inline void model_make(struct model *m, const struct model_kind *kind, uint64_t seed)
{
	*m = (struct model){.kind = kind, .rng = seed};
	m->nodes = calloc(kind->row_count, sizeof(*m->nodes));
	m->rows = calloc(kind->row_count + 1, sizeof(*m->rows));
	assert_true(m->nodes && m->rows);
	model_functions(m);
	model_rows(m);
}

static inline void model_done(struct model *m)
{
	free(m->functions);
	free(m->nodes);
	free(m->rows);
}

static inline void model_file_text(uint32_t file, char text[static 64])
{
	snprintf(text, 64, "/usr/src/part%u/file%u.c", file % 13, file);
}

static inline uint32_t model_write_file(struct rsym_writer *w, uint32_t file)
{
	char dir[64], base[64];

	if (file == RSYM_NONE)
		return RSYM_NONE;
	snprintf(dir, sizeof(dir), "/usr/src/part%u%s", file % 13, file % 2 ? "/" : "");
	snprintf(base, sizeof(base), "file%u.c", file);
	return rsym_writer_file(w, dir, strlen(dir), base, strlen(base));
}

static inline void model_write(const struct model *m, struct buf *out)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(freep) uint32_t *functions = calloc(m->kind->function_count, sizeof(uint32_t));
	_cleanup_(freep) uint32_t *nodes = calloc(m->node_count + 1, sizeof(uint32_t));
	struct rsym_writer_info info = {.flags = RSYM_HAS_DWARF};

	assert_true(w && functions && nodes);
	for (uint32_t i = 0; i < m->kind->function_count; i++) {
		const struct model_function *f = &m->functions[i];

		functions[i] = rsym_writer_function(
			w, &(struct rsym_writer_function){.name = f->name,
							  .name_len = strlen(f->name),
							  .vaddr = f->vaddr,
							  .file = model_write_file(w, f->file),
							  .start_line = f->line,
							  .from_symbol = f->from_symbol,
							  .has_entry = f->has_entry});
	}
	for (size_t i = 0; i < m->node_count; i++) {
		const struct model_node *n = &m->nodes[i];

		nodes[i] = rsym_writer_node(
			w, n->parent == RSYM_NONE ? RSYM_NONE : nodes[n->parent],
			functions[n->function], model_write_file(w, n->call_file), n->call_line);
	}
	for (size_t i = 0; i < m->row_count; i++) {
		const struct model_row *r = &m->rows[i];

		rsym_writer_row(w, r->vaddr, r->node == RSYM_NONE ? RSYM_NONE : nodes[r->node],
				model_write_file(w, r->file), r->line);
	}
	assert_int_equal(rsym_writer_finish(w, &info, NULL, out, NULL), 0);
}

#endif
