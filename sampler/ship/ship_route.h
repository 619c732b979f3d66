/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_ROUTE_H
#define RAWSTACK_SHIP_ROUTE_H
/*
 * The list of servers that may be asked, given or from a routing file, and the one of them in use.
 * Opens no connection and never waits. One thread.
 *
 * A routing file has lines "CLUSTER SERVER[,SERVER...]"; '#' begins a comment. The line of the
 * shipper's own cluster counts, else that of "*". The file is read again when it has changed. If it
 * cannot be read or has no such line, the servers stay as they were, with a warning.
 */
#include "err.h"

enum {
	SHIP_ROUTE_SERVERS = 16,
	SHIP_ROUTE_SERVER_LEN = 256,
};

/* How long another server than the first is used before the first is tried again. */
#define SHIP_ROUTE_STAY_NS UINT64_C(60000000000)

struct ship_route {
	char servers[SHIP_ROUTE_SERVERS][SHIP_ROUTE_SERVER_LEN];
	size_t count, at;
	size_t failed_in_row; /* servers that failed one after the other */
	uint64_t left_first_ns;
	const char *file, *cluster; /* borrowed; NULL: a given list */
	uint64_t stamp[4];          /* of the file that was read */
};

/* Exactly one of servers ("A:1,B:2") and file is given. ERR_USAGE, ERR_IO, ERR_NOT_FOUND. */
int ship_route_init(struct ship_route *r, const char *servers, const char *file,
		    const char *cluster, struct err *err);

/* Looks at the routing file. Returns 1 when the servers have changed, 0 when not, and negative when
 * the file cannot be used now, once for each state of the file. */
int ship_route_refresh(struct ship_route *r, struct err *err);

/* The server to use. Goes back to the first when another was in use for long enough. */
const char *ship_route_server(struct ship_route *r, uint64_t now_ns);

/* Tells that the server in use answered. */
void ship_route_good(struct ship_route *r);

/* Tells that the server with this number in `servers` is there again: it is used from now on. */
void ship_route_use(struct ship_route *r, size_t at, uint64_t now_ns);

/* Tells that the server in use is away: the next one is used from now on. Returns true when that
 * one should be tried at once, and false when all servers failed in a row and it is time to wait.
 */
bool ship_route_bad(struct ship_route *r, uint64_t now_ns);

#endif
