/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_REPORT_H
#define RAWSTACK_PUSH_REPORT_H
/* Prints what `push` did with one file, and decides whether that is a success. */
#include "build_id.h"
#include "remote.h"

struct push_line {
	const char *shown;
	const char *of; /* the file that it belongs to, or NULL */
	struct build_id id;
	Rawstack__V1__BinaryKind kind;
	bool present;
	uint64_t sent;
	const Rawstack__V1__BuildReport *report; /* or NULL */
	const char *failed; /* why the service could not make a table, escaped; or NULL */
};

/* Prints one line on stdout, or one object if json is set. */
int push_report_print(const struct push_line *line, bool json, struct err *err);

/* Returns whether a file of this kind would improve the table. */
bool push_report_misses(const Rawstack__V1__BuildReport *r, Rawstack__V1__BinaryKind kind);

/* Returns 0 if everything was understood, or ERR_DATA, which names the first thing that was not. */
int push_report_outcome(const struct push_line *line, struct err *err);

#endif
