/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HELPER_H
#define RAWSTACK_HELPER_H
/*
 * A second thread that does one thing after the other for the first. Made before a process locks
 * itself in, for starting a thread takes system calls that nothing else needs; what it is to do
 * comes later:
 *
 *	helper_start(h, half, &second);
 *	half(&first);
 *	helper_wait(h);
 *
 * Everything here is for the thread that made it. Without a helper (NULL) the work is done at once,
 * by the caller.
 */
#include "err.h"

struct helper;

/* Starts the thread, which blocks all signals. ERR_MEMORY, or what err_sys() says of the errno. */
int helper_new(struct helper **ret, struct err *err) _must_check_;

/* Queues fn, which sees what the caller did before. One call may wait behind the running one; then
 * helper_wait() has to come before the next. */
void helper_start(struct helper *h, void (*fn)(void *ctx), void *ctx);

/* Waits until all is done; the caller then sees what the thread did. */
void helper_wait(struct helper *h);

/* Waits, and ends the thread. */
void helper_free(struct helper *h);
DEFINE_FREEP(struct helper, helper_free);

#endif
