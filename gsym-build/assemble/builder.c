/* SPDX-License-Identifier: Apache-2.0 */
#include "builder.h"

#include "builder_priv.h"
#include "rsym_columns.h"
#include "rsym_format.h"

struct home_key {
	uint32_t name, file, line;
};

/* State of writing the table. The rows are walked twice: first to find the functions that have code
 * of their own, then to write them. */
struct answer {
	struct builder *b;
	struct rsym_writer *w;
	uint32_t *node_id;   /* id in the writer, by node */
	uint32_t *file_id;   /* id in the writer, by file */
	struct intern homes; /* struct home_key -> entry, for functions that exist out of line */
	uint64_t *home_entry;
	size_t home_cap;
	uint32_t last_node, last_root;   /* those of the previous call of find_home() */
	struct function_aliases entered; /* functions that answer at their entry, by entry */
	/* Functions already given to the writer, so that a name is not hashed again for each
	 * call. */
	struct function_memo *memos;
	uint32_t *function_of_name; /* latest memo of a function, and of an inlined call, by name */
	size_t memo_count, memos_cap, alias_count;
	struct rsym_columns *columns; /* NULL: not wanted */
	uint32_t *chain_of;           /* of columns, by node; UINT32_MAX: not made yet */
};

struct function_memo {
	uint64_t entry; /* 0 for an inlined call, whose home has the entry */
	uint32_t file, line, kind;
	uint32_t id;
};

static void answer_done(struct answer *a)
{
	free(a->node_id);
	free(a->file_id);
	free(a->home_entry);
	free(a->chain_of);
	function_aliases_done(&a->entered);
	intern_done(&a->homes);
	free(a->memos);
	free(a->function_of_name);
}

void builder_init(struct builder *b)
{
	*b = (struct builder){
		.flat = {.code = INTERVAL_OVERLAY_INIT(SIZE_MAX)},
		.symbols = SYMBOLS_INIT,
		.typed = INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN),
	};
	debug_text_init(&b->text);
}

void builder_done(struct builder *b)
{
	debug_text_done(&b->text);
	flat_done(&b->flat);
	symbols_done(&b->symbols);
	intern_done(&b->typed);
	free(b->types);
	b->types = NULL;
	b->types_cap = 0;
}

/* Signatures are kept apart from the nodes, because most builds want none. */
static bool add_unit_types(struct builder *b, const struct debug_unit *unit)
{
	for (size_t i = 0; i < unit->scope_count; i++) {
		const struct debug_scope *s = &unit->scopes[i];
		struct home_key key = {.name = s->name, .file = s->decl_file, .line = s->decl_line};
		bool is_new;
		uint32_t id;

		if (unit->types[i] == DEBUG_NONE || s->name == DEBUG_NONE)
			continue;
		id = intern_add(&b->typed, &key, sizeof(key), &is_new);
		if (id == INTERN_FULL || !GROW(b->types, &b->types_cap, (size_t)id + 1, SIZE_MAX))
			return false;
		if (is_new)
			b->types[id] = unit->types[i];
	}
	return true;
}

static int add_debug_unit(void *ctx, const struct debug_unit *unit, struct err *err)
{
	struct builder *b = ctx;

	if (unit->types && !add_unit_types(b, unit))
		return err_no_memory(err);
	return flat_add_unit(&b->flat, unit, err);
}

struct debug_sink builder_sink(struct builder *b)
{
	return (struct debug_sink){.ctx = b, .unit = add_debug_unit};
}

static struct home_key home_of(const struct flat_node *n)
{
	return (struct home_key){.name = n->name, .file = n->decl_file, .line = n->decl_line};
}

static uint32_t root_node_of(const struct flat_node *nodes, uint32_t at)
{
	while (nodes[at].parent != DEBUG_NONE)
		at = nodes[at].parent;
	return at;
}

/* Records the lowest entry of each function that has code of its own, so that calls inlined from it
 * are shown as the same function. */
static bool find_home(void *ctx, const struct flat_row *row)
{
	struct answer *a = ctx;
	const struct flat_node *n;
	struct home_key key;
	uint32_t at, home;
	bool is_new;

	if (row->node == DEBUG_NONE)
		return true;
	/* Most rows have the same node as the row before. */
	at = row->node == a->last_node ? a->last_root : root_node_of(a->b->flat.nodes, row->node);
	a->last_node = row->node;
	n = &a->b->flat.nodes[at];
	if (n->entry == row->start && n->has_entry && n->name != DEBUG_NONE &&
	    !function_aliases_add(&a->entered,
				  &(struct function_alias){.entry = n->entry,
							   .name = n->name,
							   .from_symbol = n->from_symbol}))
		return false;
	if (at == a->last_root)
		return true;
	a->last_root = at;
	if (!n->has_entry || n->from_symbol)
		return true;
	key = home_of(n);
	home = intern_add(&a->homes, &key, sizeof(key), &is_new);
	if (home == INTERN_FULL || !GROW(a->home_entry, &a->home_cap, (size_t)home + 1, SIZE_MAX))
		return false;
	if (is_new || n->entry < a->home_entry[home])
		a->home_entry[home] = n->entry;
	return true;
}

static uint32_t answer_file(struct answer *a, uint32_t file)
{
	const struct debug_text *t = &a->b->text;
	struct debug_file f;
	const void *dir, *base;
	size_t dir_len, base_len;

	if (file == DEBUG_NONE)
		return RSYM_NONE;
	if (a->file_id[file] == RSYM_NONE) {
		memcpy(&f, intern_get(&t->files, file, NULL), sizeof(f));
		dir = intern_get(&t->strings, f.dir, &dir_len);
		base = intern_get(&t->strings, f.base, &base_len);
		a->file_id[file] = rsym_writer_file(a->w, dir, dir_len, base, base_len);
	}
	return a->file_id[file];
}

static uint32_t make_answer_function(struct answer *a, const struct flat_node *n)
{
	struct rsym_writer_function f = {
		.name = "",
		.vaddr = n->entry,
		.has_entry = n->has_entry,
		.from_symbol = n->from_symbol,
		.file = answer_file(a, n->decl_file),
		.start_line = n->decl_line,
	};

	if (n->name != DEBUG_NONE)
		f.name = intern_get(&a->b->text.strings, n->name, &f.name_len);
	if (a->b->typed.count) {
		struct home_key key = home_of(n);
		uint32_t typed = intern_find(&a->b->typed, &key, sizeof(key));

		if (typed != INTERN_FULL)
			f.type = intern_get(&a->b->text.strings, a->b->types[typed], &f.type_len);
	}
	if (n->parent != DEBUG_NONE) {
		struct home_key key = home_of(n);
		uint32_t home = intern_find(&a->homes, &key, sizeof(key));

		f.has_entry = home != INTERN_FULL;
		f.vaddr = f.has_entry ? a->home_entry[home] : 0;
	}
	f.has_entry = f.has_entry && f.vaddr >= a->b->bias;
	f.vaddr = f.has_entry ? f.vaddr - a->b->bias : 0;
	return rsym_writer_function(a->w, &f);
}

static uint32_t function_id(struct answer *a, const struct flat_node *n)
{
	bool inlined = n->parent != DEBUG_NONE;
	struct function_memo memo = {
		.entry = inlined || !n->has_entry ? 0 : n->entry,
		.file = n->decl_file,
		.line = n->decl_line,
		.kind = inlined | n->has_entry << 1 | n->from_symbol << 2,
	};
	uint32_t *at =
		n->name != DEBUG_NONE ? &a->function_of_name[2 * (size_t)n->name + inlined] : NULL;

	if (at && *at != DEBUG_NONE) {
		const struct function_memo *m = &a->memos[*at];

		if (m->entry == memo.entry && m->file == memo.file && m->line == memo.line &&
		    m->kind == memo.kind)
			return m->id;
	}
	memo.id = make_answer_function(a, n);
	/* Memos are optional: if memory is short, the writer is called again next time. */
	if (!at || !GROW(a->memos, &a->memos_cap, a->memo_count + 1, DEBUG_NONE))
		return memo.id;
	if (*at == DEBUG_NONE)
		*at = (uint32_t)a->memo_count++;
	a->memos[*at] = memo;
	return memo.id;
}

/* Returns the writer's id of a node. A node gets it on first use, its parents before it. */
static uint32_t node_id(struct answer *a, uint32_t node)
{
	const struct flat_node *nodes = a->b->flat.nodes;
	uint32_t stack[LIMIT_DIE_DEPTH + 1];
	size_t depth = 0;

	if (node == DEBUG_NONE)
		return RSYM_NONE;
	for (uint32_t at = node;
	     at != DEBUG_NONE && a->node_id[at] == RSYM_NONE && depth < ARRAY_LEN(stack);
	     at = nodes[at].parent)
		stack[depth++] = at;
	while (depth) {
		uint32_t at = stack[--depth];
		const struct flat_node *n = &nodes[at];
		uint32_t parent = n->parent == DEBUG_NONE ? RSYM_NONE : a->node_id[n->parent];

		a->node_id[at] = rsym_writer_node(a->w, parent, function_id(a, n),
						  answer_file(a, n->call_file), n->call_line);
	}
	return a->node_id[node];
}

static uint32_t *new_none_array(size_t count)
{
	uint32_t *p = malloc((count + 1) * sizeof(*p));

	for (size_t i = 0; p && i < count; i++)
		p[i] = UINT32_MAX;
	return p;
}

/* Returns the chain of column words of the calls around a node, or an empty one if it is too deep
 * to be kept whole. */
static uint32_t chain_of_node(struct answer *a, uint32_t node)
{
	const struct flat_node *nodes = a->b->flat.nodes;
	uint32_t stack[LIMIT_INLINE_DEPTH], chain = 0;
	size_t depth = 0;

	while (nodes[node].parent != DEBUG_NONE && a->chain_of[node] == UINT32_MAX) {
		if (depth == ARRAY_LEN(stack))
			return 0;
		stack[depth++] = node;
		node = nodes[node].parent;
	}
	if (nodes[node].parent != DEBUG_NONE)
		chain = a->chain_of[node];
	while (depth) {
		node = stack[--depth];
		chain = rsym_columns_chain(a->columns, chain, nodes[node].call_column_word);
		a->chain_of[node] = chain;
	}
	return chain;
}

static uint32_t chain_of_row(struct answer *a, const struct flat_row *row)
{
	if (row->node == DEBUG_NONE)
		return 0;
	return rsym_columns_chain(a->columns, chain_of_node(a, row->node), row->column_word);
}

static bool write_row(void *ctx, const struct flat_row *row)
{
	struct answer *a = ctx;
	uint64_t vaddr = row->start - a->b->bias;

	rsym_writer_row(a->w, vaddr, node_id(a, row->node), answer_file(a, row->file), row->line);
	if (a->columns)
		rsym_columns_row(a->columns, vaddr, chain_of_row(a, row));
	return true;
}

/* Returns whether any of the symbols at one address is exported; `first` is the first of them. */
static bool has_exported(const struct symbols *s, size_t first)
{
	for (size_t i = first; i < s->count && s->list[i].vaddr == s->list[first].vaddr; i++)
		if (s->list[i].binding != SYMBOL_LOCAL)
			return true;
	return false;
}

/* Collects the functions and symbols that may give another name to the entry of a function. */
static bool collect_aliases(const struct answer *a, struct function_aliases *list)
{
	const struct flat *f = &a->b->flat;
	const struct symbols *s = &a->b->symbols;
	bool ok = true, exported = false;

	for (size_t i = 0; i < f->hidden.count && ok; i++)
		ok = function_aliases_add(list, &f->hidden.list[i]);
	for (size_t i = 0; i < f->node_count && ok; i++) {
		const struct flat_node *n = &f->nodes[i];

		/* Its unit shows this function, but another unit's function covers it. */
		if (a->node_id[i] == RSYM_NONE && n->parent == DEBUG_NONE && n->has_entry &&
		    !n->from_symbol && n->name != DEBUG_NONE)
			ok = function_aliases_add(
				list, &(struct function_alias){.entry = n->entry,
							       .name = n->name,
							       .decl_file = n->decl_file,
							       .decl_line = n->decl_line});
	}
	for (size_t i = 0; i < s->count && ok; i++) {
		if (i == 0 || s->list[i].vaddr != s->list[i - 1].vaddr)
			exported = has_exported(s, i);
		if (s->list[i].is_function || s->list[i].binding != SYMBOL_LOCAL)
			ok = function_aliases_add(
				list, &(struct function_alias){.entry = s->list[i].vaddr,
							       .name = s->list[i].name,
							       .decl_file = DEBUG_NONE,
							       .from_symbol = true,
							       .internal = exported &&
									   s->list[i].binding ==
										   SYMBOL_LOCAL});
	}
	return ok;
}

static int write_aliases(struct answer *a, struct err *err)
{
	struct function_aliases list = {0};
	bool ok = collect_aliases(a, &list);

	function_aliases_sort(&list, &a->b->text);
	function_aliases_choose(&list, &a->entered, &a->b->text);
	for (size_t i = 0; i < list.count && ok; i++)
		rsym_writer_function_alias(
			a->w, function_id(a, &(struct flat_node){
						     .entry = list.list[i].entry,
						     .has_entry = true,
						     .from_symbol = list.list[i].from_symbol,
						     .parent = DEBUG_NONE,
						     .name = list.list[i].name,
						     .decl_file = list.list[i].decl_file,
						     .decl_line = list.list[i].decl_line,
					     }));
	a->alias_count = list.count;
	function_aliases_done(&list);
	return ok ? 0 : err_no_memory(err);
}

static void count_answer(const struct answer *a, struct builder_counts *ret)
{
	struct rsym_writer_counts counts;

	rsym_writer_counts(a->w, &counts);
	*ret = (struct builder_counts){
		.function_count = counts.function_count,
		.range_count = counts.range_count,
		.file_count = counts.file_count,
		.alias_count = a->alias_count,
	};
	for (size_t i = 0; i < a->b->flat.node_count; i++)
		ret->inline_count +=
			a->node_id[i] != RSYM_NONE && a->b->flat.nodes[i].parent != DEBUG_NONE;
}

static int write_answer(struct answer *a, struct builder_rows *rows, struct err *err)
{
	int rc;

	a->file_id = new_none_array(a->b->text.files.count);
	a->function_of_name = new_none_array(2 * a->b->text.strings.count);
	if (!a->file_id || !a->function_of_name)
		return err_no_memory(err);
	TRY(builder_rows_init(rows, a->b, err));
	TRY(builder_rows_each(rows, find_home, a, err));
	/* The walk above added the nodes of symbols, so node_count is final. */
	a->node_id = new_none_array(a->b->flat.node_count);
	if (!a->node_id)
		return err_no_memory(err);
	if (a->columns) {
		a->chain_of = new_none_array(a->b->flat.node_count);
		if (!a->chain_of)
			return err_no_memory(err);
	}
	rc = builder_rows_each(rows, write_row, a, err);
	if (!rc && a->columns)
		rsym_columns_put(a->columns, rsym_writer_optional(a->w, RSYM_SECTION_COLUMNS));
	return rc ? rc : write_aliases(a, err);
}

int builder_write(struct builder *b, struct rsym_writer *w, struct builder_counts *ret,
		  struct err *err)
{
	struct builder_rows rows = {0};
	struct answer a = {
		.b = b,
		.w = w,
		.last_node = DEBUG_NONE,
		.last_root = DEBUG_NONE,
		.homes = INTERN_INIT(UINT32_MAX - 1, LIMIT_TABLE_LEN),
	};
	_cleanup_(rsym_columns_done) struct rsym_columns columns;
	int rc;

	rsym_columns_init(&columns);
	a.columns = b->columns ? &columns : NULL;
	rc = write_answer(&a, &rows, err);
	if (!rc)
		count_answer(&a, ret);
	flat_done_rows(&b->flat);
	builder_rows_done(&rows);
	answer_done(&a);
	return rc;
}
