/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_endpoint.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "log.h"
#include "rawstack/v1/binaries.pb-c.h"
#include "rpc_servers.h"

/* Time limit of a watch, for the network: the service reports tables that exist at once. */
#define WATCH_MS  1000
/* A connection to one of several servers is awaited this long before the next one is tried. */
#define SEEK_MS   100
#define NS_PER_MS UINT64_C(1000000)

void ship_endpoint_init(struct ship_endpoint *e, const struct ship_route *route,
			struct rpc_identity *identity)
{
	*e = (struct ship_endpoint){.route = *route, .identity = identity};
	pthread_mutex_init(&e->lock, NULL);
}

static void close_seekers(struct ship_endpoint *e)
{
	for (size_t i = 0; i < SHIP_ROUTE_SERVERS; i++) {
		rpc_client_close(e->seekers[i]);
		e->seekers[i] = NULL;
	}
}

void ship_endpoint_close(struct ship_endpoint *e)
{
	if (!e)
		return;
	rpc_client_close(e->client);
	e->client = NULL;
	close_seekers(e);
}

void ship_endpoint_server(struct ship_endpoint *e, char server[static SHIP_ROUTE_SERVER_LEN])
{
	pthread_mutex_lock(&e->lock);
	snprintf(server, SHIP_ROUTE_SERVER_LEN, "%s", e->route.servers[e->route.at]);
	pthread_mutex_unlock(&e->lock);
}

/* Notes whether the last call reached the server in use. */
static void note_outcome(struct ship_endpoint *e, int rc)
{
	if (!rc)
		memset(e->is_away, 0, sizeof(e->is_away));
	else
		e->is_away[e->at] = rpc_client_is_unreachable(e->client);
}

/* Makes e->client a client of the server to use. Returns 0 or an error. */
static int use_server(struct ship_endpoint *e, struct err *err)
{
	char server[SHIP_ROUTE_SERVER_LEN];
	struct err warning;
	int rc;

	pthread_mutex_lock(&e->lock);
	rc = ship_route_refresh(&e->route, &warning);
	snprintf(server, sizeof(server), "%s", ship_route_server(&e->route, io_mono_ns()));
	e->at = e->route.at;
	pthread_mutex_unlock(&e->lock);
	close_seekers(e);
	if (rc > 0) /* the numbers stand for other servers now */
		memset(e->is_away, 0, sizeof(e->is_away));
	if (rc < 0 && !e->is_quiet)
		log_warn("%s; the servers stay as they were", warning.message);
	if (e->client && !strcmp(e->server, server))
		return 0;
	rpc_client_close(TAKE_PTR(e->client));
	snprintf(e->server, sizeof(e->server), "%s", server);
	return rpc_client_open_as(&e->client, server, e->identity, err);
}

static int call_symbolize_once(struct ship_endpoint *e, const Rawstack__V1__StackBatch *request,
			       uint32_t timeout_ms, Rawstack__V1__SymbolizedBatch **ret,
			       struct err *err)
{
	ProtobufCMessage *reply = NULL;
	int rc;

	/* A server that is no valid address, by a slip in a routing file, counts as away. */
	if (use_server(e, err))
		return ERR_UNAVAILABLE;
	atomic_fetch_add(&e->sent_bytes, protobuf_c_message_get_packed_size(&request->base));
	rc = rpc_client_call(e->client, "/rawstack.v1.Symbolizer/Symbolize", &request->base,
			     &rawstack__v1__symbolized_batch__descriptor, timeout_ms, &reply, err);
	note_outcome(e, rc);
	if (!rc)
		*ret = (Rawstack__V1__SymbolizedBatch *)reply;
	return rc;
}

/* Puts the next server to use, because this one was away, and returns whether to try it now. */
static bool has_other(struct ship_endpoint *e)
{
	bool others;

	pthread_mutex_lock(&e->lock);
	others = ship_route_bad(&e->route, io_mono_ns());
	pthread_mutex_unlock(&e->lock);
	return others;
}

int ship_endpoint_call(void *ctx, const Rawstack__V1__StackBatch *request, uint32_t timeout_ms,
		       Rawstack__V1__SymbolizedBatch **ret, struct err *err)
{
	const uint32_t long_ms = timeout_ms < RPC_CONNECT_MS ? timeout_ms : RPC_CONNECT_MS;
	struct ship_endpoint *e = ctx;
	unsigned int long_ones = 0;
	int rc;

	/* A stop has to wait for the end of the call, so it ends when two servers took all of their
	 * time, to connect or to answer. */
	do {
		const uint64_t began_ns = io_mono_ns();

		rc = call_symbolize_once(e, request, timeout_ms, ret, err);
		long_ones += io_mono_ns() - began_ns >= long_ms * NS_PER_MS;
	} while ((rc == ERR_UNAVAILABLE || rc == ERR_DENIED) && has_other(e) && long_ones < 2);
	atomic_store(&e->retry_ms, rc && e->client ? rpc_client_retry_ms(e->client) : 0);
	if (!rc) {
		pthread_mutex_lock(&e->lock);
		ship_route_good(&e->route);
		pthread_mutex_unlock(&e->lock);
	}
	return rc;
}

uint32_t ship_endpoint_retry_ms(const struct ship_endpoint *e)
{
	return atomic_load(&e->retry_ms);
}

bool ship_endpoint_is_unreachable(const struct ship_endpoint *e)
{
	for (size_t i = 0; i < SHIP_ROUTE_SERVERS; i++)
		if (e->is_away[i])
			return true;
	return false;
}

/* Returns whether there is a connection now to a server that was away. */
static bool seek_server(struct ship_endpoint *e, size_t i, uint32_t timeout_ms)
{
	char server[SHIP_ROUTE_SERVER_LEN];

	/* The client that found the server away goes on trying to connect. */
	if (!e->seekers[i] && e->client && e->at == i)
		e->seekers[i] = TAKE_PTR(e->client);
	if (!e->seekers[i]) {
		pthread_mutex_lock(&e->lock);
		snprintf(server, sizeof(server), "%s", e->route.servers[i]);
		pthread_mutex_unlock(&e->lock);
		e->is_away[i] = !rpc_client_open_as(&e->seekers[i], server, e->identity, NULL);
	}
	return e->seekers[i] && rpc_client_await(e->seekers[i], timeout_ms);
}

static void take_server(struct ship_endpoint *e, size_t i)
{
	rpc_client_close(e->client);
	e->client = TAKE_PTR(e->seekers[i]);
	e->at = i;
	pthread_mutex_lock(&e->lock);
	ship_route_use(&e->route, i, io_mono_ns());
	snprintf(e->server, sizeof(e->server), "%s", e->route.servers[i]);
	pthread_mutex_unlock(&e->lock);
	close_seekers(e);
	memset(e->is_away, 0, sizeof(e->is_away));
}

int ship_endpoint_await(struct ship_endpoint *e, uint32_t timeout_ms)
{
	const uint64_t until = io_mono_ns() / NS_PER_MS + timeout_ms;
	uint64_t now;

	while ((now = io_mono_ns() / NS_PER_MS) < until && ship_endpoint_is_unreachable(e)) {
		uint32_t left = (uint32_t)(until - now);

		for (size_t i = 0; i < SHIP_ROUTE_SERVERS; i++) {
			if (!e->is_away[i] || !seek_server(e, i, left < SEEK_MS ? left : SEEK_MS))
				continue;
			take_server(e, i);
			return 1;
		}
	}
	return 0;
}

static int watch_tables(struct ship_endpoint *e, const Rawstack__V1__WatchRequest *request,
			void (*ready)(void *arg, const void *id, size_t len), void *arg,
			struct err *err)
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
	/* A watch has no end of its own: it is read until each id was reported or time is up. */
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
	if (rc)
		return rc;
	rc = watch_tables(ctx, &request, ready, arg, err);
	note_outcome(ctx, rc);
	return rc;
}
