/* SPDX-License-Identifier: Apache-2.0 */
#include "merge.h"

#include <string.h>

/* The new ids of strings and files, by old id. */
struct ids {
	uint32_t *strings, *files;
};

static void ids_done(struct ids *ids)
{
	free(ids->strings);
	free(ids->files);
}

static int merge_text(struct debug_text *to, const struct debug_text *from, struct ids *ids,
		      struct err *err)
{
	ids->strings = malloc((from->strings.count + 1) * sizeof(uint32_t));
	ids->files = malloc((from->files.count + 1) * sizeof(uint32_t));
	if (!ids->strings || !ids->files)
		return err_no_memory(err);
	for (uint32_t i = 0; i < from->strings.count; i++) {
		size_t len;
		const void *p = intern_get(&from->strings, i, &len);

		ids->strings[i] = debug_string(to, p, len);
		if (ids->strings[i] == DEBUG_NONE)
			return err_no_memory(err);
	}
	for (uint32_t i = 0; i < from->files.count; i++) {
		struct debug_file f;

		memcpy(&f, intern_get(&from->files, i, NULL), sizeof(f));
		f.dir = ids->strings[f.dir];
		f.base = ids->strings[f.base];
		ids->files[i] = intern_add(&to->files, &f, sizeof(f), NULL);
		if (ids->files[i] == INTERN_FULL)
			return err_no_memory(err);
	}
	return 0;
}

static uint32_t new_id(const uint32_t *ids, uint32_t id)
{
	return id == DEBUG_NONE ? DEBUG_NONE : ids[id];
}

static bool reserve_flat(struct flat *to, const struct flat *from)
{
	return GROW(to->rows, &to->rows_cap, to->row_count + from->row_count + 1, SIZE_MAX) &&
	       GROW(to->nodes, &to->nodes_cap, to->node_count + from->node_count + 1, DEBUG_NONE) &&
	       GROW(to->pieces, &to->pieces_cap, to->piece_count + from->piece_count + 1,
		    DEBUG_NONE);
}

int merge_flat(struct flat *to, struct debug_text *to_text, struct flat *from,
	       const struct debug_text *from_text, struct err *err)
{
	_cleanup_(ids_done) struct ids ids = {0};
	uint32_t first_node = (uint32_t)to->node_count;

	TRY(merge_text(to_text, from_text, &ids, err));
	if (!reserve_flat(to, from))
		return err_no_memory(err);
	for (size_t i = 0; i < from->piece_count; i++) {
		struct flat_piece p = from->pieces[i];

		p.row_first += to->row_count;
		to->pieces[to->piece_count++] = p;
	}
	for (size_t i = 0; i < from->row_count; i++) {
		struct flat_row r = from->rows[i];

		r.node = r.node == DEBUG_NONE ? DEBUG_NONE : r.node + first_node;
		r.file = new_id(ids.files, r.file);
		to->rows[to->row_count++] = r;
	}
	flat_done_rows(from);
	for (size_t i = 0; i < from->node_count; i++) {
		struct flat_node n = from->nodes[i];

		n.parent = n.parent == DEBUG_NONE ? DEBUG_NONE : n.parent + first_node;
		n.name = new_id(ids.strings, n.name);
		n.decl_file = new_id(ids.files, n.decl_file);
		n.call_file = new_id(ids.files, n.call_file);
		to->nodes[to->node_count++] = n;
	}
	for (size_t i = 0; i < from->hidden.count; i++) {
		struct function_alias a = from->hidden.list[i];

		a.name = new_id(ids.strings, a.name);
		a.decl_file = new_id(ids.files, a.decl_file);
		if (!function_aliases_add(&to->hidden, &a))
			return err_no_memory(err);
	}
	return 0;
}
