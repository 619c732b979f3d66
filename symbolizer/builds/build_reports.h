/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUILD_REPORTS_H
#define RAWSTACK_BUILD_REPORTS_H
/* The report of a table for clients: what it has, what it was made of, and what would improve it.
 */
#include "arena.h"
#include "buf.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rsym.h"
#include "table_build.h"

/* The worker's report about the table it made. */
struct build_said {
	const struct build_report *report;
	const struct buf *missing; /* untrusted bytes, as table_build.h describes them */
	uint64_t input_len;
	bool is_kallsyms; /* the input: nothing else can belong to it */
};

/* Makes the report of a table that the worker made. *ret is in the arena. */
int build_report_made(const struct rsym *table, const struct build_said *said, struct arena *arena,
		      Rawstack__V1__BuildReport **ret, struct err *err) _must_check_;

/* Makes the report of a table that a client made, which brings its own. */
int build_report_taken(const struct rsym *table, struct arena *arena,
		       Rawstack__V1__BuildReport **ret, struct err *err) _must_check_;

/* Makes the report of a companion file, which is kept for a table and makes none itself. */
int build_report_kept(uint64_t input_len, struct arena *arena, Rawstack__V1__BuildReport **ret,
		      struct err *err) _must_check_;

/* build_score() returns how much a table knows. More is better, and BUILD_COMPLETE is the best. */
enum {
	BUILD_COMPLETE = 7
};
int build_score(const Rawstack__V1__BuildReport *r);

#endif
