/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RANKING_H
#define RAWSTACK_RANKING_H
/*
 * Ranks the functions of a profile by weight. A row is a function as people see it
 * (function_set.h), inlined or not; its line is the one with most of its weight.
 */
#include "function_set.h"

struct ranking_row {
	struct profile_text name, file; /* all texts are borrowed from the profile */
	uint32_t line;                  /* line of that file; 0: not known */
	struct profile_text home;       /* function_set_home() */
	struct profile_text module;     /* path of one of the modules that have it */
	bool inlined, kernel, named;
	int64_t self; /* weight of samples with it as innermost frame */
	int64_t cum;  /* weight of samples with it in the stack, each counted once */
};

struct ranking_module {
	uint32_t module; /* row of the profile, or PROFILE_NONE */
	int64_t self;    /* weight of samples whose innermost frame is in it and has no name */
};

struct ranking {
	struct ranking_row *rows; /* by falling self, or cum */
	size_t row_count;
	struct ranking_module *unnamed; /* by falling self; only modules with any */
	size_t unnamed_count;
	int64_t total; /* weight of all samples */
	int64_t unnamed_self;
};

/* Makes the ranking. `value` is a row of p->value_types. `p` must outlive it. Returns ERR_MEMORY.
 */
int ranking_make(struct ranking *r, const struct profile *p, uint32_t value, bool by_cum,
		 struct err *err) _must_check_;
void ranking_done(struct ranking *r);

#endif
