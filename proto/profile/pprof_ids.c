/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof_ids.h"

#include <string.h>

/* Every row of a message takes two bytes or more, which bounds the array. */
void pprof_ids_init(struct pprof_ids *ids, size_t message_len)
{
	*ids = (struct pprof_ids){
		.dense_max = message_len / 2 + 1,
		.ids = INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES),
	};
}

void pprof_ids_done(struct pprof_ids *ids)
{
	intern_done(&ids->ids);
	free(ids->rows);
	free(ids->dense);
}

static enum pprof_ids_result put_dense(struct pprof_ids *ids, size_t id, uint32_t row)
{
	size_t before = ids->dense_cap;

	if (!GROW(ids->dense, &ids->dense_cap, id + 1, ids->dense_max))
		return PPROF_IDS_FULL;
	if (ids->dense_cap > before)
		memset(ids->dense + before, 0xff, (ids->dense_cap - before) * sizeof(*ids->dense));
	if (ids->dense[id] != PROFILE_NONE)
		return PPROF_IDS_TWICE;
	ids->dense[id] = row;
	return PPROF_IDS_DONE;
}

enum pprof_ids_result pprof_ids_put(struct pprof_ids *ids, uint64_t id, uint32_t row)
{
	bool fresh;
	uint32_t index;

	if (row == PROFILE_NONE)
		return PPROF_IDS_FULL;
	if (!id)
		return PPROF_IDS_ZERO;
	if (id < ids->dense_max)
		return put_dense(ids, id, row);
	index = intern_add(&ids->ids, &id, sizeof(id), &fresh);
	if (index == INTERN_FULL)
		return PPROF_IDS_FULL;
	if (!fresh)
		return PPROF_IDS_TWICE;
	if (!GROW(ids->rows, &ids->rows_cap, ids->ids.count, LIMIT_PROFILE_ENTRIES))
		return PPROF_IDS_FULL;
	ids->rows[index] = row;
	return PPROF_IDS_DONE;
}

uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	uint32_t index = intern_find(&ids->ids, &id, sizeof(id));

	return index == INTERN_FULL || !ids->rows ? PROFILE_NONE : ids->rows[index];
}
