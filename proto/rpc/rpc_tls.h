/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_TLS_H
#define RAWSTACK_RPC_TLS_H
/*
 * TLS of a server: the credentials of its ports, and new certificates for them without a restart.
 * gRPC asks for certificates with each connection; the files are checked then, at most once a
 * second. When new files do not fit together, one line is logged and the old ones stay. Internal to
 * proto/rpc. Safe from any thread, but for open and close.
 */
#include <grpc/grpc_security.h>

#include "base.h"
#include "err.h"
#include "rpc_listen.h"
#include "tls_files.h"

struct rpc_tls;

/* The paths are borrowed until the close. Errors of tls_watch_open(). */
int rpc_tls_open(struct rpc_tls **ret, const struct tls_files *files, struct err *err) _must_check_;
void rpc_tls_close(struct rpc_tls *t); /* called after the server was closed */
DEFINE_FREEP(struct rpc_tls, rpc_tls_close);

/* Returns the credentials of one port, released by the caller, or NULL for more than RPC_LISTEN_MAX
 * ports. */
grpc_server_credentials *rpc_tls_credentials(struct rpc_tls *t);

/* Warns in the log while the certificate is about to expire, at most once a day. Cheap: it is
 * called with each connection and with each call. */
void rpc_tls_tend(struct rpc_tls *t);

/* Returns when the certificate expires, in seconds since 1970. */
int64_t rpc_tls_end(struct rpc_tls *t);

/* Reads the files now, changed or not, and logs the result. */
void rpc_tls_reload(struct rpc_tls *t);

#endif
