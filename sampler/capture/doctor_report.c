/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor_report.h"

#include <string.h>

#include "limits.h"

enum {
	BATCH_SAMPLES = 4096
};

void doctor_report_done(struct doctor_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->rows[i].path);
	free(r->rows);
	*r = (struct doctor_report){0};
}

/* Returns the row of a module, which it adds if needed, or NULL if there is no room. The search is
 * linear, because a host runs some hundred binaries only. */
static struct doctor_row *doctor_row_of(struct doctor_report *r, const struct spool_batch *b,
					const struct spool_module *m)
{
	const struct spool_string none = {"", 0};
	const struct spool_string *path = m->path < b->string_count ? &b->strings[m->path] : &none;
	struct doctor_row *row;
	char *copy;

	for (size_t i = 0; i < r->count; i++) {
		row = &r->rows[i];
		if (build_id_equal(&row->id, &m->id) && strlen(row->path) == path->len &&
		    !memcmp(row->path, path->p, path->len))
			return row;
	}
	copy = strndup(path->p, path->len);
	if (!copy || !GROW(r->rows, &r->cap, r->count + 1, LIMIT_BATCH_MODULES)) {
		free(copy);
		return NULL;
	}
	r->rows[r->count] = (struct doctor_row){.path = copy, .id = m->id};
	return &r->rows[r->count++];
}

static const struct spool_module *module_of_location(const struct spool_batch *b, uint32_t location)
{
	const struct location *l = &b->locations[location];

	return l->kind == LOCATION_FILE_OFF && l->module < b->module_count ? &b->modules[l->module]
									   : NULL;
}

static bool is_user_location(const struct location *l)
{
	return l->kind == LOCATION_FILE_OFF ||
	       (l->kind == LOCATION_UNRESOLVED && l->reason != UNRESOLVED_KERNEL) ||
	       (l->kind == LOCATION_HOST_NAMED &&
		(l->reason == HOST_SOURCE_VDSO || l->reason == HOST_SOURCE_PERF_MAP));
}

static void take_sample(struct doctor_report *r, const struct spool_batch *b,
			const struct spool_sample *s)
{
	const struct spool_stack *stack = &b->stacks[s->stack];
	uint32_t first = 0, last;
	struct doctor_row *row;

	while (first < stack->count && !is_user_location(&b->locations[stack->locations[first]]))
		first++;
	if (first == stack->count)
		return;
	r->samples += s->weight;
	for (uint32_t i = first; i < stack->count; i++) {
		const struct spool_module *m = module_of_location(b, stack->locations[i]);
		bool is_again = false;

		for (uint32_t j = first; j < i && m; j++)
			is_again |= module_of_location(b, stack->locations[j]) == m;
		row = m && !is_again ? doctor_row_of(r, b, m) : NULL;
		if (row)
			row->samples += s->weight;
	}
	/* Blame the frame before the implausible one. */
	last = stack->count - 1;
	if (stack->flags & SPOOL_STACK_IMPLAUSIBLE && last > first)
		last--;
	if (!module_of_location(b, stack->locations[last]))
		return;
	row = doctor_row_of(r, b, module_of_location(b, stack->locations[last]));
	if (row && stack->flags & SPOOL_STACK_IMPLAUSIBLE)
		row->cut += s->weight;
	else if (row && last == first)
		row->alone += s->weight;
}

static int compare_modules(const void *a, const void *b)
{
	const struct doctor_row *x = a, *y = b;
	uint64_t m = x->cut + x->alone, n = y->cut + y->alone;

	return m != n ? (m < n) - (m > n) : (x->samples < y->samples) - (x->samples > y->samples);
}

int doctor_report_read(struct doctor_report *r, const char *spool_dir, struct err *err)
{
	_cleanup_(spool_reader_closep) struct spool_reader *reader = NULL;
	struct spool_batch b;
	int rc;

	*r = (struct doctor_report){0};
	rc = spool_reader_open(&reader, spool_dir, NULL, err);
	if (rc)
		return rc;
	spool_reader_from_start(reader);
	while ((rc = spool_reader_next(reader, BATCH_SAMPLES, &b, err)) > 0)
		for (size_t i = 0; i < b.sample_count; i++)
			take_sample(r, &b, &b.samples[i]);
	if (r->count)
		qsort(r->rows, r->count, sizeof(*r->rows), compare_modules);
	return rc;
}
