/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_INFLATE_H
#define RAWSTACK_RPC_INFLATE_H
/*
 * Inflates a message that its sender compressed. gRPC does not do it for us, because it inflates a
 * whole message before it looks at the limit. Internal to proto/rpc. Safe from any thread.
 */
#include "base.h"
#include "buf.h"
#include "err.h"

/*
 * Inflates gzip (RFC 1952) or zlib (RFC 1950, which gRPC calls deflate) and appends it to out,
 * whose ceiling bounds memory and time: nothing is inflated beyond it. Returns ERR_LIMIT when there
 * is more, ERR_DATA when the bytes are damaged, cut short, or followed by others, or ERR_MEMORY.
 */
int rpc_inflate(const void *p, size_t len, struct buf *out, struct err *err) _must_check_;

#endif
