/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DEMANGLE_BUDGET_H
#define RAWSTACK_DEMANGLE_BUDGET_H
/*
 * What a tool spends on names. The work on one name is bounded by its length (demangle.h), but a
 * file that was made for it has millions of bytes of the costliest. So all threads of a process
 * together have a budget of CPU time; when it is spent, names stay as they are and are counted,
 * and the tool says so at its end. A service has bounds of its own, for each reply. Safe from any
 * thread.
 */
#include "demangle.h"

/* Real names take 5 us: a million of them. */
#define DEMANGLE_BUDGET_SECONDS 5

/* The same as demangle_append() while there is time left; then appends the name as it is. */
bool demangle_budget_append(enum demangle_style style, const void *name, size_t len,
			    struct buf *out);

/* What a program says at its end: a warning with the number of names that stayed as they are
 * because there was no time left; nothing when there are none. */
void demangle_budget_tell(void);

#endif
