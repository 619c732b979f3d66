/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_RIGHTS_H
#define RAWSTACK_PERF_RIGHTS_H
/*
 * Explains why the kernel refuses a perf event, and what to do about it. Besides capabilities(7)
 * there is kernel.perf_event_paranoid: up to 2, CAP_PERFMON is enough; above that, kernels of
 * Debian (whose default is 3) and of Ubuntu (4) ask for CAP_SYS_ADMIN when an event is opened.
 */
#include "err.h"

/* The rights that the refused call needs. */
enum perf_rights_need {
	PERF_RIGHTS_BPF,  /* CAP_BPF and CAP_PERFMON, for a BPF program */
	PERF_RIGHTS_PERF, /* CAP_PERFMON, for an event */
};

/* Reads kernel.perf_event_paranoid. Returns 1 and sets *ret, or 0 if it cannot be read. */
int perf_rights_paranoid(int *ret);

/* Writes to `text` what that setting asks of this process and the two remedies, as the end of a
 * sentence, or "" if CAP_PERFMON is enough or this process has CAP_SYS_ADMIN. Returns text. */
const char *perf_rights_paranoid_advice(char *text, size_t len);

/* Sets *err to ERR_DENIED and "<what> is not permitted: <what is missing>" for EPERM and EACCES, or
 * else to "<what>: <text of errnum>". Returns the code of *err. */
int perf_rights_refused(struct err *err, int errnum, enum perf_rights_need need, const char *what);

#endif
