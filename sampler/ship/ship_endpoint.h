/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_ENDPOINT_H
#define RAWSTACK_SHIP_ENDPOINT_H
/*
 * Calls the service for the shipper: it connects, fails over to the next server, and counts the
 * bytes that it sends. One thread calls; any thread may ask which server is in use and how much was
 * sent.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "rawstack/v1/symbolizer.pb-c.h"
#include "rpc_client.h"
#include "ship_route.h"

struct ship_endpoint {
	pthread_mutex_t lock; /* guards route */
	struct ship_route route;
	bool is_quiet;                      /* another endpoint logs what is wrong with the route */
	struct rpc_identity *identity;      /* borrowed; NULL: none */
	struct rpc_client *client;          /* NULL: none */
	char server[SHIP_ROUTE_SERVER_LEN]; /* the server that the client is for */
	size_t at;                          /* its number in the route */
	/* The servers that could not be connected to since a server last answered, and a client for
	 * each of them while it is being tried. */
	bool is_away[SHIP_ROUTE_SERVERS];
	struct rpc_client *seekers[SHIP_ROUTE_SERVERS];
	_Atomic uint32_t retry_ms;   /* after the last call; any thread reads it */
	_Atomic uint64_t sent_bytes; /* bytes of requests since the start; any thread reads it */
};

/* Copies the route and borrows the identity, which may be NULL. */
void ship_endpoint_init(struct ship_endpoint *e, const struct ship_route *route,
			struct rpc_identity *identity);
void ship_endpoint_close(struct ship_endpoint *e);
DEFINE_FREEP(struct ship_endpoint, ship_endpoint_close);

/* Copies the name of the server in use to server[]. */
void ship_endpoint_server(struct ship_endpoint *e, char server[static SHIP_ROUTE_SERVER_LEN]);

/* Returns whether there are servers that could not be connected to since a server last answered. */
bool ship_endpoint_is_unreachable(const struct ship_endpoint *e);

/* Returns for how long the service asked to wait, in its answer to the last call, or 0. */
uint32_t ship_endpoint_retry_ms(const struct ship_endpoint *e);

/* Waits at most timeout_ms for a connection to one of these servers. Returns 1 if there is one, and
 * puts that server to use, the first of the list if several can be reached; else returns 0. Call it
 * between calls of the service. */
int ship_endpoint_await(struct ship_endpoint *e, uint32_t timeout_ms);

/* These are a shipper_call_fn and a shipper_watch_fn; ctx is a struct ship_endpoint. If a server is
 * away or refuses the shipper, ship_endpoint_call() asks the next one. It fails with
 * ERR_UNAVAILABLE if all servers failed, or if two of them took all of timeout_ms, or of
 * RPC_CONNECT_MS to connect; the next call begins with the server behind these two. So a call takes
 * hardly more than twice timeout_ms. */
int ship_endpoint_call(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
		       Rawstack__V1__SymbolizedBatch **ret, struct err *err);
int ship_endpoint_watch(void *ctx, const ProtobufCBinaryData *ids, size_t count,
			void (*ready)(void *arg, const void *id, size_t len), void *arg,
			struct err *err);

#endif
