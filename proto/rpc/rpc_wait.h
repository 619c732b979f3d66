/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_WAIT_H
#define RAWSTACK_RPC_WAIT_H
/*
 * Who waits for a peer, in the order in which they began: when places or memory are short, those
 * who have waited for the longest give theirs up. Internal to proto/rpc; its user locks.
 */
#include "base.h"

/* Embedded in what waits; zeroed before its first use. */
struct rpc_wait {
	struct rpc_wait *next, *previous;
	struct rpc_waits *list; /* NULL: it does not wait */
	uint64_t since_ns;
};

struct rpc_waits {
	struct rpc_wait *first, *last;
};

/* now_ns: monotonic, never less than the time before. One that waits already begins anew. */
void rpc_wait_begin(struct rpc_waits *list, struct rpc_wait *w, uint64_t now_ns);
void rpc_wait_end(struct rpc_wait *w); /* no harm when it does not wait */

/* The one that has waited for the longest, when that is patience_ns at least; or NULL. */
struct rpc_wait *rpc_wait_longest(const struct rpc_waits *list, uint64_t patience_ns,
				  uint64_t now_ns);

#endif
