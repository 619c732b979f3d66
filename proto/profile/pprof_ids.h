/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PPROF_IDS_H
#define RAWSTACK_PPROF_IDS_H
/*
 * Maps the ids by which rows of a pprof file refer to each other to rows of a profile. Ids are any
 * numbers but 0, and in nearly all files 1, 2, 3. Ids below dense_max index an array, whose length
 * the length of the message bounds; of the others rows[i] is the row of the i-th id seen. Private
 * to the reader.
 */
#include "profile.h"

struct pprof_ids {
	uint32_t *dense; /* row by id; PROFILE_NONE: not seen */
	size_t dense_cap, dense_max;
	struct intern ids;
	uint32_t *rows;
	size_t rows_cap;
};

enum pprof_ids_result {
	PPROF_IDS_DONE,
	PPROF_IDS_FULL,  /* memory was out, or a limit was reached */
	PPROF_IDS_ZERO,  /* 0 is no id */
	PPROF_IDS_TWICE, /* the id has a row already */
};

void pprof_ids_init(struct pprof_ids *ids, size_t message_len);
void pprof_ids_done(struct pprof_ids *ids);

/* Gives an id its row. A row of PROFILE_NONE, the result of an add to a full profile, gives
 * PPROF_IDS_FULL. */
enum pprof_ids_result pprof_ids_put(struct pprof_ids *ids, uint64_t id, uint32_t row);

uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id);

/* Returns the row of an id, or PROFILE_NONE. */
static inline uint32_t pprof_ids_get(const struct pprof_ids *ids, uint64_t id)
{
	return id < ids->dense_cap ? ids->dense[id] : pprof_ids_find(ids, id);
}

#endif
