/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_maps.h"

#include <string.h>

#include "bisect.h"
#include "limits.h"

/* The most mappings of all processes of a perf.data file together. */
#define LIMIT_PERF_MAPPINGS LIMIT(16777216)

void perf_maps_init(struct perf_maps *m)
{
	*m = (struct perf_maps){
		.pids = INTERN_INIT(LIMIT_PERF_PIDS, LIMIT_PERF_PIDS * sizeof(int32_t)),
	};
}

void perf_maps_done(struct perf_maps *m)
{
	for (size_t i = 0; i < m->pids.count; i++)
		free(m->spaces[i].maps);
	free(m->spaces);
	intern_done(&m->pids);
}

static struct perf_space *space_find(const struct perf_maps *m, int32_t pid)
{
	uint32_t id = intern_find(&m->pids, &pid, sizeof(pid));

	return id == INTERN_FULL ? NULL : &m->spaces[id];
}

static struct perf_space *space_of(struct perf_maps *m, int32_t pid)
{
	bool fresh;
	uint32_t id;

	/* Makes room first, so that every number has a space. */
	if (!GROW(m->spaces, &m->spaces_cap, m->pids.count + 1, LIMIT_PERF_PIDS + 1))
		return NULL;
	id = intern_add(&m->pids, &pid, sizeof(pid), &fresh);
	if (id == INTERN_FULL)
		return NULL;
	if (fresh)
		m->spaces[id] = (struct perf_space){0};
	return &m->spaces[id];
}

/* Returns the index of the first mapping that ends behind pc. */
static size_t map_position(const struct perf_space *s, uint64_t pc)
{
	return BISECT(s->count, i, s->maps[i].end <= pc);
}

/* Replaces `count` mappings at `at` by `with` (0 to 3 mappings). */
static bool replace_maps(struct perf_maps *m, struct perf_space *s, size_t at, size_t count,
			 const struct perf_map *with, size_t with_count)
{
	size_t total = s->count - count + with_count;

	if (m->total - count + with_count > LIMIT_PERF_MAPPINGS ||
	    !GROW(s->maps, &s->cap, total, LIMIT_PERF_MAPPINGS))
		return false;
	if (s->count > at + count)
		memmove(s->maps + at + with_count, s->maps + at + count,
			(s->count - at - count) * sizeof(*s->maps));
	if (with_count)
		memcpy(s->maps + at, with, with_count * sizeof(*with));
	m->total = m->total - s->count + total;
	s->count = total;
	return true;
}

bool perf_maps_add(struct perf_maps *m, int32_t pid, const struct perf_map *map)
{
	struct perf_space *s = space_of(m, pid);
	struct perf_map with[3];
	size_t first, last, n = 0;

	if (!s)
		return false;
	if (map->start >= map->end)
		return true;
	first = map_position(s, map->start);
	for (last = first; last < s->count && s->maps[last].start < map->end;)
		last++;
	if (last > first && s->maps[first].start < map->start) {
		with[n] = s->maps[first];
		with[n++].end = map->start;
	}
	with[n++] = *map;
	if (last > first && s->maps[last - 1].end > map->end) {
		with[n] = s->maps[last - 1];
		with[n++].start = map->end;
	}
	return replace_maps(m, s, first, last - first, with, n);
}

void perf_maps_remove(struct perf_maps *m, int32_t pid, uint64_t start)
{
	struct perf_space *s = space_find(m, pid);
	size_t at = s ? map_position(s, start) : 0;

	if (s && at < s->count && s->maps[at].start == start)
		(void)!replace_maps(m, s, at, 1, NULL, 0); /* fewer mappings always fit */
}

bool perf_maps_fork(struct perf_maps *m, int32_t parent, int32_t child)
{
	struct perf_space *to = space_of(m, child);
	const struct perf_space *from = space_find(m, parent);

	if (!to)
		return false;
	if (!from || from == to)
		return true;
	return replace_maps(m, to, 0, to->count, from->maps, from->count);
}

void perf_maps_exec(struct perf_maps *m, int32_t pid)
{
	struct perf_space *s = space_find(m, pid);

	if (s)
		(void)!replace_maps(m, s, 0, s->count, NULL, 0);
}

const struct perf_map *perf_maps_find(const struct perf_maps *m, int32_t pid, uint64_t pc)
{
	const struct perf_space *s = space_find(m, pid);
	size_t at = s ? map_position(s, pc) : 0;

	if (!s || at == s->count || s->maps[at].start > pc)
		return NULL;
	return &s->maps[at];
}
