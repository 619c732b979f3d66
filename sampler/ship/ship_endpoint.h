/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_ENDPOINT_H
#define RAWSTACK_SHIP_ENDPOINT_H
/*
 * The shipper's calls to the service in use: connects, fails over to the next server, counts what
 * it sends. One thread calls; any may ask which
 * server is in use, and how much was sent.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "rawstack/v1/symbolizer.pb-c.h"
#include "rpc_client.h"
#include "ship_route.h"

struct ship_endpoint {
	pthread_mutex_t lock; /* of route */
	struct ship_route route;
	bool is_quiet;                      /* another one tells what is wrong with the route */
	struct rpc_identity *identity;      /* borrowed; NULL: none */
	struct rpc_client *client;          /* NULL: none */
	char server[SHIP_ROUTE_SERVER_LEN]; /* of the client */
	size_t at;                          /* its number in the route */
	/* Servers that no connection could be made to since one answered, and a client for each
	 * while they are looked for. */
	bool is_away[SHIP_ROUTE_SERVERS];
	struct rpc_client *seekers[SHIP_ROUTE_SERVERS];
	_Atomic uint64_t sent_bytes; /* of requests, since the start; any thread */
};

/* Takes the route over; the identity, or NULL, is borrowed. */
void ship_endpoint_init(struct ship_endpoint *e, const struct ship_route *route,
			struct rpc_identity *identity);
void ship_endpoint_close(struct ship_endpoint *e);
DEFINE_FREEP(struct ship_endpoint, ship_endpoint_close);

/* Copies the name of the server in use. */
void ship_endpoint_server(struct ship_endpoint *e, char server[static SHIP_ROUTE_SERVER_LEN]);

/* Whether there are servers that no connection could be made to, since one answered. */
bool ship_endpoint_is_unreachable(const struct ship_endpoint *e);

/* Waits until a connection to one of these stands, at most so long: 1, and that server is the one
 * in use, or 0. Of several that are there the first of the list is taken. Between calls. */
int ship_endpoint_await(struct ship_endpoint *e, uint32_t timeout_ms);

/* shipper_call_fn and shipper_watch_fn; ctx is a struct ship_endpoint. A server that is away, or
 * lets us not in, is left for the next one; ERR_UNAVAILABLE when all are, or when two that never
 * answer have taken their time: the next call goes on behind them. So a call takes twice timeout_ms
 * at most. */
int ship_endpoint_call(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
		       Rawstack__V1__SymbolizedBatch **ret, struct err *err);
int ship_endpoint_watch(void *ctx, const ProtobufCBinaryData *ids, size_t count,
			void (*ready)(void *arg, const void *id, size_t len), void *arg,
			struct err *err);

#endif
