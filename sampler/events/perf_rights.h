/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_RIGHTS_H
#define RAWSTACK_PERF_RIGHTS_H
/*
 * Why the kernel refuses a perf event, and what to do about it. Besides capabilities(7) there is
 * kernel.perf_event_paranoid: 2 and less is satisfied by CAP_PERFMON; above that, kernels of Debian
 * (whose default is 3) and of Ubuntu (4) ask for CAP_SYS_ADMIN, at the moment an event is opened.
 */
#include "err.h"

/* What is missing for which call. */
enum perf_rights_need {
	PERF_RIGHTS_BPF,  /* a BPF program: CAP_BPF and CAP_PERFMON */
	PERF_RIGHTS_PERF, /* an event: CAP_PERFMON */
};

/* kernel.perf_event_paranoid: 1 and *ret, or 0 where the kernel does not tell. */
int perf_rights_paranoid(int *ret);

/* Writes what that setting asks of this process, as the end of a sentence with both remedies; ""
 * when CAP_PERFMON is enough, or this process has what it asks. Returns text. */
const char *perf_rights_paranoid_advice(char *text, size_t len);

/* "<what> is not permitted: <what is missing>" with ERR_DENIED for EPERM and EACCES, "<what>: <the
 * text of errnum>" for others. Returns the code. */
int perf_rights_refused(struct err *err, int errnum, enum perf_rights_need need, const char *what);

#endif
