/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_HEALTH_H
#define RAWSTACK_RPC_HEALTH_H
/*
 * grpc.health.v1.Health, Check and Watch, with one state for the server and all its services. The
 * state is "not serving" at first. Safe from any thread.
 */
#include "rpc_server.h"

struct rpc_health;

/*
 * Adds the methods to the server. `services` are the full names of the services, ended by NULL and
 * kept by the caller; the empty name is always known.
 */
int rpc_health_open(struct rpc_health **ret, struct rpc_server *s, const char *const *services,
		    struct err *err) _must_check_;

/* Sets the state and tells the watchers. */
void rpc_health_set(struct rpc_health *h, bool serving);

/* Sets "not serving" and ends each Watch. Called before the server stops. */
void rpc_health_stop(struct rpc_health *h);

/* Called after the server was closed. */
void rpc_health_close(struct rpc_health *h);
DEFINE_FREEP(struct rpc_health, rpc_health_close);

#endif
