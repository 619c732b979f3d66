/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_endpoints.h"

#include "io.h"

#define NS_PER_MS UINT64_C(1000000)

void ship_endpoints_init(struct ship_endpoints *e, unsigned int count,
			 const struct ship_route *route, struct rpc_identity *identity)
{
	e->count = count;
	for (unsigned int i = 0; i < count; i++) {
		ship_endpoint_init(&e->list[i], route, identity);
		e->list[i].is_quiet = i > 0;
	}
}

void ship_endpoints_close(struct ship_endpoints *e)
{
	for (unsigned int i = 0; i < e->count; i++)
		ship_endpoint_close(&e->list[i]);
}

uint64_t ship_endpoints_sent_bytes(const struct ship_endpoints *e)
{
	uint64_t sent = 0;

	for (unsigned int i = 0; i < e->count; i++)
		sent += e->list[i].sent_bytes;
	return sent;
}

uint32_t ship_endpoints_retry_ms(const struct ship_endpoints *e)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < e->count; i++) {
		const uint32_t ms = ship_endpoint_retry_ms(&e->list[i]);

		most = ms > most ? ms : most;
	}
	return most;
}

struct ship_endpoint *ship_endpoints_unreachable(struct ship_endpoints *e)
{
	for (unsigned int i = 0; i < e->count; i++)
		if (ship_endpoint_is_unreachable(&e->list[i]))
			return &e->list[i];
	return NULL;
}

void ship_endpoints_await(struct ship_endpoints *e, uint32_t timeout_ms)
{
	const uint64_t until_ns = io_mono_ns() + timeout_ms * NS_PER_MS;

	for (unsigned int i = 0; i < e->count && io_mono_ns() < until_ns; i++)
		if (ship_endpoint_is_unreachable(&e->list[i]))
			(void)ship_endpoint_await(&e->list[i], timeout_ms);
}
