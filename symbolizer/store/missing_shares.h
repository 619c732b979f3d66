/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MISSING_SHARES_H
#define RAWSTACK_MISSING_SHARES_H
/*
 * Which ids that are missing are remembered when there are too many: each client has an equal
 * share, and what one leaves of its share is for the others. So a client that asks for thousands of
 * ids drives out its own, whatever weights it gives them. Knows neither the store nor requests.
 */
#include "build_id.h"

struct missing_row {
	struct build_id id;
	uint64_t weight, last_ns;
	uint32_t client;   /* in whose share it is */
	uint32_t asked_by; /* who asks for it now, if is_asked */
	uint32_t note;     /* the caller's own */
	bool is_asked;
	bool gone; /* out: to be forgotten */
};

/*
 * When there are max rows or more: sorts them, and marks so many that max stay. Of a client that
 * has more than its share the lightest go, first of those that nobody asks for now: else a new id
 * would never get heavy. A row of a client that has more than an equal share goes to the one who
 * asks for it and has less: an id is not lost for having been asked for by a flood before. Takes
 * time n log n.
 */
void missing_shares_cut(struct missing_row *rows, size_t count, size_t max);

#endif
