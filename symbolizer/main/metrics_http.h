/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_METRICS_HTTP_H
#define RAWSTACK_METRICS_HTTP_H
/*
 * Serves GET /metrics over HTTP to a scraper on this machine; the only user of libmicrohttpd.
 * Connections, and the memory and time of each, are bounded. It listens on loopback only, because
 * there are no identities.
 */
#include "buf.h"
#include "err.h"

struct metrics_http;

/*
 * Listens, and answers nobody yet. address is PORT or 127.x.y.z:PORT; port 0 is any free port,
 * returned in *ret_port. Returns ERR_USAGE, ERR_DENIED if the address is not loopback or the user
 * may not have the port, or ERR_IO with the system's message, for instance if another program
 * listens there.
 */
int metrics_http_listen(struct metrics_http **ret, const char *address, int *ret_port,
			struct err *err) _must_check_;

/* Starts answering. fill() writes the text of one reply, on a thread of the server. */
int metrics_http_start(struct metrics_http *m, void (*fill)(void *ctx, struct buf *out), void *ctx,
		       struct err *err) _must_check_;
void metrics_http_close(struct metrics_http *m); /* NULL is allowed */

#endif
