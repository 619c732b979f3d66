/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_PEER_H
#define RAWSTACK_RPC_PEER_H
/*
 * Who is at the other end of a connection, as a number: of a Unix socket the user, as the kernel
 * says (SO_PEERCRED); of TCP the connection, for on loopback all have one address. gRPC tells of a
 * call only the address that accept4() gave for its connection, and for Unix sockets not even that.
 * So accept4() gives one there that gRPC takes for an IPv6 address, with the user in it. Internal
 * to proto/rpc. Safe from any thread.
 */
#include <sys/socket.h>

#include "base.h"

/* After accept4() of fd into address, which has room for so many bytes: of a Unix socket, writes
 * who it is of in its place. */
void rpc_peer_write(int fd, struct sockaddr *address, socklen_t room, socklen_t *len);

/* The number, never 0; 0 when the address is of no such kind. */
uint32_t rpc_peer_of_address(const struct sockaddr *address, socklen_t len);

/* The same of an address as gRPC tells it of a call. */
uint32_t rpc_peer_of_text(const char *text);

#endif
