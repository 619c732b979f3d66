/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_LISTEN_H
#define RAWSTACK_RPC_LISTEN_H
/* Where a server may listen: in plain text on loopback, or on a Unix socket of its group; with TLS
 * anywhere. */
#include "base.h"
#include "err.h"

/*
 * Returns 1 when address is unix:PATH, 0 when it is HOST:PORT, or ERR_USAGE when it is neither.
 * Returns ERR_DENIED when the host is not loopback by its form (127.x.x.x, [::1], localhost),
 * unless `anywhere`.
 */
int rpc_listen_check(const char *address, bool anywhere, struct err *err);

/* Returns whether the host, without brackets and port, is loopback by its form. */
bool rpc_listen_is_loopback(const char *host);

/* Returns whether an address that rpc_listen_check() accepted is loopback or a Unix socket. */
bool rpc_listen_is_local(const char *address);

/*
 * Runs before unix:PATH is bound: makes the directory, or refuses one that others may enter, and
 * locks PATH.lock, because gRPC would silently take over the socket of a running server. The caller
 * keeps *ret_lock_fd open for as long as the socket is served.
 */
int rpc_listen_unix_lock(const char *path, int *ret_lock_fd, struct err *err);

/* Sets mode 0660 after unix:PATH was bound. */
int rpc_listen_unix_mode(const char *path, struct err *err);

#endif
