/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_endpoint.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "log.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rpc_client.h"

/* The events of tables that are there come at once; this is for the way. */
#define WATCH_MS 1000

void ship_endpoint_init(struct ship_endpoint *e, const struct ship_route *route)
{
	*e = (struct ship_endpoint){.route = *route};
	pthread_mutex_init(&e->lock, NULL);
}

void ship_endpoint_close(struct ship_endpoint *e)
{
	if (!e)
		return;
	rpc_client_close(e->client);
	e->client = NULL;
}

void ship_endpoint_server(struct ship_endpoint *e, char server[static SHIP_ROUTE_SERVER_LEN])
{
	pthread_mutex_lock(&e->lock);
	snprintf(server, SHIP_ROUTE_SERVER_LEN, "%s", e->route.servers[e->route.at]);
	pthread_mutex_unlock(&e->lock);
}

static uint64_t now_ns(void)
{
	const struct io *io = io_system();

	return io->mono_ns(io->ctx);
}

/* Makes e->client one of the server to use. */
static int use_server(struct ship_endpoint *e, struct err *err)
{
	char server[SHIP_ROUTE_SERVER_LEN];
	struct err warning;
	int rc;

	pthread_mutex_lock(&e->lock);
	rc = ship_route_refresh(&e->route, &warning);
	snprintf(server, sizeof(server), "%s", ship_route_server(&e->route, now_ns()));
	pthread_mutex_unlock(&e->lock);
	if (rc < 0 && !e->is_quiet)
		log_warn("%s; the servers stay as they were", warning.message);
	if (e->client && !strcmp(e->server, server))
		return 0;
	ship_endpoint_close(e);
	snprintf(e->server, sizeof(e->server), "%s", server);
	return rpc_client_open(&e->client, server, err);
}

static int call_once(struct ship_endpoint *e, const Rawstack__V1__StackBatch *request,
		     uint32_t timeout_ms, Rawstack__V1__SymbolizedBatch **ret, struct err *err)
{
	ProtobufCMessage *reply = NULL;
	int rc;

	/* What is no address, by a slip in a routing file, is a server that is away. */
	if (use_server(e, err))
		return ERR_UNAVAILABLE;
	atomic_fetch_add(&e->sent_bytes, protobuf_c_message_get_packed_size(&request->base));
	rc = rpc_client_call(e->client, "/rawstack.v1.Symbolizer/Symbolize", &request->base,
			     &rawstack__v1__symbolized_batch__descriptor, timeout_ms, &reply, err);
	if (!rc)
		*ret = (Rawstack__V1__SymbolizedBatch *)reply;
	return rc;
}

/* Whether to try another server now, after this one was away: not when two have taken all of their
 * time, for whoever wants to stop the shipper waits for the end of the call. */
static bool has_other(struct ship_endpoint *e, uint64_t began_ns, uint32_t timeout_ms)
{
	uint64_t now = now_ns();
	bool others;

	pthread_mutex_lock(&e->lock);
	others = ship_route_bad(&e->route, now);
	pthread_mutex_unlock(&e->lock);
	return others && now - began_ns < 2 * timeout_ms * UINT64_C(1000000);
}

int ship_endpoint_call(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
		       Rawstack__V1__SymbolizedBatch **ret, struct err *err)
{
	struct ship_endpoint *e = ctx;
	const uint64_t began_ns = now_ns();
	int rc;

	do
		rc = call_once(e, request, timeout_ms, ret, err);
	while (rc == ERR_UNAVAILABLE && has_other(e, began_ns, timeout_ms));
	if (!rc) {
		pthread_mutex_lock(&e->lock);
		ship_route_good(&e->route);
		pthread_mutex_unlock(&e->lock);
	}
	return rc;
}

bool ship_endpoint_is_unreachable(const struct ship_endpoint *e)
{
	return e->client && rpc_client_is_unreachable(e->client);
}

int ship_endpoint_await(struct ship_endpoint *e, uint32_t timeout_ms)
{
	return e->client ? rpc_client_await(e->client, timeout_ms) : 0;
}

static int watch(struct ship_endpoint *e, const Rawstack__V1__WatchRequest *request,
		 void (*ready)(void *arg, const void *id, size_t len), void *arg, struct err *err)
{
	_cleanup_(rpc_stream_closep) struct rpc_stream *stream = NULL;
	ProtobufCMessage *reply = NULL;
	size_t told = 0;
	int rc = rpc_stream_open(&stream, e->client, "/rawstack.v1.Binaries/Watch",
				 &rawstack__v1__watch_event__descriptor, WATCH_MS, err);

	if (!rc)
		rc = rpc_stream_send(stream, &request->base, err);
	if (!rc)
		rc = rpc_stream_half_close(stream, err);
	if (rc)
		return rc;
	/* Until the time is over, or each id was told: a watch has no end of its own. */
	while (told < request->n_build_ids && rpc_stream_receive(stream, &reply, err) == 1) {
		const Rawstack__V1__WatchEvent *event = (Rawstack__V1__WatchEvent *)reply;

		if (event->status == RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY)
			ready(arg, event->build_id.data, event->build_id.len);
		protobuf_c_message_free_unpacked(reply, NULL);
		reply = NULL;
		told++;
	}
	return 0;
}

int ship_endpoint_watch(void *ctx, const ProtobufCBinaryData *ids, size_t count,
			void (*ready)(void *arg, const void *id, size_t len), void *arg,
			struct err *err)
{
	Rawstack__V1__WatchRequest request = RAWSTACK__V1__WATCH_REQUEST__INIT;
	int rc = use_server(ctx, err);

	request.n_build_ids = count;
	request.build_ids = (ProtobufCBinaryData *)(uintptr_t)ids;
	return rc ? rc : watch(ctx, &request, ready, arg, err);
}
