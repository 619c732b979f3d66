/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCESS_LIMITS_H
#define RAWSTACK_PROCESS_LIMITS_H
/* Asks the system for descriptors and memory, before the threads of the process start. */
#include "err.h"

/* Raises the descriptor limit as far as the system allows, because each connection takes one.
 * Returns ERR_LIMIT if there are too few for so many builds at once (0: the default): then gRPC
 * aborts, or every build fails. */
int process_limits_raise(unsigned int builders, struct err *err) _must_check_;

/*
 * Lets all threads reuse each other's freed memory. By default glibc gives each of some fifteen
 * threads, gRPC's included, an arena of its own, each of which grows until it has seen the worst
 * moment of its thread: half a megabyte and more with each storm of lookups.
 */
void process_share_memory(unsigned int workers);

#endif
