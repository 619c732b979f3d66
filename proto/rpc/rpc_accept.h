/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_ACCEPT_H
#define RAWSTACK_RPC_ACCEPT_H
/*
 * How connections are accepted by a program that has a server. gRPC core 1.51 closes its listener
 * for good at the first error of accept4() that it does not expect, and EMFILE is one. So a program
 * that links the server has an accept4() of its own, which gRPC and libmicrohttpd call too: no
 * error of the moment leaves it, and connections are bounded, so that descriptors remain for
 * everything else. A connection too many ends one that its client has closed, or the one that has
 * been silent for the longest.
 *
 * There is one table for the process, because accept4() knows no server. Safe from any thread.
 */
#include "base.h"
#include "err.h"

/*
 * Bounds the connections by the descriptors that the process may have (RLIMIT_NOFILE as it is now),
 * less those that other work needs. Before that call they are not bounded. The first call counts.
 */
int rpc_accept_bound(struct err *err) _must_check_;

/* Whether a connection of the client, as of rpc_call_client(), is open; true when connections are
 * not bounded, for then none is known. */
bool rpc_accept_has(uint32_t client);

struct rpc_accept_stat {
	uint64_t open;    /* connections; some may have ended since */
	uint64_t max;     /* 0: not bounded */
	uint64_t ended;   /* by us, because they were silent while others waited */
	uint64_t flooded; /* ended because of what they sent: rpc_frames.h */
	uint64_t refused; /* because there was no place all the same */
};

void rpc_accept_stat(struct rpc_accept_stat *ret);

#endif
