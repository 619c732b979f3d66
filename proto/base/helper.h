/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HELPER_H
#define RAWSTACK_HELPER_H
/*
 * A second thread that does one job after the other for the first. It is made before a process
 * enters its sandbox, because starting a thread takes system calls that nothing else needs. Jobs
 * come later:
 *
 *	helper_start(h, half, &second);
 *	half(&first);
 *	helper_wait(h);
 *
 * Only the thread that made the helper calls these functions. Without a helper (NULL) the caller
 * does the job at once.
 */
#include "err.h"

struct helper;

/* Starts the thread, which blocks all signals. Returns ERR_MEMORY or an error of the system. */
int helper_new(struct helper **ret, struct err *err) _must_check_;

/* Queues a job, which sees all earlier writes of the caller. One job may wait behind the running
 * one; before another helper_start() comes helper_wait(). */
void helper_start(struct helper *h, void (*fn)(void *ctx), void *ctx);

/* Waits until all jobs are done. The caller then sees what they wrote. */
void helper_wait(struct helper *h);

/* Waits for the jobs and ends the thread. */
void helper_free(struct helper *h);
DEFINE_FREEP(struct helper, helper_free);

#endif
