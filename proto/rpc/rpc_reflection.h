/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_REFLECTION_H
#define RAWSTACK_RPC_REFLECTION_H
/*
 * Server reflection, v1 and v1alpha: standard tools list and call the services without their .proto
 * files. It answers from a FileDescriptorSet (google/protobuf/descriptor.proto), byte for byte; a
 * file is sent together with all that it imports.
 */
#include "rpc_server.h"

struct rpc_reflection;

/* Adds the methods to the server. The set is kept, not copied. Returns ERR_DATA when it is no
 * FileDescriptorSet. */
int rpc_reflection_open(struct rpc_reflection **ret, struct rpc_server *s, const void *set,
			size_t len, struct err *err) _must_check_;

/* Returns the set of this build: the whole contract, health and reflection. */
const void *rpc_reflection_descriptors(size_t *ret_len);

/* Called after the server was closed. */
void rpc_reflection_close(struct rpc_reflection *r);
DEFINE_FREEP(struct rpc_reflection, rpc_reflection_close);

#endif
