/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RANKING_H
#define RAWSTACK_RANKING_H
/*
 * Functions of a profile by weight. A row is a function as people think of it (function_set.h),
 * inlined or not; its place is the line that carries most of its weight.
 */
#include "function_set.h"

struct ranking_row {
	struct profile_text name, file; /* borrowed from the profile, as the others */
	uint32_t line;                  /* in that file; 0: not known */
	struct profile_text home;       /* function_set_home() */
	struct profile_text module;     /* a path: one of those that have it */
	bool inlined, kernel, named;
	int64_t self; /* samples whose innermost frame it is */
	int64_t cum;  /* samples with it anywhere in the stack, each counted once */
};

struct ranking_module {
	uint32_t module; /* of the profile, or PROFILE_NONE */
	int64_t self;    /* weight of samples whose innermost frame lies in it without a name */
};

struct ranking {
	struct ranking_row *rows; /* by falling self, or cum */
	size_t row_count;
	struct ranking_module *unnamed; /* by falling self; only those with any */
	size_t unnamed_count;
	int64_t total; /* of all samples */
	int64_t unnamed_self;
};

/* `value` is a row of p->value_types. ERR_MEMORY. `p` must outlive the ranking. */
int ranking_make(struct ranking *r, const struct profile *p, uint32_t value, bool by_cum,
		 struct err *err) _must_check_;
void ranking_done(struct ranking *r);

#endif
