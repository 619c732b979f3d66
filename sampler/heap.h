/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HEAP_H
#define RAWSTACK_HEAP_H
/*
 * How much memory the capturer occupies. Its tables grow while they fill, each to its limit; so
 * that what is resident does not, room for them is taken at the start, in one heap that all threads
 * share, and is never given back. What a burst needed beyond that is.
 */
#include <stddef.h>

/* Before threads are made, behind forks of processes that shall stay small. */
void heap_settle(size_t len);

#endif
