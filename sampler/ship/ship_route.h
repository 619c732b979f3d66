/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SHIP_ROUTE_H
#define RAWSTACK_SHIP_ROUTE_H
/*
 * Keeps the list of servers, which is given or read from a routing file, and knows which of them is
 * in use. It opens no connection and never waits. A route is for one thread.
 *
 * A routing file has lines "CLUSTER SERVER[,SERVER...]"; '#' begins a comment. The line of the
 * shipper's own cluster counts, or else that of "*". The file is read again when it has changed. If
 * it cannot be read or has no such line, the servers stay as they were, with a warning.
 */
#include "err.h"
#include "server_list.h"

enum {
	SHIP_ROUTE_SERVERS = SERVER_LIST_MAX,
	SHIP_ROUTE_SERVER_LEN = SERVER_NAME_LEN,
};

/* Another server than the first is used this long before the first is tried again. */
#define SHIP_ROUTE_STAY_NS UINT64_C(60000000000)

struct ship_route {
	char servers[SHIP_ROUTE_SERVERS][SHIP_ROUTE_SERVER_LEN];
	size_t count, at;
	size_t failed_in_row; /* servers that failed one after the other */
	uint64_t left_first_ns;
	const char *file, *cluster; /* borrowed; NULL: a given list */
	uint64_t stamp[4];          /* mtime, inode and size of the file that was read, and 1 */
};

/* Takes exactly one of servers ("A:1,B:2") and file; the other is NULL. Returns 0, ERR_USAGE,
 * ERR_IO or ERR_NOT_FOUND. */
int ship_route_init(struct ship_route *r, const char *servers, const char *file,
		    const char *cluster, struct err *err);

/* Reads the routing file again if it has changed. Returns 1 if the servers are others now, 0 if
 * not, or negative if the file cannot be used, which is reported once for each change of it. */
int ship_route_refresh(struct ship_route *r, struct err *err);

/* Returns the server to use, which is the first one again after SHIP_ROUTE_STAY_NS with others. */
const char *ship_route_server(struct ship_route *r, uint64_t now_ns);

/* Notes that the server in use answered. */
void ship_route_good(struct ship_route *r);

/* Puts the server with this number in `servers` to use, because it can be reached again. */
void ship_route_use(struct ship_route *r, size_t at, uint64_t now_ns);

/* Notes that the server in use is away and puts the next one to use. Returns true if that one
 * should be tried at once, or false if all servers failed in a row and the caller should wait. */
bool ship_route_bad(struct ship_route *r, uint64_t now_ns);

#endif
