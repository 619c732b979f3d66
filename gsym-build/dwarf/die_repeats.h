/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_REPEATS_H
#define RAWSTACK_DIE_REPEATS_H
/*
 * Limits repeated reads of the same data. Thousands of functions may refer to one range list, and
 * many units to one line table or split unit; each reference makes scopes and rows of its own. The
 * bytes read in a whole file are compared with the bytes that exist, so that the work is
 * proportional to the file's length. Both threads count together, and an excess is an error of the
 * file, not of one unit, so that the outcome does not depend on how the threads share the units.
 */
#include <stdatomic.h>

#include "base.h"
#include "err.h"
#include "limits.h"

/* How many times over the range lists, line tables and split units of a file are read, for units
 * and functions may share them: a producer refers to each once, and 1.25 times is the most that was
 * seen. The second limit is in bytes, which may be read so often in any case. */
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

/* Adds read_len bytes read from data that is `len` bytes long. False when the total is over the
 * limit. */
bool die_repeats_add(struct die_repeats *r, enum die_repeated what, uint64_t read_len,
		     uint64_t len);

bool die_repeats_is_over(const struct die_repeats *r, enum die_repeated what);

/* ERR_LIMIT, naming the kind of data, when any total is over its limit. */
int die_repeats_check(const struct die_repeats *r, struct err *err) _must_check_;

#endif
