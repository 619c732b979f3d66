/* SPDX-License-Identifier: Apache-2.0 */
#include "ranking.h"

#include <stdlib.h>
#include <string.h>

/* The key of a row, compared as bytes. */
struct row_key {
	uint32_t function; /* id in the function set */
	uint32_t inlined, kernel;
};

struct line_key {
	uint32_t row, file, line;
};

struct maker {
	const struct profile *p;
	struct function_set functions;
	struct intern row_keys, line_keys;
	struct ranking_row *rows;
	int64_t *line_weights;
	uint32_t *seen; /* per row: number of the last sample that counted, plus 1 */
	size_t rows_cap, lines_cap, seen_cap;
	int64_t *modules; /* per module, and one more for "none" */
};

static void ranking_maker_done(struct maker *m)
{
	function_set_done(&m->functions);
	intern_done(&m->row_keys);
	intern_done(&m->line_keys);
	free(m->rows);
	free(m->line_weights);
	free(m->seen);
	free(m->modules);
}

static bool count_line(struct maker *m, const struct line_key *key, int64_t weight)
{
	bool fresh;
	uint32_t id = intern_add(&m->line_keys, key, sizeof(*key), &fresh);

	if (id == INTERN_FULL ||
	    !GROW(m->line_weights, &m->lines_cap, m->line_keys.count, LIMIT_PROFILE_ENTRIES))
		return false;
	if (fresh)
		m->line_weights[id] = 0;
	add_capped(&m->line_weights[id], weight);
	return true;
}

/* Counts line k of a location in sample number `sample`. */
static bool count_ranked_frame(struct maker *m, uint32_t sample, const struct profile_location *l,
			       size_t k, int64_t weight, bool leaf)
{
	const struct profile_function f = profile_function(m->p, l->lines[k].function);
	const struct row_key at = {
		.function = function_set_of(&m->functions, l->lines[k].function, l->module),
		.inlined = k + 1 < l->line_count,
		.kernel = profile_is_kernel(m->p, l->module),
	};
	const struct row_key *key = &at;
	bool fresh;
	uint32_t id = intern_add(&m->row_keys, key, sizeof(*key), &fresh);
	struct ranking_row *row;

	if (id == INTERN_FULL ||
	    !GROW(m->rows, &m->rows_cap, m->row_keys.count, LIMIT_PROFILE_ENTRIES) ||
	    !GROW(m->seen, &m->seen_cap, m->row_keys.count, LIMIT_PROFILE_ENTRIES))
		return false;
	row = &m->rows[id];
	if (fresh) {
		*row = (struct ranking_row){
			.name = profile_text(m->p, f.name),
			.file = profile_text(m->p, f.file),
			.home = function_set_home(&m->functions, key->function),
			.inlined = key->inlined,
			.kernel = key->kernel,
		};
		row->named = !profile_is_placeholder(row->name);
		if (l->module != PROFILE_NONE)
			row->module = profile_text(m->p, m->p->modules[l->module].path);
		m->seen[id] = 0;
	}
	if (leaf)
		add_capped(&row->self, weight);
	if (m->seen[id] == sample + 1)
		return true; /* recursion: a sample counts once */
	m->seen[id] = sample + 1;
	add_capped(&row->cum, weight);
	return count_line(m, &(struct line_key){id, f.file, l->lines[k].line}, weight);
}

static bool count_location(struct maker *m, uint32_t sample, const struct profile_location *l,
			   int64_t weight, bool leaf)
{
	for (size_t i = 0; i < l->line_count; i++)
		if (!count_ranked_frame(m, sample, l, i, weight, leaf && i == 0))
			return false;
	return true;
}

static bool leaf_is_unnamed(const struct maker *m, const struct profile_location *l)
{
	struct profile_function f;

	if (!l->line_count)
		return true;
	f = profile_function(m->p, l->lines[0].function);
	return profile_is_placeholder(profile_text(m->p, f.name));
}

/* Frames without lines, which foreign files have, get no row: they are shown as modules. */
static bool count_ranked_sample(struct maker *m, struct ranking *r, uint32_t sample, int64_t weight)
{
	const uint32_t *locations;
	size_t count;

	locations = profile_stack(m->p, profile_sample(m->p, sample).stack, &count);
	add_capped(&r->total, weight);
	for (size_t i = 0; i < count; i++) {
		struct profile_location l = profile_location(m->p, locations[i]);

		if (i == 0 && leaf_is_unnamed(m, &l)) {
			size_t module =
				l.module == PROFILE_NONE ? m->p->module_keys.count : l.module;

			add_capped(&r->unnamed_self, weight);
			add_capped(&m->modules[module], weight);
		}
		if (!count_location(m, sample, &l, weight, i == 0))
			return false;
	}
	return true;
}

static int compare_row_names(const struct ranking_row *a, const struct ranking_row *b)
{
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int rc = memcmp(a->name.p, b->name.p, len);

	if (rc)
		return rc;
	return a->name.len < b->name.len ? -1 : a->name.len > b->name.len;
}

static int by_self(const void *x, const void *y)
{
	const struct ranking_row *a = x, *b = y;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->cum != b->cum)
		return a->cum < b->cum ? 1 : -1;
	return compare_row_names(a, b);
}

static int by_cum_then_self(const void *x, const void *y)
{
	const struct ranking_row *a = x, *b = y;

	return a->cum != b->cum ? (a->cum < b->cum ? 1 : -1) : by_self(x, y);
}

static int by_module_self(const void *x, const void *y)
{
	const struct ranking_module *a = x, *b = y;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return a->module < b->module ? -1 : a->module > b->module;
}

static bool list_modules(struct maker *m, struct ranking *r)
{
	size_t count = m->p->module_keys.count + 1;

	r->unnamed = calloc(count, sizeof(*r->unnamed));
	if (!r->unnamed)
		return false;
	for (size_t i = 0; i < count; i++)
		if (m->modules[i])
			r->unnamed[r->unnamed_count++] = (struct ranking_module){
				i + 1 == count ? PROFILE_NONE : (uint32_t)i, m->modules[i]};
	qsort(r->unnamed, r->unnamed_count, sizeof(*r->unnamed), by_module_self);
	return true;
}

/* Gives each row its line of most weight, and among equal ones the lowest. */
static bool choose_lines(struct maker *m)
{
	_cleanup_(freep) int64_t *best = calloc(m->row_keys.count + 1, sizeof(*best));
	struct line_key key;

	if (!best)
		return false;
	for (uint32_t i = 0; i < m->line_keys.count; i++) {
		struct ranking_row *row;

		memcpy(&key, intern_get(&m->line_keys, i, NULL), sizeof(key));
		row = &m->rows[key.row];
		if (!key.line || m->line_weights[i] < best[key.row] ||
		    (m->line_weights[i] == best[key.row] && row->line && row->line <= key.line))
			continue;
		best[key.row] = m->line_weights[i];
		row->line = key.line;
		row->file = profile_text(m->p, key.file);
	}
	return true;
}

int ranking_make(struct ranking *r, const struct profile *p, uint32_t value, bool by_cum,
		 struct err *err)
{
	_cleanup_(ranking_maker_done) struct maker m = {
		.p = p,
		.row_keys = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
		.line_keys = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
	};
	bool ok = true;

	*r = (struct ranking){0};
	if (function_set_make(&m.functions, p, err))
		return err->code;
	m.modules = calloc(p->module_keys.count + 1, sizeof(*m.modules));
	if (!m.modules)
		return err_no_memory(err);
	for (uint32_t i = 0; ok && i < p->samples.count; i++)
		ok = count_ranked_sample(&m, r, i, profile_values(p, i)[value]);
	if (!ok || !choose_lines(&m) || !list_modules(&m, r)) {
		ranking_done(r);
		return err_no_memory(err);
	}
	r->row_count = m.row_keys.count;
	r->rows = TAKE_PTR(m.rows);
	if (r->row_count)
		qsort(r->rows, r->row_count, sizeof(*r->rows), by_cum ? by_cum_then_self : by_self);
	return 0;
}

void ranking_done(struct ranking *r)
{
	free(r->rows);
	free(r->unnamed);
	*r = (struct ranking){0};
}
