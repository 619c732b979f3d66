/* SPDX-License-Identifier: Apache-2.0 */
#include "companion_options.h"

const struct option_row companion_option_rows[] = {
	OPTION_TEXT(0, "dwp", "DWP", struct companion_options, dwp,
		    "the package with the split units of FILE; default: FILE.dwp"),
	OPTION_TEXT(0, "alt", "ALT", struct companion_options, alt,
		    "the dwz file that FILE refers to; default: searched by its link and build id"),
	OPTION_FLAG(0, "no-dwo", struct companion_options, no_dwo,
		    "do not read the .dwo files that FILE names"),
	OPTION_END,
};

int companion_options_open(const struct companion_options *o, const char *file,
			   struct companions *c, struct err *err)
{
	*c = (struct companions){.alt_path = o->alt};
	if (o->dwp)
		return companions_add(c, o->dwp, TABLE_COMPANION_DWP, err);
	companions_add_package(c, file);
	return 0;
}
