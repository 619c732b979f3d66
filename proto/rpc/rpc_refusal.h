/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_REFUSAL_H
#define RAWSTACK_RPC_REFUSAL_H
/*
 * Makes the trailing metadata by which a failed call tells its client more than status and message:
 * when to come back, and details that programs read (google.rpc.Status). Internal to proto/rpc.
 * Safe from any thread.
 */
#include <grpc/grpc.h>
#include <protobuf-c/protobuf-c.h>

#include "base.h"

/* The most fields at fault in one request that are named. */
#define RPC_REFUSAL_FIELDS 4

struct rpc_refusal {
	grpc_metadata trailers[2];
	size_t count;
};

/* Returns the time after which the same call may succeed, in milliseconds, or 0 if it never will.
 * Clients that were refused at the same moment get different times, so that they do not come back
 * together. */
uint32_t rpc_refusal_pushback_ms(grpc_status_code status, bool is_too_large);

/*
 * Fills *r for a call that ends with the status (none for GRPC_STATUS_OK). A message that begins
 * with fields of the request ("modules[3].build_id: ", "build_id, name: ") names them in the
 * details of INVALID_ARGUMENT; `request` is the type of the request, or NULL. Without memory there
 * are no details. The caller releases it with rpc_refusal_done().
 */
void rpc_refusal_init(struct rpc_refusal *r, grpc_status_code status, const char *message,
		      uint32_t pushback_ms, const ProtobufCMessageDescriptor *request);
void rpc_refusal_done(struct rpc_refusal *r);

#endif
