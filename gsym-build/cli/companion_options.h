/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMPANION_OPTIONS_H
#define RAWSTACK_COMPANION_OPTIONS_H
/* The options of `build` and `verify` that say where to find the files that a debug file refers
 * to. */
#include "gsym_companions.h"
#include "options.h"

struct companion_options {
	const char *dwp, *alt; /* borrowed; NULL to search where the file says */
	bool no_dwo;
};

extern const struct option_row companion_option_rows[];

/* Adds the package of split units to the companions of `file`: the one named by an option, else
 * FILE.dwp if it exists. The caller closes *c even after an error. Returns errors as
 * companions_add(). */
int companion_options_open(const struct companion_options *o, const char *file,
			   struct companions *c, struct err *err) _must_check_;

#endif
