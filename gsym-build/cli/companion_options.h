/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMPANION_OPTIONS_H
#define RAWSTACK_COMPANION_OPTIONS_H
/* The options of `build` and `verify` that say where the files lie that a debug file refers to. */
#include "gsym_companions.h"
#include "options.h"

struct companion_options {
	const char *dwp, *alt; /* borrowed; NULL: where the file says */
	bool no_dwo;
};

extern const struct option_row companion_option_rows[];

/* Begins the companions of `file` with its package of split units: the one that was named, or
 * FILE.dwp if there is one. *c is closed by the caller, after an error too. Errors as
 * companions_add(). */
int companion_options_open(const struct companion_options *o, const char *file,
			   struct companions *c, struct err *err) _must_check_;

#endif
