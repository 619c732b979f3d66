/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_REPORT_H
#define RAWSTACK_PUSH_REPORT_H
/* What `push` prints of one file, and whether that is good. */
#include "build_id.h"
#include "remote.h"

struct push_line {
	const char *shown;
	const char *of; /* the file it was found beside, or NULL */
	struct build_id id;
	Rawstack__V1__BinaryKind kind;
	bool present;
	uint64_t sent;
	const Rawstack__V1__BuildReport *report; /* or NULL */
	const char *failed; /* why the service could make no table, escaped; or NULL */
};

/* One line on stdout; one object with json. */
int push_report_print(const struct push_line *line, bool json, struct err *err);

/* Returns whether a file of this kind would add to the table. */
bool push_report_misses(const Rawstack__V1__BuildReport *r, Rawstack__V1__BinaryKind kind);

/* 0 when everything was understood; ERR_DATA names the first thing that was not. */
int push_report_outcome(const struct push_line *line, struct err *err);

#endif
