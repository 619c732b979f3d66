/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_CHANNEL_H
#define RAWSTACK_RPC_CHANNEL_H
/*
 * A client's channel: where the service is, whether over TLS, and what the client shows. The
 * server's certificate is verified by our own code (trust.h), which says what is wrong with it;
 * core 1.51 would say that verification failed. The files are looked at between calls, at most once
 * a second, and a change makes a new channel: gRPC never reads them again. Internal to proto/rpc.
 * One thread at a time.
 */
#include <grpc/grpc.h>

#include "base.h"
#include "err.h"
#include "rpc_identity.h"

struct rpc_channel;

/* gRPC is to run as long as it lives. It takes a reference to the identity; NULL: none, and plain
 * text. */
int rpc_channel_open(struct rpc_channel **ret, const char *target, struct rpc_identity *identity,
		     struct err *err) _must_check_;
void rpc_channel_close(struct rpc_channel *ch);
DEFINE_FREEP(struct rpc_channel, rpc_channel_close);

/* What calls are made on; valid until the next rpc_channel_refresh(). */
grpc_channel *rpc_channel_get(const struct rpc_channel *ch);

/* Between calls: makes a new channel when a file has changed, or if `force`. Changed files that do
 * not fit together are told in the log, and the old ones stay. */
void rpc_channel_refresh(struct rpc_channel *ch, bool force);

/* "Bearer WORD" for each call's metadata, released with token_free(); NULL: there is no token. */
char *rpc_channel_authorization(const struct rpc_channel *ch);

/* When a call failed with this text because TLS did, or the lack of it: ERR_DENIED and what our
 * verification says of the server's certificate, or ERR_UNAVAILABLE and what may be the matter;
 * else 0. */
int rpc_channel_explain(const struct rpc_channel *ch, const char *text, struct err *err);

#endif
