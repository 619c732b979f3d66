/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_line_bases.h"

#include <assert.h>
#include <stdlib.h>

#include "rsym_bits.h"
#include "rsym_format.h"
#include "sort.h"

/*
 * A use is a line of a function in a file, coded as a number that sorts in the order of line bases:
 * the file of the declaration first, then the others; in each file by line, with "no line" last.
 * "No line" has a line base of its own, because it would lower the lowest line of another one to 0.
 */
#define NO_LINE UINT32_MAX

static uint64_t line_base_key(const struct rsym_content_function *f, uint32_t file, uint32_t line)
{
	uint64_t high = file == RSYM_NONE ? UINT32_MAX : file + 1;

	return (file == f->file ? 0 : high << 32) | (uint32_t)(line - 1);
}

static uint32_t file_of_key(const struct rsym_content_function *f, uint64_t key)
{
	uint32_t high = (uint32_t)(key >> 32);

	if (high == UINT32_MAX)
		return RSYM_NONE;
	return high ? high - 1 : f->file;
}

static uint32_t line_of_key(uint64_t key)
{
	return (uint32_t)key + 1;
}

void rsym_line_bases_done(struct rsym_line_bases *e)
{
	free(e->first);
	free(e->keys);
	free(e->is_used);
}

static void mark_used(struct rsym_line_bases *e)
{
	const struct rsym_content *c = e->content;

	for (size_t i = 0; i < c->row_count; i++)
		if (c->rows[i].node != RSYM_NONE)
			e->is_used[c->rows[i].node] = 1;
	for (size_t i = c->node_count; i--;)
		if (e->is_used[i] && c->nodes[i].parent != RSYM_NONE)
			e->is_used[c->nodes[i].parent] = 1;
}

struct use_sink {
	uint32_t *at; /* by function: the number of uses, then the index of the next one */
	uint64_t *keys;
};

static void add_use(const struct rsym_content *c, struct use_sink *s, uint32_t function,
		    uint32_t file, uint32_t line)
{
	uint32_t at = s->at[function]++;

	if (s->keys)
		s->keys[at] = line_base_key(&c->functions[function], file, line);
}

/* Counts the uses of the content, or writes them when s->keys is set. */
static void add_uses(const struct rsym_line_bases *e, struct use_sink *s)
{
	const struct rsym_content *c = e->content;

	for (size_t i = 0; i < c->row_count; i++) {
		const struct rsym_content_row *r = &c->rows[i];

		if (r->node != RSYM_NONE)
			add_use(c, s, c->nodes[r->node].function, r->file, r->line);
	}
	for (size_t i = 0; i < c->node_count; i++) {
		const struct rsym_content_node *n = &c->nodes[i];

		if (e->is_used[i] && n->parent != RSYM_NONE)
			add_use(c, s, c->nodes[n->parent].function, n->call_file, n->call_line);
	}
}

static inline bool is_below(const uint64_t *a, const uint64_t *b)
{
	return *a < *b;
}

DEFINE_SORT(sort_keys, uint64_t, is_below)

/* Keeps, in place, the sorted uses that begin a line base. Returns their number. */
static uint32_t keep_first(uint64_t *keys, uint32_t count, unsigned int stretch_bits)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t first = kept ? keys[kept - 1] : 0;
		bool joins = kept && first >> 32 == keys[i] >> 32 &&
			     (keys[i] == first || ((uint32_t)keys[i] != NO_LINE &&
						   (keys[i] - first) >> stretch_bits == 0));

		if (!joins)
			keys[kept++] = keys[i];
	}
	return kept;
}

/* Sorts the uses of each function, which are adjacent, and keeps its line bases. */
static void make_keys(struct rsym_line_bases *e, const uint32_t *ends, uint64_t *tmp)
{
	const struct rsym_content *c = e->content;
	uint32_t from = 0;

	for (size_t f = 0; f < c->function_count; f++) {
		/* A function without a use keeps the place reserved for it. */
		uint32_t count = ends[f] > from ? ends[f] - from : 1, kept;

		sort_keys(e->keys + from, tmp, count);
		kept = keep_first(e->keys + from, count, e->stretch_bits);
		memmove(e->keys + e->count, e->keys + from, kept * sizeof(*e->keys));
		e->first[f] = e->count;
		e->count += kept;
		from += count;
	}
	e->first[c->function_count] = e->count;
}

int rsym_line_bases_make(struct rsym_line_bases *e, const struct rsym_content *c,
			 unsigned int stretch_bits, struct err *err)
{
	_cleanup_(freep) uint32_t *at = calloc(c->function_count + 1, sizeof(*at));
	_cleanup_(freep) uint64_t *tmp = NULL;
	struct use_sink s = {.at = at};
	uint64_t sum = 0, most = 0;

	*e = (struct rsym_line_bases){.content = c, .stretch_bits = stretch_bits};
	e->first = calloc(c->function_count + 1, sizeof(*e->first));
	e->is_used = calloc(c->node_count + 1, 1);
	if (!at || !e->first || !e->is_used)
		return err_no_memory(err);
	if (c->row_count + c->node_count + c->function_count >= UINT32_MAX)
		return err_set(err, ERR_LIMIT, "more than 2^32 rows and inlined calls");
	mark_used(e);
	add_uses(e, &s);
	for (size_t f = 0; f < c->function_count; f++) {
		/* A function without any line gets a line base too, because readers find its id
		 * through it. */
		uint32_t count = at[f] ? at[f] : 1;

		at[f] = (uint32_t)sum;
		sum += count;
		if (count > most)
			most = count;
	}
	e->keys = calloc(sum + 1, sizeof(*e->keys));
	tmp = malloc((most / 2 + 1) * sizeof(*tmp));
	if (!e->keys || !tmp)
		return err_no_memory(err);
	for (size_t f = 0; f < c->function_count; f++)
		e->keys[at[f]] =
			line_base_key(&c->functions[f], c->functions[f].file, c->functions[f].line);
	s.keys = e->keys;
	add_uses(e, &s);
	make_keys(e, at, tmp);
	return 0;
}

uint32_t rsym_line_bases_find(const struct rsym_line_bases *e, uint32_t function, uint32_t file,
			      uint32_t line, uint32_t near, uint32_t *ret_offset)
{
	uint64_t key = line_base_key(&e->content->functions[function], file, line);
	uint32_t low = e->first[function], end = e->first[function + 1], count = end - low;

	if (near >= low && near < end && e->keys[near] <= key &&
	    (near + 1 == end || e->keys[near + 1] > key)) {
		low = near;
		count = 1;
	}
	while (count > 1) {
		uint32_t half = count / 2;

		if (e->keys[low + half] <= key)
			low += half;
		count -= half;
	}
	*ret_offset = (uint32_t)(key - e->keys[low]);
	return low;
}

/*
 * Chooses the width, at most `most`, with the lowest total cost: values that do not fit are listed
 * apart at `listed` bits each. The largest value of the width means "listed", so count_by_len
 * counts the lengths of value + 1.
 */
static uint8_t width_for(const uint64_t *count_by_len, uint64_t value_count, unsigned int listed,
			 unsigned int most)
{
	uint64_t above = value_count, best_cost = UINT64_MAX;
	uint8_t best = 0;

	for (uint8_t width = 0; width <= 32 && width <= most; width++) {
		uint64_t cost;

		above -= count_by_len[width];
		cost = value_count * width + above * listed;
		if (cost < best_cost) {
			best_cost = cost;
			best = width;
		}
	}
	return best;
}

static void pack_line_bases(const struct rsym_line_bases *e, const struct rsym_line_bases_out *out,
			    struct rsym_disk_shape *shape)
{
	const struct rsym_content *c = e->content;
	uint64_t count_by_len[34] = {0}, listed;
	struct bits_out bits = {.out = out->line_bases};
	uint32_t function = 0;

	for (uint32_t i = 0; i < e->count; i++)
		count_by_len[bits_len(line_of_key(e->keys[i]) + UINT64_C(1))]++;
	shape->line_base_count = e->count;
	shape->line_base_bits = e->count ? (uint8_t)bits_len(e->count - 1) : 0;
	shape->file_bits = (uint8_t)bits_len(c->file_count);
	shape->line_bits = width_for(count_by_len, e->count, 8 * sizeof(struct rsym_disk_base),
				     RSYM_LINE_BASE_BITS_MAX - shape->file_bits);
	listed = (UINT64_C(1) << shape->line_bits) - 1;
	for (uint32_t i = 0; i < e->count; i += RSYM_GROUP) {
		struct rsym_disk_line_bases head = {.functions_before = function};
		uint32_t end = e->count - i < RSYM_GROUP ? e->count : i + RSYM_GROUP;
		uint64_t first = 0;

		for (uint32_t j = i; j < end; j++)
			if (function < c->function_count && e->first[function] == j) {
				first |= UINT64_C(1) << (j - i);
				function++;
			}
		head.first_low = (uint32_t)first;
		head.first_high = (uint32_t)(first >> 32);
		buf_append(out->line_bases, &head, sizeof(head));
		function = head.functions_before;
		for (uint32_t j = i; j < i + RSYM_GROUP; j++) {
			uint32_t file, line;

			if (j >= end) { /* the last group is padded */
				bits_put(&bits, 0, shape->file_bits);
				bits_put(&bits, 0, shape->line_bits);
				continue;
			}
			function += first >> (j - i) & 1;
			file = file_of_key(&c->functions[function - 1], e->keys[j]);
			line = line_of_key(e->keys[j]);
			bits_put(&bits, file == RSYM_NONE ? c->file_count : file, shape->file_bits);
			bits_put(&bits, line < listed ? line : listed, shape->line_bits);
			if (line >= listed) {
				struct rsym_disk_base base = {.line_base = j, .line = line};

				buf_append(out->bases, &base, sizeof(base));
			}
		}
		bits_flush(&bits);
	}
}

/*
 * Stores the lowest line of a function minus the line of its declaration. Returns true if that
 * describes the whole declaration: it is in the file of the first line base, or the function is a
 * symbol without one.
 */
static bool decl_of(const struct rsym_line_bases *e, uint32_t function, uint32_t *ret)
{
	const struct rsym_content_function *f = &e->content->functions[function];
	uint64_t key = e->keys[e->first[function]];

	if (f->flags & RSYM_FUNCTION_FROM_SYMBOL) {
		*ret = 0;
		return f->file == RSYM_NONE && f->line == 0;
	}
	*ret = line_of_key(key) - f->line;
	return file_of_key(f, key) == f->file && line_of_key(key) >= f->line;
}

static void pack_function(const struct rsym_line_bases *e, uint32_t function, struct bits_out *bits,
			  unsigned int width, struct buf *decls)
{
	const struct rsym_content_function *f = &e->content->functions[function];
	uint64_t listed;
	uint32_t delta;

	assert(width <= 32);
	listed = (UINT64_C(1) << width) - 1;
	if (decl_of(e, function, &delta) && delta < listed) {
		bits_put(bits, delta, width);
	} else {
		struct rsym_disk_decl decl = {
			.function = function, .file = f->file, .line = f->line};

		bits_put(bits, listed, width);
		buf_append(decls, &decl, sizeof(decl));
	}
}

static void pack_functions(const struct rsym_line_bases *e, const struct rsym_line_bases_out *out,
			   struct rsym_disk_shape *shape)
{
	const struct rsym_content *c = e->content;
	uint64_t count_by_len[34] = {0}, highest = 0;
	struct bits_out bits = {.out = out->functions};
	uint32_t names = 0, entries = 0, delta;

	shape->function_count = (uint32_t)c->function_count;
	shape->entry_base = UINT64_MAX;
	for (uint32_t i = 0; i < c->function_count; i++) {
		const struct rsym_content_function *f = &c->functions[i];

		count_by_len[decl_of(e, i, &delta) ? bits_len(delta + UINT64_C(1)) : 33]++;
		if (!(f->flags & RSYM_FUNCTION_HAS_ENTRY))
			continue;
		if (f->vaddr < shape->entry_base)
			shape->entry_base = f->vaddr;
		if (f->vaddr > highest)
			highest = f->vaddr;
	}
	if (shape->entry_base == UINT64_MAX)
		shape->entry_base = highest;
	shape->entry_bits = (uint8_t)bits_len(highest - shape->entry_base);
	shape->decl_bits =
		width_for(count_by_len, c->function_count, 8 * sizeof(struct rsym_disk_decl), 32);
	for (uint32_t i = 0; i < c->function_count; i += RSYM_GROUP) {
		struct rsym_disk_functions head = {.names_before = names,
						   .entries_before = entries};

		for (uint32_t j = i; j < c->function_count && j < i + RSYM_GROUP; j++) {
			const struct rsym_content_function *f = &c->functions[j];
			uint64_t bit = UINT64_C(1) << (j - i);

			if (j == 0 || f->name != f[-1].name) {
				head.name |= bit;
				names++;
			}
			if (f->flags & RSYM_FUNCTION_HAS_ENTRY) {
				head.entry |= bit;
				entries++;
			}
			if (f->flags & RSYM_FUNCTION_FROM_SYMBOL)
				head.symbol |= bit;
		}
		buf_append(out->functions, &head, sizeof(head));
		for (uint32_t j = i; j < i + RSYM_GROUP; j++) {
			if (j < c->function_count)
				pack_function(e, j, &bits, shape->decl_bits, out->decls);
			else
				bits_put(&bits, 0, shape->decl_bits);
		}
		bits_flush(&bits);
	}
	shape->entry_count = entries;
	bits = (struct bits_out){.out = out->entries};
	for (uint32_t i = 0; i < c->function_count; i++)
		if (c->functions[i].flags & RSYM_FUNCTION_HAS_ENTRY)
			bits_put(&bits, c->functions[i].vaddr - shape->entry_base,
				 shape->entry_bits);
	bits_flush(&bits);
}

void rsym_line_bases_pack(const struct rsym_line_bases *e, const struct rsym_line_bases_out *out,
			  struct rsym_disk_shape *shape)
{
	pack_line_bases(e, out, shape);
	pack_functions(e, out, shape);
}
