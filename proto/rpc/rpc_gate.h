/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_GATE_H
#define RAWSTACK_RPC_GATE_H
/*
 * Lets a call in, or refuses it, before anything of it is read: who calls is found by access.h, and
 * has to have a role that the method wants. Internal to proto/rpc. Safe from any thread, but for
 * open and close.
 */
#include <grpc/grpc.h>

#include "access.h"
#include "base.h"
#include "err.h"
#include "rpc_method.h"
#include "rpc_seen.h"

struct rpc_gate;

/* quotas is the path of the record of quotas_open(), or NULL. Errors of access_open() and
 * quotas_open(). */
int rpc_gate_open(struct rpc_gate **ret, const struct access_config *config, const char *quotas,
		  struct err *err) _must_check_;
void rpc_gate_close(struct rpc_gate *g);
DEFINE_FREEP(struct rpc_gate, rpc_gate_close);

/* A call that was let in, or refused. All zero bytes are one that has nothing. */
struct rpc_pass {
	struct access_verdict caller;  /* who calls, and what it may */
	struct quota_account *account; /* given back by rpc_gate_leave() */
	uint32_t retry_ms;             /* of a refusal: when to come back; 0: soon */
};

/* Fills *ret. ERR_UNAUTHENTICATED: nobody knows who calls; ERR_DENIED: it has none of the roles;
 * ERR_LIMIT: a quota of it is used up. */
int rpc_gate_admit(struct rpc_gate *g, grpc_call *call, const grpc_metadata_array *metadata,
		   const struct rpc_method *method, struct rpc_pass *ret, struct err *err);

/* Counts the bytes of a message. Returns ERR_LIMIT if they exceed the caller's quota, and sets
 * retry_ms then. */
int rpc_gate_charge(struct rpc_gate *g, struct rpc_pass *pass, size_t len, struct err *err);

void rpc_gate_leave(struct rpc_gate *g, struct rpc_pass *pass);

/* Lists who was let in lately, as rpc_seen.h does. */
size_t rpc_gate_seen(struct rpc_gate *g, struct rpc_seen_row *rows, size_t max);

/* Reads the files now, and says in the log what is wrong with them. */
void rpc_gate_reload(struct rpc_gate *g);

#endif
