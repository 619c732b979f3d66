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

struct rpc_gate;

/* Errors of access_open(). */
int rpc_gate_open(struct rpc_gate **ret, const struct access_config *config,
		  struct err *err) _must_check_;
void rpc_gate_close(struct rpc_gate *g);
DEFINE_FREEP(struct rpc_gate, rpc_gate_close);

/* *ret is who calls and what it may. ERR_UNAUTHENTICATED: nobody knows who calls; ERR_DENIED: it
 * has none of the roles. */
int rpc_gate_admit(struct rpc_gate *g, grpc_call *call, const grpc_metadata_array *metadata,
		   const struct rpc_method *method, struct access_verdict *ret, struct err *err);

/* Reads the files now, and says in the log what is wrong with them. */
void rpc_gate_reload(struct rpc_gate *g);

#endif
