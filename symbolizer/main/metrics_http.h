/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_METRICS_HTTP_H
#define RAWSTACK_METRICS_HTTP_H
/*
 * GET /metrics over HTTP, for a scraper on this machine: the one use of libmicrohttpd. Bounded in
 * connections, memory and time of each. Listens on loopback only, for there are no identities.
 */
#include "buf.h"
#include "err.h"

struct metrics_http;

/*
 * Listens, and answers nobody yet. address: PORT or 127.x.y.z:PORT (port 0: any free one, told in
 * *ret_port). ERR_USAGE; ERR_DENIED when the address is not loopback, or the port not for this
 * user; ERR_IO with the system's word, when somebody listens there for instance.
 */
int metrics_http_listen(struct metrics_http **ret, const char *address, int *ret_port,
			struct err *err) _must_check_;

/* Answers from now on. fill() writes the text of one reply, on a thread of the server. */
int metrics_http_start(struct metrics_http *m, void (*fill)(void *ctx, struct buf *out), void *ctx,
		       struct err *err) _must_check_;
void metrics_http_close(struct metrics_http *m); /* NULL: nothing */

#endif
