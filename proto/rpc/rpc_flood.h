/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_FLOOD_H
#define RAWSTACK_RPC_FLOOD_H
/*
 * Ends the connections that send floods of frames (rpc_frames.h). gRPC core reads its sockets by
 * recvmsg(), and a program that links the server has one of its own, as it has an accept4()
 * (rpc_accept.h): what has just come is looked at before core uses any of it, and a flood is an
 * error of the connection, which core then closes. Other sockets are read as ever. Internal to
 * proto/rpc.
 */
#include "err.h"

/* Sockets below this number can be looked at. The first call counts. ERR_MEMORY. */
int rpc_flood_open(size_t descriptors, struct err *err) _must_check_;

/* A connection that was just accepted, of the socket that has this cookie, is to be looked at. */
void rpc_flood_begin(int fd, uint64_t cookie);

/* Connections that were ended for a flood. */
uint64_t rpc_flood_count(void);

#endif
