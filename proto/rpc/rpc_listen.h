/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_LISTEN_H
#define RAWSTACK_RPC_LISTEN_H
/* Where a server may listen: in plain text on loopback, or on a Unix socket of its group; with TLS
 * anywhere. */
#include "base.h"
#include "err.h"

/*
 * 1 when address is unix:PATH, 0 when it is HOST:PORT. Unless `anywhere` the host has to be
 * loopback by its form (127.x.x.x, [::1], localhost): ERR_DENIED. ERR_USAGE when it is neither.
 */
int rpc_listen_check(const char *address, bool anywhere, struct err *err);

/* Of a host without brackets and port. */
bool rpc_listen_is_loopback(const char *host);

/* The same of an address that rpc_listen_check() took; true of a Unix socket. */
bool rpc_listen_is_local(const char *address);

/*
 * Before binding unix:PATH: makes the directory, or refuses one that others may enter, and locks
 * PATH.lock, because gRPC would silently take over the socket of a running server. *ret_lock_fd is
 * kept open as long as the socket is served.
 */
int rpc_listen_unix_lock(const char *path, int *ret_lock_fd, struct err *err);

/* After binding: mode 0660. */
int rpc_listen_unix_mode(const char *path, struct err *err);

#endif
