/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_ACCEPT_H
#define RAWSTACK_RPC_ACCEPT_H
/*
 * Accepts the connections of a program that has a server. gRPC core 1.51 closes its listener for
 * good at the first error of accept4() that it does not expect, and EMFILE is one. So a program
 * that links the server has an accept4() of its own, which gRPC calls. It returns no transient
 * error, and it bounds the connections, so that descriptors remain for everything else. When there
 * are too many, it ends one that its client has closed, or the one that has been silent for the
 * longest.
 *
 * There is one table for the process, because accept4() knows no server. Safe from any thread.
 */
#include "base.h"
#include "err.h"

/*
 * Bounds the connections by the descriptors that the process may have (RLIMIT_NOFILE at this time),
 * less those that other work needs. Before the first call connections are not bounded; later calls
 * do not change the bound.
 */
int rpc_accept_bound(struct err *err) _must_check_;

/* Returns whether a connection of the client (a number of rpc_call_client()) is open. Returns true
 * when connections are not bounded, because none is known then. */
bool rpc_accept_has(uint32_t client);

struct rpc_accept_stat {
	uint64_t open;    /* connections; some may have been closed since */
	uint64_t max;     /* 0: not bounded */
	uint64_t ended;   /* by the server, because they were silent while others waited */
	uint64_t flooded; /* ended because of a flood: rpc_frames.h */
	uint64_t refused; /* because ending others made no place */
};

void rpc_accept_stat(struct rpc_accept_stat *ret);

#endif
