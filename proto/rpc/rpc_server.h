/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RPC_SERVER_H
#define RAWSTACK_RPC_SERVER_H
/*
 * A gRPC server as the service sees it: a table of methods in (rpc_method.h), calls to their
 * handlers out, with protobuf-c messages. Knows no message of its own, and no type of gRPC leaves
 * it.
 *
 * Handlers are driven by events and never wait for a peer, so that a thousand idle streams cost no
 * thread: `message` for each request message, `end` for a clean half-close, `closed` when the call
 * is over. Events of one call come one after the other; different calls run at once on a bounded
 * pool of worker threads. A full pool answers UNAVAILABLE with grpc-retry-pushback-ms.
 *
 *	rpc_server_open(&s, &config, &err), rpc_server_add(s, methods, n, &err)...,
 *	rpc_server_listen(s, "127.0.0.1:0", &port, &err), rpc_server_start(s, &err), ...
 *	rpc_server_stop(s, 5000), rpc_server_close(s)
 *
 * Messages: received ones are refused above LIMIT_MESSAGE_LEN, as they come and inflated, and may
 * take LIMIT_REQUEST_MEMORY once unpacked.
 */
#include "access.h"
#include "base.h"
#include "err.h"
#include "openmetrics.h"
#include "rpc_method.h"
#include "rpc_seen.h"
#include "tls_files.h"

struct rpc_server;

enum {
	RPC_SERVER_WORKERS = 4,
	RPC_SERVER_KEEPALIVE_MS = 20000, /* half of the patience of our clients */
	/* The grace is longer than every wait of a single call but Finish's, which may be repeated.
	 */
	RPC_SERVER_AGE_MS = 3600000,
	RPC_SERVER_GRACE_MS = 600000,
};

struct rpc_server_config {
	unsigned int queues;   /* completion queues, one thread each; 0: one queue */
	unsigned int workers;  /* threads that run handlers; 0: RPC_SERVER_WORKERS */
	uint32_t keepalive_ms; /* silence before a peer is pinged; 0: RPC_SERVER_KEEPALIVE_MS */
	/* A connection takes no new calls from this age on (a tenth more or less, by chance), and
	 * clients make another; the calls that it has may go on for grace_ms. 0: it may grow old.
	 */
	uint32_t age_ms;
	uint32_t grace_ms;
	uint32_t idle_ms; /* a connection without a call for so long ends likewise; 0: it stays */
	/* With a certificate the server speaks TLS on all addresses but Unix sockets, and with CAs
	 * it asks each client for a certificate; `access` decides who is let in without one. The
	 * files are read again when they have changed. */
	struct tls_files tls;
	bool insecure; /* plain text may leave the machine */
	/* The rights of callers; its client_ca is that of tls. Without local_roles everybody may
	 * call everything. */
	struct access_config access;
	const char *quotas; /* path of the record of quotas.h; NULL: a restart forgets */
};

int rpc_server_open(struct rpc_server **ret, const struct rpc_server_config *config,
		    struct err *err) _must_check_;

/* Adds methods before the start. The table is kept, not copied. */
int rpc_server_add(struct rpc_server *s, const struct rpc_method *methods, size_t count,
		   struct err *err) _must_check_;

/*
 * Listens on HOST:PORT (port 0: any free one, returned in *ret_port), or on unix:PATH (port 0),
 * whose directory is made with mode 0750 if there is none, and whose socket gets 0660, under the
 * lock file PATH.lock. Called for each address, RPC_LISTEN_MAX at most. Returns ERR_DENIED for an
 * address that is not loopback, without TLS and unless `insecure`; ERR_EXISTS when another process
 * listens there; ERR_USAGE for what rpc_listen_check() refuses; or the system's error.
 */
int rpc_server_listen(struct rpc_server *s, const char *address, int *ret_port,
		      struct err *err) _must_check_;

int rpc_server_start(struct rpc_server *s, struct err *err) _must_check_;

/* Reads the files of certificates, roles and tokens again now and logs the result. Any thread. */
void rpc_server_reload(struct rpc_server *s);

/* Lists who called lately, as rpc_seen.h does; nobody without `access`. */
size_t rpc_server_seen(struct rpc_server *s, struct rpc_seen_row *rows, size_t max);

/* Writes what was counted of calls. From any thread, after the methods were added. */
void rpc_server_metrics(struct rpc_server *s, struct openmetrics *m);

/*
 * Accepts no new calls, gives running calls grace_ms to end, then cancels them. Returns when no
 * call and no worker is left. All references to calls have to be given back by then, at the latest
 * in `closed`.
 */
void rpc_server_stop(struct rpc_server *s, unsigned int grace_ms);
void rpc_server_close(struct rpc_server *s); /* stops it if necessary */
DEFINE_FREEP(struct rpc_server, rpc_server_close);

#endif
