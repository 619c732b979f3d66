/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_FLOOD_H
#define RAWSTACK_RPC_FLOOD_H
/*
 * Ends the connections that send floods of frames (rpc_frames.h). gRPC core reads its sockets by
 * recvmsg(), and a program that links the server has a recvmsg() of its own, as it has an accept4()
 * (rpc_accept.h). It checks received bytes before core uses them, and reports a flood as an error
 * of the connection, which core then closes. Within TLS the same holds for what SSL_read() gives
 * (tls_bytes.h). Other sockets are read as ever. Internal to proto/rpc.
 */
#include "base.h"
#include "err.h"

/* Prepares the table for descriptors below `descriptors`. Later calls do nothing. Returns 0 or
 * ERR_MEMORY, or ERR_INTERNAL when recvmsg() or SSL_read() is not linked in. */
int rpc_flood_open(size_t descriptors, struct err *err) _must_check_;

/* Begins to check a connection that was just accepted; its socket has this cookie. */
void rpc_flood_begin(int fd, uint64_t cookie);

/* Returns whether the connection on this descriptor began a TLS handshake that is not complete. A
 * client that cuts its ClientHello before the random (its first 43 bytes) into several records
 * counts as one that never completes it. */
bool rpc_flood_is_shaking(int fd);

/* Returns how many connections were ended for a flood. */
uint64_t rpc_flood_count(void);

#endif
