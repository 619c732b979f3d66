/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_REFLECTION_H
#define RAWSTACK_RPC_REFLECTION_H
/*
 * Server reflection, v1 and v1alpha: standard tools list and call the services without their .proto
 * files. Answers from a FileDescriptorSet (google/protobuf/descriptor.proto) whose files are given
 * out byte for byte; a file is answered together with all that it imports.
 */
#include "rpc_server.h"

struct rpc_reflection;

/* The set is kept, not copied. ERR_DATA when it is not one. Adds the methods to the server. */
int rpc_reflection_open(struct rpc_reflection **ret, struct rpc_server *s, const void *set,
			size_t len, struct err *err) _must_check_;

/* The set of this build: the whole contract, health and reflection. */
const void *rpc_reflection_descriptors(size_t *ret_len);

/* After the server was closed. */
void rpc_reflection_close(struct rpc_reflection *r);
DEFINE_FREEP(struct rpc_reflection, rpc_reflection_close);

#endif
