/* SPDX-License-Identifier: Apache-2.0 */
#include "segment_cache.h"

#include <string.h>

/* A file that could not be read is tried again after this time, by way of another process. */
#define RETRY_NS UINT64_C(30000000000)

void segment_cache_init(struct segment_cache *c)
{
	*c = (struct segment_cache){
		.ids = INTERN_INIT(LIMIT_SEGMENT_CACHE, LIMIT_SEGMENT_CACHE * BUILD_ID_MAX)};
}

static void forget_rows(struct segment_cache *c)
{
	for (size_t i = 0; i < c->ids.count; i++)
		free(c->list[i].rows);
}

void segment_cache_done(struct segment_cache *c)
{
	forget_rows(c);
	free(c->list);
	intern_done(&c->ids);
	*c = (struct segment_cache){.list = NULL};
}

int segment_cache_find(const struct segment_cache *c, const struct build_id *id, uint64_t now_ns,
		       const struct file_segment **ret, size_t *ret_count)
{
	const uint32_t at = intern_find(&c->ids, id->bytes, id->len);
	const struct segment_row *row;

	if (at == INTERN_FULL)
		return 0;
	row = &c->list[at];
	if (!row->rows)
		return now_ns < row->retry_ns ? -1 : 0;
	*ret = row->rows;
	*ret_count = row->count;
	return 1;
}

/* Returns the row of the id, perhaps a new one; NULL: out of memory. */
static struct segment_row *segment_row_of(struct segment_cache *c, const struct build_id *id)
{
	uint32_t at = intern_find(&c->ids, id->bytes, id->len);

	if (at != INTERN_FULL)
		return &c->list[at];
	if (c->ids.count == c->ids.max_count) {
		forget_rows(c);
		intern_reset(&c->ids);
	}
	if (!GROW(c->list, &c->cap, c->ids.count + 1, LIMIT_SEGMENT_CACHE))
		return NULL;
	at = intern_add(&c->ids, id->bytes, id->len, NULL);
	if (at == INTERN_FULL)
		return NULL;
	c->list[at] = (struct segment_row){.rows = NULL};
	return &c->list[at];
}

void segment_cache_put(struct segment_cache *c, const struct build_id *id,
		       const struct file_segments *segments, uint64_t now_ns)
{
	struct segment_row *row = segment_row_of(c, id);
	const size_t count = segments ? segments->count : 0;

	if (!row || row->rows)
		return;
	row->retry_ns = now_ns + RETRY_NS;
	if (!count)
		return;
	row->rows = malloc(count * sizeof(*row->rows));
	if (!row->rows)
		return;
	memcpy(row->rows, segments->rows, count * sizeof(*row->rows));
	row->count = (uint32_t)count;
}
