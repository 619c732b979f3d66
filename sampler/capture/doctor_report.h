/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DOCTOR_REPORT_H
#define RAWSTACK_DOCTOR_REPORT_H
/*
 * Which binaries cut stacks short, from the samples of a spool. The kernel follows frame pointers;
 * code that uses their register for something else ends a stack in one of two ways: with a caller
 * that lies in no executable memory, or with nothing behind the leaf. The binary that is charged is
 * the one whose frame came last. One thread.
 */
#include "spool.h"

struct doctor_row {
	char *path; /* owned by the report; untrusted bytes */
	struct build_id id;
	uint64_t samples; /* with a frame of it */
	uint64_t cut;     /* stacks it ended: a caller in no memory */
	uint64_t alone;   /* stacks of its frame alone */
};

struct doctor_report {
	struct doctor_row *rows;
	size_t count, cap;
	uint64_t samples; /* all, with a user part */
};

/* Reads a whole spool. Rows come most harmful first. */
int doctor_report_read(struct doctor_report *r, const char *spool_dir, struct err *err);
void doctor_report_done(struct doctor_report *r);

#endif
