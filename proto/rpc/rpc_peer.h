/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_PEER_H
#define RAWSTACK_RPC_PEER_H
/*
 * The peer of a connection, as a number: on a Unix socket it stands for the user, as the kernel
 * says (SO_PEERCRED); on TCP for the connection, because on loopback all clients have one address.
 * All that gRPC tells of a call's peer is the address that accept4() gave for its connection, and
 * for Unix sockets not even that. So our accept4() gives an address there that gRPC takes for IPv6
 * and that contains the user. Internal to proto/rpc. Safe from any thread.
 */
#include <sys/socket.h>

#include "base.h"

/* Called after accept4() wrote the peer of fd to address, which has room for `room` bytes. On a
 * Unix socket, it replaces that by an address that contains the user. */
void rpc_peer_write(int fd, struct sockaddr *address, socklen_t room, socklen_t *len);

/* Returns the peer's number, or 0 when the address has another family. */
uint32_t rpc_peer_of_address(const struct sockaddr *address, socklen_t len);

/* Returns the same for an address in gRPC's text form, or 0 when the text is no such address. */
uint32_t rpc_peer_of_text(const char *text);

enum {
	RPC_PEER_NAME_MAX = 80
};

/* Writes gRPC's text form as people read it: "unix:uid=1000", "ipv4:127.0.0.1:1234" or
 * "ipv6:[::1]:1234". */
void rpc_peer_name(const char *text, char *to, size_t len);

/* Whether it is on this machine: a Unix socket, or loopback. */
bool rpc_peer_is_local(const char *text);

#endif
