/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_TLS_H
#define RAWSTACK_RPC_TLS_H
/*
 * TLS of a server: the credentials of its ports, and new certificates for them without a restart.
 * gRPC asks for certificates with each connection; the files are looked at then, at most once a
 * second. What does not fit together is told in one line of the log, and the old ones stay.
 * Internal to proto/rpc. Safe from any thread, but for open and close.
 */
#include <grpc/grpc_security.h>

#include "base.h"
#include "err.h"
#include "tls_files.h"

#define RPC_TLS_PORTS 16

struct rpc_tls;

/* The paths are borrowed until the close. Errors of tls_watch_open(). */
int rpc_tls_open(struct rpc_tls **ret, const struct tls_files *files, struct err *err) _must_check_;
void rpc_tls_close(struct rpc_tls *t); /* after the server */
DEFINE_FREEP(struct rpc_tls, rpc_tls_close);

/* Of one port, at most RPC_TLS_PORTS; released by the caller. NULL: there are more. */
grpc_server_credentials *rpc_tls_credentials(struct rpc_tls *t);

/* Reads the files now, changed or not, and says in the log what came of it. */
void rpc_tls_reload(struct rpc_tls *t);

#endif
