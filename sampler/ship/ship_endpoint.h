/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_ENDPOINT_H
#define RAWSTACK_SHIP_ENDPOINT_H
/*
 * The shipper's calls to the service: connects, fails over to the next server, and counts the bytes
 * that it sends. One thread calls; any thread may ask which server is in use, and how much was
 * sent.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "rawstack/v1/symbolizer.pb-c.h"
#include "rpc_client.h"
#include "ship_route.h"

struct ship_endpoint {
	pthread_mutex_t lock; /* of route */
	struct ship_route route;
	bool is_quiet;                      /* another endpoint logs what is wrong with the route */
	struct rpc_identity *identity;      /* borrowed; NULL: none */
	struct rpc_client *client;          /* NULL: none */
	char server[SHIP_ROUTE_SERVER_LEN]; /* of the client */
	size_t at;                          /* its number in the route */
	/* Servers that could not be connected to since a server last answered, and a client for
	 * each while a connection is tried. */
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

/* Whether there are servers that could not be connected to since a server last answered. */
bool ship_endpoint_is_unreachable(const struct ship_endpoint *e);

/* Waits at most timeout_ms for a connection to one of these. Returns 1 when there is one, and that
 * server is in use then, the first of the list if several can be reached; else 0. Call it between
 * calls of the service. */
int ship_endpoint_await(struct ship_endpoint *e, uint32_t timeout_ms);

/* shipper_call_fn and shipper_watch_fn; ctx is a struct ship_endpoint. When a server is
 * away or refuses us, the next one is asked. ERR_UNAVAILABLE when all servers failed, or when two
 * of them did not answer in time; the next call begins with the server behind these two. So a call
 * takes twice timeout_ms at most. */
int ship_endpoint_call(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
		       Rawstack__V1__SymbolizedBatch **ret, struct err *err);
int ship_endpoint_watch(void *ctx, const ProtobufCBinaryData *ids, size_t count,
			void (*ready)(void *arg, const void *id, size_t len), void *arg,
			struct err *err);

#endif
