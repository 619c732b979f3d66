/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_LISTEN_H
#define RAWSTACK_RPC_LISTEN_H
/*
 * Decides where a server may listen: in plain text on loopback, or on a Unix socket of its group;
 * with TLS anywhere. A host is an address or localhost, because a name may mean another machine
 * tomorrow and cannot be looked up early in a boot. 0.0.0.0 and [::] both mean all addresses, IPv4
 * and IPv6.
 */
#include "base.h"
#include "err.h"

/* The most addresses of one server. */
#define RPC_LISTEN_MAX 16

/*
 * Returns 1 when address is unix:PATH, 0 when it is HOST:PORT or [HOST]:PORT, or ERR_USAGE when it
 * is neither, or the host is a name. Returns ERR_DENIED when the host is not loopback by its form
 * (127.x.x.x, [::1], localhost), unless `anywhere`.
 */
int rpc_listen_check(const char *address, bool anywhere, struct err *err);

/* Returns whether the host, without brackets and port, is loopback by its form. */
bool rpc_listen_is_loopback(const char *host);

/* Returns whether an address that rpc_listen_check() accepted is loopback or a Unix socket. */
bool rpc_listen_is_local(const char *address);

/* Checks that no two of the addresses, each of which rpc_listen_check() accepted, are one place.
 * Returns ERR_USAGE with both. */
int rpc_listen_check_all(const char *const *addresses, size_t count, struct err *err);

/*
 * Binds a socket to HOST:PORT and closes it again, because gRPC does not say why it cannot listen;
 * looks at what is at unix:PATH. Returns the system's error with the address: ERR_EXISTS when
 * another process listens there, which is no error if `may_be_busy`.
 */
int rpc_listen_try(const char *address, bool may_be_busy, struct err *err);

/*
 * Runs before unix:PATH is bound: makes the directory, or refuses one that others may enter, and
 * locks PATH.lock, because gRPC would silently take over the socket of a running server. The caller
 * keeps *ret_lock_fd open for as long as the socket is served.
 */
int rpc_listen_unix_lock(const char *path, int *ret_lock_fd, struct err *err);

/* Sets mode 0660 after unix:PATH was bound. */
int rpc_listen_unix_mode(const char *path, struct err *err);

#endif
