/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_WAIT_H
#define RAWSTACK_RPC_WAIT_H
/*
 * Lists of those who wait for a peer, in the order in which they began. When places or memory are
 * short, those who have waited for the longest lose theirs. Internal to proto/rpc; the caller
 * locks.
 */
#include "base.h"

/* Embedded in the object that waits; zeroed before its first use. */
struct rpc_wait {
	struct rpc_wait *next, *previous;
	struct rpc_waits *list; /* NULL when it does not wait */
	uint64_t since_ns;
};

struct rpc_waits {
	struct rpc_wait *first, *last;
};

/* Begins a wait, or begins it anew. now_ns is monotonic. */
void rpc_wait_begin(struct rpc_waits *list, struct rpc_wait *w, uint64_t now_ns);
void rpc_wait_end(struct rpc_wait *w); /* does nothing when it does not wait */

/* Returns the one that has waited for the longest, or NULL when that is less than patience_ns. */
struct rpc_wait *rpc_wait_longest(const struct rpc_waits *list, uint64_t patience_ns,
				  uint64_t now_ns);

#endif
