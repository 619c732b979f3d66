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

/* ERR_SYSTEM. The thread blocks all signals. */
int helper_new(struct helper **ret, struct err *err) _must_check_;

/* All that the caller did before is seen by fn. What the helper was given before is done first; of
 * such things one may wait, and then none may be given before helper_wait(). */
void helper_start(struct helper *h, void (*fn)(void *ctx), void *ctx);

/* Until all is done; what it did is seen by the caller. Nothing to do: returns at once. */
void helper_wait(struct helper *h);

/* Waits, and ends the thread. */
void helper_free(struct helper *h);
DEFINE_FREEP(struct helper, helper_free);

#endif
