/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_ENDPOINTS_H
#define RAWSTACK_SHIP_ENDPOINTS_H
/*
 * The endpoints of a shipper, one for each lane. The first also serves single requests. The thread
 * that opened them calls these functions, while lanes may use the endpoints.
 */
#include "ship_endpoint.h"
#include "ship_lanes.h"

struct ship_endpoints {
	struct ship_endpoint list[SHIP_LANES_MAX];
	unsigned int count;
};

/* Copies the route and borrows the identity, as ship_endpoint_init() does. Only the first endpoint
 * logs what is wrong with the route. */
void ship_endpoints_init(struct ship_endpoints *e, unsigned int count,
			 const struct ship_route *route, struct rpc_identity *identity);
void ship_endpoints_close(struct ship_endpoints *e);

/* Returns the bytes of all requests since the start. */
uint64_t ship_endpoints_sent_bytes(const struct ship_endpoints *e);

/* Returns the longest wait that the service asked for in its last answers, or 0. */
uint32_t ship_endpoints_retry_ms(const struct ship_endpoints *e);

/* Returns an endpoint with a server that could not be connected to, or NULL if there is none. */
struct ship_endpoint *ship_endpoints_unreachable(struct ship_endpoints *e);

/* Waits at most timeout_ms, in all, for connections of the endpoints that have such a server. */
void ship_endpoints_await(struct ship_endpoints *e, uint32_t timeout_ms);

#endif
