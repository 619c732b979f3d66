/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CHANNEL_H
#define RAWSTACK_RPC_CHANNEL_H
/*
 * A client's channel: where the service is, whether over TLS, and what the client shows. Our own
 * code (trust.h) verifies the server's certificate and says what is wrong with it; core 1.51 would
 * only say that verification failed. The files are checked between calls, at most once a second,
 * and a change makes a new channel, because gRPC never reads them again. Internal to proto/rpc. One
 * thread at a time.
 */
#include <grpc/grpc.h>

#include "base.h"
#include "err.h"
#include "rpc_identity.h"

struct rpc_channel;

/* Checks an address, and that a token would not be sent there in plain text: ERR_USAGE. */
int rpc_channel_check(const char *target, const struct rpc_identity *identity,
		      struct err *err) _must_check_;

/* gRPC has to be running as long as the channel lives. The channel takes a reference to the
 * identity; NULL means no identity and plain text. */
int rpc_channel_open(struct rpc_channel **ret, const char *target, struct rpc_identity *identity,
		     struct err *err) _must_check_;
void rpc_channel_close(struct rpc_channel *ch);
DEFINE_FREEP(struct rpc_channel, rpc_channel_close);

/* Returns the channel for calls; it is valid until the next rpc_channel_refresh(). */
grpc_channel *rpc_channel_get(const struct rpc_channel *ch);

/* Makes a new channel when a file has changed, or if `force`. Runs between calls only. When changed
 * files do not fit together, it logs that and keeps the old ones. */
void rpc_channel_refresh(struct rpc_channel *ch, bool force);

/* Returns "Bearer WORD" for each call's metadata, released with token_free(), or NULL if there is
 * no token. */
char *rpc_channel_authorization(const struct rpc_channel *ch);

bool rpc_channel_has_tls(const struct rpc_channel *ch);

#endif
