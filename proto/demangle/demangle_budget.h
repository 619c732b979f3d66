/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEMANGLE_BUDGET_H
#define RAWSTACK_DEMANGLE_BUDGET_H
/*
 * Bounds the CPU time that a tool spends on names. Each name's length bounds the work on it
 * (demangle.h), but a hostile file has millions of bytes of the costliest names. So all threads of
 * a process share one budget of CPU time. When it is spent, names stay as they are and are counted,
 * and the tool reports their number at its end. A service has other bounds, for each reply. Safe
 * from any thread.
 */
#include "demangle.h"

/* A real name takes 5 us, so this is enough for a million. */
#define DEMANGLE_BUDGET_SECONDS 5

/* Does what demangle_append() does while budget is left, and after that appends the name as it is.
 */
bool demangle_budget_append(enum demangle_style style, const void *name, size_t len,
			    struct buf *out);

/* Logs a warning with the number of names that stayed as they are for lack of time, if there are
 * any. A program calls it at its end. */
void demangle_budget_tell(void);

#endif
