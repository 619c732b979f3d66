/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DOCTOR_REPORT_H
#define RAWSTACK_DOCTOR_REPORT_H
/*
 * Finds the binaries that cut stacks short in the samples of a spool. A walk follows frame
 * pointers, and code that uses their register for something else ends it in one of two ways: with a
 * caller that lies in no executable memory, or with no caller of the leaf. The binary of the last
 * frame is blamed.
 */
#include "spool.h"

struct doctor_row {
	char *path; /* owned by the report; untrusted bytes */
	struct build_id id;
	uint64_t samples; /* samples with a frame in this binary */
	uint64_t cut;     /* samples whose stack it ends with a caller in no executable memory */
	uint64_t alone;   /* samples whose only user frame is in it */
};

struct doctor_report {
	struct doctor_row *rows;
	size_t count, cap;
	uint64_t samples; /* all samples with a user part */
};

/* Reads a whole spool. The binaries that cut most stacks come first. Returns 0 or an error; either
 * way the caller frees the report with doctor_report_done(). */
int doctor_report_read(struct doctor_report *r, const char *spool_dir, struct err *err);
void doctor_report_done(struct doctor_report *r);

#endif
