/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LATE_JIT_H
#define RAWSTACK_LATE_JIT_H
/* The places without a name of one program (jit.h), and the request for their names that is under
 * way. late_names.h decides when to ask. One thread uses it. */
#include "jit.h"

struct late_jit {
	uint64_t *slots; /* open addressing; 0: free. No code is at address 0 */
	size_t slot_count, count;
	bool had_turn; /* names were asked for when its map appeared */

	/* While names are asked for: all places, ascending; a place becomes 0 once it is named.
	 * NULL: nothing is asked for. */
	uint64_t *asked;
	size_t asked_count;
	size_t at, part; /* the request: from where on, and how many */
	bool is_under_way;
	uint64_t not_before_ns;
	unsigned int again_count;

	/* The answer, until it is handled. */
	bool is_answered;
	int rc;
	struct perf_map_row *rows;
	size_t row_count;
};

/* Adds the place of a call. Returns true when it is new and there was memory for it. */
bool late_jit_put(struct late_jit *t, uint64_t pc);

/* Takes what the perf map has; rc tells why it has nothing, or is 0. Does nothing when j waits for
 * no answer. */
void late_jit_answer(struct jit *j, int rc, const struct perf_map_row *rows, size_t count);

#endif
