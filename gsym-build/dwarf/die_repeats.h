/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_REPEATS_H
#define RAWSTACK_DIE_REPEATS_H
/*
 * Limits repeated reads of the same data. Thousands of functions may refer to one range list, and
 * many units to one line table or split unit; each reference makes scopes and rows of its own. The
 * bytes read for a whole file are compared with the bytes that exist, so that the work stays
 * proportional to the file's length. Both threads share the counters, and an excess fails the file
 * rather than one unit, so that the result does not depend on how the threads share the units.
 */
#include <stdatomic.h>

#include "base.h"
#include "err.h"
#include "limits.h"

/* The total length of range lists, line tables and split units read may be LIMIT_REPEATS times that
 * of the file's sections, because units and functions may share them. Producers refer to each once;
 * the highest factor seen is 1.25. LIMIT_REPEATS_FREE bytes are added to the sections' length. */
#define LIMIT_REPEATS      LIMIT(8)
#define LIMIT_REPEATS_FREE LIMIT(16384)

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

/* Adds read_len bytes read from data that is `len` bytes long. Returns false if the total is over
 * the limit. */
bool die_repeats_add(struct die_repeats *r, enum die_repeated what, uint64_t read_len,
		     uint64_t len);

bool die_repeats_is_over(const struct die_repeats *r, enum die_repeated what);

/* Returns ERR_LIMIT, naming the kind of data, if any total is over its limit. */
int die_repeats_check(const struct die_repeats *r, struct err *err) _must_check_;

#endif
