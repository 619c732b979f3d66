/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GSYM_REPORT_H
#define RAWSTACK_GSYM_REPORT_H
/* What `build` says of a build, for people and for pipelines. */
#include "bytes.h"
#include "table_build.h"

struct gsym_outcome {
	const char *input, *output;
	const struct build_report *report;
	struct bytes missing; /* as of struct table_request; may be empty */
	struct err *failed;   /* NULL: it went well */
};

/* One line on stdout, and one on stderr for each kind of thing that is missing. */
void gsym_report_print(const struct gsym_outcome *o);

/* One JSON object on stdout, of a build that failed too; what the table holds is read from it. */
int gsym_report_print_json(const struct gsym_outcome *o, struct err *err);

#endif
