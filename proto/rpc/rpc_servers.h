/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_SERVERS_H
#define RAWSTACK_RPC_SERVERS_H
/*
 * The servers of a service, and which of them its clients use: the first one that can be reached.
 * When one is away the next takes its place, the first one again behind the last. The first is
 * tried again after RPC_SERVERS_STAY_NS with another, one client at a time, and is used again when
 * it answers. Opens no connection and never waits. Counted by references. Safe from any thread.
 * A name may have several addresses; gRPC tries them one after the other, as one server.
 */
#include "base.h"
#include "err.h"

#define RPC_SERVERS_STAY_NS UINT64_C(60000000000)

/* The longest that one attempt to connect takes, for one address of a name: two packets that were
 * lost, and the handshakes. A call has room for two such attempts and an answer. */
#define RPC_CONNECT_MS 4000

struct rpc_servers;

/* Takes a list (server_list.h). Returns 0, ERR_USAGE or ERR_MEMORY. */
int rpc_servers_new(struct rpc_servers **ret, const char *list, struct err *err) _must_check_;
struct rpc_servers *rpc_servers_ref(struct rpc_servers *s);
void rpc_servers_unref(struct rpc_servers *s); /* NULL does nothing */
DEFINE_FREEP(struct rpc_servers, rpc_servers_unref);

size_t rpc_servers_count(const struct rpc_servers *s);
const char *rpc_servers_name(const struct rpc_servers *s, size_t number);

/* Returns the number of the server to use. */
size_t rpc_servers_at(struct rpc_servers *s);

/* Returns the number of the server to begin something new with: the first one if it is its time
 * to be tried again, which counts as tried then, else the one in use. */
size_t rpc_servers_begin(struct rpc_servers *s, uint64_t now_ns);

/* Notes that a server could not be reached, and why. If it was in use, the next one is now. */
void rpc_servers_away(struct rpc_servers *s, size_t number, const char *why, uint64_t now_ns);

/* Notes that a server answered. The first one is in use now, whichever was; another one only if it
 * is in use already, because a client may end what it began elsewhere. Logs a change. */
void rpc_servers_answered(struct rpc_servers *s, size_t number);

#endif
