/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MISSING_SHARES_H
#define RAWSTACK_MISSING_SHARES_H
/*
 * Chooses which missing ids to remember when there are too many. Each client has an equal share,
 * and the others use what a client leaves of its share. So a client that asks for thousands of ids
 * drives out its own, whatever weights it gives them. This module knows neither the store nor
 * requests.
 */
#include "build_id.h"

struct missing_row {
	struct build_id id;
	uint64_t weight, last_ns;
	uint32_t client;   /* whose share the row is in */
	uint32_t asked_by; /* who asks for it now, if is_asked */
	uint32_t note;     /* the caller's own */
	bool is_asked;
	bool gone; /* result: to be forgotten */
};

/*
 * Does nothing below max rows. Otherwise sorts the rows and sets `gone` in so many that max stay. A
 * client that has more than its share loses its lightest rows, and first those that nobody asks for
 * now; otherwise a new id could never become heavy. A row of such a client moves to a client that
 * asks for it and has less than its share: a flood that asked first does not cost others the id.
 * Takes time n log n.
 */
void missing_shares_cut(struct missing_row *rows, size_t count, size_t max);

#endif
