/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DOCTOR_REPORT_H
#define RAWSTACK_DOCTOR_REPORT_H
/*
 * Finds the binaries that cut stacks short, in the samples of a spool. A walk follows frame
 * pointers. Code that uses their register for something else ends it in one of two ways: with a
 * caller that lies in no executable memory, or with no caller of the leaf. The binary of the last
 * frame is charged. One thread.
 */
#include "spool.h"

struct doctor_row {
	char *path; /* owned by the report; untrusted bytes */
	struct build_id id;
	uint64_t samples; /* that have a frame in it */
	uint64_t cut;     /* stacks that end with a caller in no memory */
	uint64_t alone;   /* stacks that have no other frame */
};

struct doctor_report {
	struct doctor_row *rows;
	size_t count, cap;
	uint64_t samples; /* all, with a user part */
};

/* Reads a whole spool. The most harmful binaries come first. */
int doctor_report_read(struct doctor_report *r, const char *spool_dir, struct err *err);
void doctor_report_done(struct doctor_report *r);

#endif
