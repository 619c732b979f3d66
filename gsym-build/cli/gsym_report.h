/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_REPORT_H
#define RAWSTACK_GSYM_REPORT_H
/* The report of `build`, for people and for pipelines. */
#include "bytes.h"
#include "table_build.h"

struct gsym_outcome {
	const char *input, *output;
	const struct build_report *report;
	struct bytes missing; /* as in struct table_request; may be empty */
	struct err *failed;   /* NULL if the build succeeded */
};

/* Prints one line on stdout, and one on stderr for each kind of missing file. */
void gsym_report_print(const struct gsym_outcome *o);

/* Prints one JSON object on stdout, also for a failed build. Reads the content of the table from
 * its file. */
int gsym_report_print_json(const struct gsym_outcome *o, struct err *err);

#endif
