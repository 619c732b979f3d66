/* SPDX-License-Identifier: Apache-2.0 */
#include "jit.h"
#include "bisect.h"
#include "limits.h"

#include <string.h>

/* Most named ranges that are kept of one process. */
#define LIMIT_JIT_RANGES LIMIT(4096)

#define KEEP_NS    UINT64_C(10000000000)
#define MISS_NS    UINT64_C(1000000000) /* not in the map yet: JITs write it late */
/* A map that is missing or may not be read is asked for again after this time. A map that is
 * written meanwhile is to name code within two seconds, and the request and the reply take a round
 * each. */
#define NO_FILE_NS UINT64_C(500000000)

struct jit_range {
	uint64_t start, end;
	char *name;
};

static uint64_t images;

struct jit *jit_new(void)
{
	struct jit *j = calloc(1, sizeof(*j));

	if (j) {
		j->refs = 1;
		j->image = ++images;
	}
	return j;
}

struct jit *jit_of(uint32_t pid, uint64_t start_ns, uint64_t since_ns)
{
	struct jit *j = jit_new();

	if (j) {
		j->pid = pid;
		j->start_ns = start_ns;
		j->since_ns = j->seen_ns = since_ns;
	}
	return j;
}

struct jit *jit_ref(struct jit *j)
{
	j->refs++;
	return j;
}

static void forget_jit_rows(struct jit *j)
{
	for (size_t i = 0; i < j->count; i++)
		free(j->ranges[i].name);
	j->count = 0;
}

void jit_unref(struct jit *j)
{
	if (!j || --j->refs)
		return;
	forget_jit_rows(j);
	free(j->ranges);
	free(j);
}

/* Returns the index of the first range that ends behind pc. */
static size_t jit_range_at(const struct jit *j, uint64_t pc)
{
	return BISECT(j->count, i, j->ranges[i].end <= pc);
}

const char *jit_find(struct jit *j, uint64_t pc, uint64_t now_ns)
{
	size_t i;

	if (now_ns > j->until_ns)
		forget_jit_rows(j);
	i = jit_range_at(j, pc);
	return i < j->count && j->ranges[i].start <= pc ? j->ranges[i].name : NULL;
}

bool jit_want(struct jit *j, uint64_t pc, uint64_t now_ns)
{
	/* Most processes without a map never write one: no sample waits for that. */
	const bool may_come = !j->has_no_map;

	if (jit_find(j, pc, now_ns))
		return false;
	if (j->is_asked)
		return may_come;
	if (now_ns < j->ask_again_ns || j->pc_count == ARRAY_LEN(j->pcs))
		return may_come && j->pc_count > 0;
	for (size_t i = 0; i < j->pc_count; i++)
		if (j->pcs[i] == pc)
			return may_come;
	j->pcs[j->pc_count++] = pc;
	return may_come;
}

/* Adds a row. A newer row wins; the parts of older rows outside it stay. */
static void add_jit_row(struct jit *j, const struct perf_map_row *row)
{
	struct jit_range put[3] = {{.name = NULL}};
	size_t first, last, n = 0;
	uint64_t end;

	if (!row->len || !CHECKED_ADD(row->start, row->len, &end) ||
	    !GROW(j->ranges, &j->cap, j->count + 2, LIMIT_JIT_RANGES))
		return;
	first = jit_range_at(j, row->start);
	for (last = first; last < j->count && j->ranges[last].start < end; last++)
		;
	if (first < last && j->ranges[first].start < row->start)
		put[n++] = (struct jit_range){j->ranges[first].start, row->start,
					      strdup(j->ranges[first].name)};
	put[n++] = (struct jit_range){row->start, end, strndup(row->name, sizeof(row->name))};
	if (first < last && j->ranges[last - 1].end > end)
		put[n++] = (struct jit_range){end, j->ranges[last - 1].end,
					      strdup(j->ranges[last - 1].name)};
	for (size_t i = 0; i < n; i++) {
		if (put[i].name)
			continue;
		for (size_t k = 0; k < n; k++)
			free(put[k].name);
		return;
	}
	for (size_t i = first; i < last; i++)
		free(j->ranges[i].name);
	memmove(j->ranges + first + n, j->ranges + last, (j->count - last) * sizeof(*j->ranges));
	memcpy(j->ranges + first, put, n * sizeof(*put));
	j->count = j->count - (last - first) + n;
}

void jit_answer(struct jit *j, int rc, const struct perf_map_row *rows, size_t count,
		uint64_t now_ns)
{
	bool missed = false;

	if (!j->count || now_ns > j->until_ns)
		j->until_ns = now_ns + KEEP_NS;
	for (size_t i = 0; i < count && !rc; i++) {
		add_jit_row(j, &rows[i]);
		missed |= !rows[i].len;
	}
	j->is_asked = false;
	j->has_no_map = rc != 0;
	j->has_map |= !rc;
	j->pc_count = 0;
	j->ask_again_ns = rc ? now_ns + NO_FILE_NS : missed ? now_ns + MISS_NS : 0;
}
