/* SPDX-License-Identifier: Apache-2.0 */
#include "builder.h"

/* The answer of the whole table, before unused nodes, files and names are left out. */
struct answer {
	struct builder *b;
	struct flat_row *rows; /* node FACTS_NONE: a gap */
	size_t row_count, rows_cap;
	uint32_t *symbol_node; /* by symbol, FACTS_NONE until used */
	uint32_t nameless;     /* the node of lines without function and symbol, or FACTS_NONE */
	uint32_t *node_id;     /* of the writer, by node */
	uint32_t *file_id;     /* of the writer, by file */
	struct intern homes;   /* struct home_key -> entry, of functions that exist out of line */
	uint64_t *home_entry;
	size_t home_cap;
};

struct home_key {
	uint32_t name, file, line;
};

static void answer_done(struct answer *a)
{
	free(a->rows);
	free(a->symbol_node);
	free(a->node_id);
	free(a->file_id);
	free(a->home_entry);
	intern_done(&a->homes);
}

void builder_init(struct builder *b)
{
	*b = (struct builder){
		.flat = {.code = PAINT_INIT(SIZE_MAX)},
		.symbols = SYMBOLS_INIT,
	};
	facts_text_init(&b->text);
}

void builder_done(struct builder *b)
{
	facts_text_done(&b->text);
	flat_done(&b->flat);
	symbols_done(&b->symbols);
}

static int add_unit(void *ctx, const struct facts_unit *unit, struct err *err)
{
	struct builder *b = ctx;

	return flat_add_unit(&b->flat, unit, err);
}

struct facts_sink builder_sink(struct builder *b)
{
	return (struct facts_sink){.ctx = b, .unit = add_unit};
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_MEMORY, "out of memory");
}

static bool emit(struct answer *a, uint64_t start, uint32_t node, uint32_t file, uint32_t line)
{
	const struct flat_row *last = a->row_count ? &a->rows[a->row_count - 1] : NULL;

	if (node == FACTS_NONE) {
		file = FACTS_NONE;
		line = 0;
	}
	if (last ? last->node == node && last->file == file && last->line == line
		 : node == FACTS_NONE)
		return true;
	if (!grow_array((void **)&a->rows, &a->rows_cap, a->row_count + 1, sizeof(*a->rows),
			SIZE_MAX))
		return false;
	a->rows[a->row_count++] =
		(struct flat_row){.start = start, .node = node, .file = file, .line = line};
	return true;
}

static bool emit_symbol(struct answer *a, uint64_t start, uint32_t symbol, uint32_t file,
			uint32_t line)
{
	uint32_t *node = &a->symbol_node[symbol];

	if (*node == FACTS_NONE) {
		const struct symbol *s = &a->b->symbols.list[symbol];

		*node = flat_add_node(&a->b->flat, &(struct flat_node){
							   .entry = s->vaddr,
							   .has_entry = true,
							   .from_symbol = true,
							   .parent = FACTS_NONE,
							   .name = s->name,
							   .decl_file = FACTS_NONE,
							   .call_file = FACTS_NONE,
						   });
	}
	return *node != FACTS_NONE && emit(a, start, *node, file, line);
}

/* A line with neither function nor symbol: an answer where the unit claims the address. */
static bool emit_bare(struct answer *a, uint64_t start, uint32_t file, uint32_t line, bool claimed)
{
	if (!claimed)
		return emit(a, start, FACTS_NONE, FACTS_NONE, 0);
	if (a->nameless == FACTS_NONE) {
		a->nameless = flat_add_node(&a->b->flat, &(struct flat_node){
								 .parent = FACTS_NONE,
								 .name = FACTS_NONE,
								 .decl_file = FACTS_NONE,
								 .call_file = FACTS_NONE,
							 });
		if (a->nameless == FACTS_NONE)
			return false;
	}
	return emit(a, start, a->nameless, file, line);
}

/* [start, end) has no function in DWARF: symbols name what they can. */
static bool emit_plain(struct answer *a, uint64_t start, uint64_t end, uint32_t file, uint32_t line,
		       bool claimed)
{
	const struct paint *symbols = &a->b->symbols.spans;

	for (size_t i = paint_find(symbols, start); start < end; i++) {
		const struct paint_span *s = i < symbols->count ? &symbols->spans[i] : NULL;

		if (!s || s->start >= end)
			return emit_bare(a, start, file, line, claimed);
		if (s->start > start) {
			if (!emit_bare(a, start, file, line, claimed))
				return false;
			start = s->start;
		}
		if (!emit_symbol(a, start, s->value, file, line))
			return false;
		start = s->end;
	}
	return true;
}

/* The rows of a piece that lie in [start, end). */
static bool emit_piece(struct answer *a, const struct flat_piece *p, uint64_t start, uint64_t end)
{
	/* flat_add_node() may move the nodes but never the rows. */
	const struct flat_row *rows = a->b->flat.rows + p->row_first;
	size_t low = 0, count = p->row_count;

	while (count) {
		size_t half = count / 2;

		if (rows[low + half].start <= start) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	for (size_t i = low - 1; i < p->row_count && rows[i].start < end; i++) {
		uint64_t from = rows[i].start > start ? rows[i].start : start;
		uint64_t to =
			i + 1 < p->row_count && rows[i + 1].start < end ? rows[i + 1].start : end;
		bool ok = p->kind == FLAT_FUNCTION
				  ? emit(a, from, rows[i].node, rows[i].file, rows[i].line)
				  : emit_plain(a, from, to, rows[i].file, rows[i].line,
					       p->kind == FLAT_LINES);

		if (!ok)
			return false;
	}
	return true;
}

static int choose(struct answer *a, struct err *err)
{
	struct flat *f = &a->b->flat;
	struct paint p = PAINT_INIT(SIZE_MAX);
	uint64_t at = 0;
	bool ok = true;
	int rc;

	for (size_t i = 0; i < f->piece_count && ok; i++) {
		const struct flat_piece *piece = &f->pieces[i];

		/* Kind first, then the lowest unit. */
		ok = paint_add(&p, piece->start, piece->end,
			       ((uint64_t)piece->kind << 32) | (UINT32_MAX - piece->unit),
			       (uint32_t)i);
	}
	rc = ok ? paint_flatten(&p, err) : no_memory(err);
	for (size_t i = 0; i < p.count && !rc; i++) {
		const struct paint_span *s = &p.spans[i];

		if (!emit_plain(a, at, s->start, FACTS_NONE, 0, false) ||
		    !emit_piece(a, &f->pieces[s->value], s->start, s->end))
			rc = no_memory(err);
		at = s->end;
	}
	if (!rc && !emit_plain(a, at, UINT64_MAX, FACTS_NONE, 0, false))
		rc = no_memory(err);
	paint_done(&p);
	return rc;
}

static struct home_key home_of(const struct flat_node *n)
{
	return (struct home_key){.name = n->name, .file = n->decl_file, .line = n->decl_line};
}

/* Of each function that has code of its own in the answer, the lowest entry: calls inlined from it
 * are then shown as the same function. */
static int find_homes(struct answer *a, struct err *err)
{
	for (size_t i = 0; i < a->row_count; i++) {
		const struct flat_node *n;
		struct home_key key;
		uint32_t at = a->rows[i].node, home;
		bool is_new;

		if (at == FACTS_NONE)
			continue;
		while (a->b->flat.nodes[at].parent != FACTS_NONE)
			at = a->b->flat.nodes[at].parent;
		n = &a->b->flat.nodes[at];
		if (!n->has_entry || n->from_symbol)
			continue;
		key = home_of(n);
		home = intern_add(&a->homes, &key, sizeof(key), &is_new);
		if (home == INTERN_FULL ||
		    !grow_array((void **)&a->home_entry, &a->home_cap, (size_t)home + 1,
				sizeof(*a->home_entry), SIZE_MAX))
			return no_memory(err);
		if (is_new || n->entry < a->home_entry[home])
			a->home_entry[home] = n->entry;
	}
	return 0;
}

static uint32_t file_id(struct answer *a, struct rsym_writer *w, uint32_t file)
{
	const struct facts_text *t = &a->b->text;
	struct facts_file f;
	const void *dir, *base;
	size_t dir_len, base_len;

	if (file == FACTS_NONE)
		return RSYM_NONE;
	if (a->file_id[file] == RSYM_NONE) {
		memcpy(&f, intern_get(&t->files, file, NULL), sizeof(f));
		dir = intern_get(&t->strings, f.dir, &dir_len);
		base = intern_get(&t->strings, f.base, &base_len);
		a->file_id[file] = rsym_writer_file(w, dir, dir_len, base, base_len);
	}
	return a->file_id[file];
}

static uint32_t function_id(struct answer *a, struct rsym_writer *w, const struct flat_node *n)
{
	struct rsym_writer_function f = {
		.name = "",
		.vaddr = n->entry,
		.has_entry = n->has_entry,
		.from_symbol = n->from_symbol,
		.file = file_id(a, w, n->decl_file),
		.start_line = n->decl_line,
	};

	if (n->name != FACTS_NONE)
		f.name = intern_get(&a->b->text.strings, n->name, &f.name_len);
	if (n->parent != FACTS_NONE) {
		struct home_key key = home_of(n);
		uint32_t home = intern_find(&a->homes, &key, sizeof(key));

		f.has_entry = home != INTERN_FULL;
		f.vaddr = f.has_entry ? a->home_entry[home] : 0;
	}
	f.has_entry = f.has_entry && f.vaddr >= a->b->bias;
	f.vaddr = f.has_entry ? f.vaddr - a->b->bias : 0;
	return rsym_writer_function(w, &f);
}

/* Nodes get their ids on first use, parents first. */
static uint32_t node_id(struct answer *a, struct rsym_writer *w, uint32_t node)
{
	const struct flat_node *nodes = a->b->flat.nodes;
	uint32_t stack[LIMIT_DIE_DEPTH + 1];
	size_t depth = 0;

	if (node == FACTS_NONE)
		return RSYM_NONE;
	for (uint32_t at = node;
	     at != FACTS_NONE && a->node_id[at] == RSYM_NONE && depth < ARRAY_LEN(stack);
	     at = nodes[at].parent)
		stack[depth++] = at;
	while (depth) {
		uint32_t at = stack[--depth];
		const struct flat_node *n = &nodes[at];
		uint32_t parent = n->parent == FACTS_NONE ? RSYM_NONE : a->node_id[n->parent];

		a->node_id[at] = rsym_writer_node(w, parent, function_id(a, w, n),
						  file_id(a, w, n->call_file), n->call_line);
	}
	return a->node_id[node];
}

static uint32_t *none_array(size_t count)
{
	uint32_t *p = malloc((count + 1) * sizeof(*p));

	for (size_t i = 0; p && i < count; i++)
		p[i] = UINT32_MAX;
	return p;
}

static int write_answer(struct answer *a, struct rsym_writer *w, struct builder_counts *ret,
			struct err *err)
{
	struct rsym_writer_counts counts;
	int rc;

	a->symbol_node = none_array(a->b->symbols.count);
	if (!a->symbol_node)
		return no_memory(err);
	rc = choose(a, err);
	flat_done_rows(&a->b->flat);
	if (!rc)
		rc = find_homes(a, err);
	if (rc)
		return rc;
	a->node_id = none_array(a->b->flat.node_count);
	a->file_id = none_array(a->b->text.files.count);
	if (!a->node_id || !a->file_id)
		return no_memory(err);
	for (size_t i = 0; i < a->row_count; i++) {
		const struct flat_row *row = &a->rows[i];

		rsym_writer_row(w, row->start - a->b->bias, node_id(a, w, row->node),
				file_id(a, w, row->file), row->line);
	}
	rsym_writer_counts(w, &counts);
	*ret = (struct builder_counts){
		.function_count = counts.function_count,
		.range_count = counts.range_count,
		.file_count = counts.file_count,
	};
	for (size_t i = 0; i < a->b->flat.node_count; i++)
		ret->inline_count +=
			a->node_id[i] != RSYM_NONE && a->b->flat.nodes[i].parent != FACTS_NONE;
	return 0;
}

int builder_write(struct builder *b, struct rsym_writer *w, struct builder_counts *ret,
		  struct err *err)
{
	struct answer a = {
		.b = b,
		.nameless = FACTS_NONE,
		.homes = INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN),
	};
	int rc = write_answer(&a, w, ret, err);

	answer_done(&a);
	return rc;
}
