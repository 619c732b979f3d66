/* SPDX-License-Identifier: Apache-2.0 */
#include <grpc/support/time.h>

#include "io.h"
#include "rpc_client_priv.h"
#include "rpc_codec.h"

/* On a machine that is held up, a batch may complete this much later than its deadline. */
#define LATE_MS 2000

const char *rpc_client_server(const struct rpc_client *c)
{
	return rpc_servers_name(c->servers, c->at);
}

/* Opens a client of these servers, whose reference it takes. */
static int open_client(struct rpc_client **ret, struct rpc_servers *servers,
		       struct rpc_identity *identity, struct err *err)
{
	_cleanup_(rpc_servers_unrefp) struct rpc_servers *taken = servers;
	_cleanup_(freep) struct rpc_client *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_no_memory(err);
	c->servers = servers;
	c->at = rpc_servers_at(servers);
	rpc_runtime_start();
	rc = rpc_channel_open(&c->channel, rpc_client_server(c), identity, err);
	if (rc) {
		rpc_runtime_stop();
		return rc;
	}
	TAKE_PTR(taken);
	c->identity = rpc_identity_ref(identity);
	c->cq = grpc_completion_queue_create_for_pluck(NULL);
	*ret = TAKE_PTR(c);
	return 0;
}

int rpc_client_open_as(struct rpc_client **ret, const char *list, struct rpc_identity *identity,
		       struct err *err)
{
	_cleanup_(rpc_servers_unrefp) struct rpc_servers *servers = NULL;

	TRY(rpc_servers_new(&servers, list, err));
	/* A slip in the last server would be found only when all others are away. */
	for (size_t i = 0; i < rpc_servers_count(servers); i++)
		TRY(rpc_channel_check(rpc_servers_name(servers, i), identity, err));
	return open_client(ret, TAKE_PTR(servers), identity, err);
}

int rpc_client_open(struct rpc_client **ret, const char *list, struct err *err)
{
	return rpc_client_open_as(ret, list, NULL, err);
}

int rpc_client_open_like(struct rpc_client **ret, const struct rpc_client *other, struct err *err)
{
	return open_client(ret, rpc_servers_ref(other->servers), other->identity, err);
}

void rpc_client_close(struct rpc_client *c)
{
	/* Shutdown would wait for a thread that gRPC could not start, so everything is left as it
	 * is. */
	if (!c || c->is_late)
		return;
	rpc_channel_close(c->channel);
	/* Every batch was waited for, so the queue is empty. */
	grpc_completion_queue_shutdown(c->cq);
	grpc_completion_queue_destroy(c->cq);
	rpc_runtime_stop();
	rpc_servers_unref(c->servers);
	rpc_identity_unref(c->identity);
	free(c);
}

/* --- servers --------------------------------------------------------------------------------- */

void rpc_client_use(struct rpc_client *c, size_t number)
{
	struct rpc_channel *channel;

	if (number == c->at || c->is_late ||
	    rpc_channel_open(&channel, rpc_servers_name(c->servers, number), c->identity, NULL))
		return;
	rpc_channel_close(c->channel);
	c->channel = channel;
	c->at = number;
	c->reach = RPC_ANSWERED;
}

void rpc_client_begin(struct rpc_client *c)
{
	rpc_client_use(c, rpc_servers_begin(c->servers, io_mono_ns()));
}

uint32_t rpc_client_retry_ms(const struct rpc_client *c)
{
	return c->retry_ms;
}

void rpc_client_note(struct rpc_client *c, enum rpc_reach reach, const char *why)
{
	c->reach = reach;
	if (reach >= RPC_UNCONNECTED)
		rpc_servers_away(c->servers, c->at, why, io_mono_ns());
	else if (reach == RPC_ANSWERED)
		rpc_servers_answered(c->servers, c->at);
}

/* --- waiting --------------------------------------------------------------------------------- */

gpr_timespec rpc_client_time(uint32_t ms)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_millis((int64_t)ms, GPR_TIMESPAN));
}

gpr_timespec rpc_client_late(gpr_timespec deadline)
{
	return gpr_time_add(deadline, gpr_time_from_millis(LATE_MS, GPR_TIMESPAN));
}

bool rpc_client_is_unreachable(const struct rpc_client *c)
{
	return c->reach == RPC_UNREACHABLE;
}

int rpc_client_await(struct rpc_client *c, uint32_t timeout_ms)
{
	const gpr_timespec until = rpc_client_time(timeout_ms);
	bool is_in_time = true;
	grpc_event ev;
	char tag;

	if (c->is_stuck) {
		grpc_completion_queue_pluck(c->cq, &tag, until, NULL);
		return 0;
	}
	/* Connecting goes on only while a thread waits at the queue. */
	for (;;) {
		grpc_channel *channel = rpc_channel_get(c->channel);
		grpc_connectivity_state now = grpc_channel_check_connectivity_state(channel, 1);

		if (now == GRPC_CHANNEL_READY || !is_in_time)
			return now == GRPC_CHANNEL_READY;
		grpc_channel_watch_connectivity_state(channel, now, until, c->cq, &tag);
		ev = grpc_completion_queue_pluck(c->cq, &tag, rpc_client_late(until), NULL);
		is_in_time = ev.type == GRPC_OP_COMPLETE && ev.success;
		if (ev.type != GRPC_OP_COMPLETE)
			c->is_late = c->is_stuck = true;
	}
}
