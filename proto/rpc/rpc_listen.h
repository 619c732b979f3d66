/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_LISTEN_H
#define RAWSTACK_RPC_LISTEN_H
/* Where a server without identities may listen: on loopback, or on a Unix socket of its group. */
#include "base.h"
#include "err.h"

/*
 * 1 when address is unix:PATH, 0 when it is HOST:PORT with a host that is loopback by its form
 * (127.x.x.x, [::1], localhost). ERR_DENIED when it is another host, ERR_USAGE when it is neither.
 */
int rpc_listen_check(const char *address, struct err *err);

/*
 * Before binding unix:PATH: makes the directory, or refuses one that others may enter, and locks
 * PATH.lock, because gRPC would silently take over the socket of a running server. *ret_lock_fd is
 * kept open as long as the socket is served.
 */
int rpc_listen_unix_lock(const char *path, int *ret_lock_fd, struct err *err);

/* After binding: mode 0660. */
int rpc_listen_unix_mode(const char *path, struct err *err);

#endif
