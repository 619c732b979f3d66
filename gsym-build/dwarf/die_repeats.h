/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_REPEATS_H
#define RAWSTACK_DIE_REPEATS_H
/*
 * What is referred to again and again: thousands of functions may name one range list, units one
 * line table or one split unit, and each makes scopes and rows of its own from it. What a whole
 * file has read of each is held against what there is, so that the work follows the file's length.
 * Counted by both threads together; too much is an error of the file, not of the unit that came
 * last, so that the outcome is the same however the units were shared out.
 */
#include <stdatomic.h>

#include "base.h"
#include "err.h"

enum die_repeated {
	DIE_REPEATED_RANGES,
	DIE_REPEATED_LINES,
	DIE_REPEATED_SPLIT,
	DIE_REPEATED_COUNT,
};

struct die_repeats {
	_Atomic uint64_t read_len[DIE_REPEATED_COUNT];
	atomic_bool too_much[DIE_REPEATED_COUNT];
};

/* Adds what was read, of something that is `len` long in all. False when it is too much now. */
bool die_repeats_add(struct die_repeats *r, enum die_repeated what, uint64_t read_len,
		     uint64_t len);

bool die_repeats_is_over(const struct die_repeats *r, enum die_repeated what);

/* ERR_LIMIT, with what it was, when anything is too much. */
int die_repeats_check(const struct die_repeats *r, struct err *err) _must_check_;

#endif
