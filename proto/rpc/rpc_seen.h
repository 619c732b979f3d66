/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_SEEN_H
#define RAWSTACK_RPC_SEEN_H
/*
 * The clients that called lately, by identity and address, without the port, because a client has
 * many. When there is no place, the client that was silent for the longest is forgotten. Only calls
 * that were let in count, so that strangers drive nobody out. Safe from any thread; all zero bytes
 * but the lock are an empty one.
 */
#include <pthread.h>

#include "base.h"

enum {
	RPC_SEEN_MAX = 64
};

struct rpc_seen_row {
	char who[128], host[80];
	uint64_t calls, last_unix_ns;
};

struct rpc_seen {
	pthread_mutex_t lock;
	struct rpc_seen_row rows[RPC_SEEN_MAX];
	size_t count;
};

/* peer is gRPC's text form. */
void rpc_seen_note(struct rpc_seen *s, const char *who, const char *peer);

/* Returns how many rows were filled, the latest first. */
size_t rpc_seen_list(struct rpc_seen *s, struct rpc_seen_row *rows, size_t max);

#endif
