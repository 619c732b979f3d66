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
 * address: PORT or 127.x.y.z:PORT (port 0: any free one, told in *ret_port). fill() writes the text
 * of one reply, on a thread of the server. ERR_USAGE, ERR_DENIED when the address is not loopback,
 * ERR_EXISTS when somebody listens there.
 */
int metrics_http_open(struct metrics_http **ret, const char *address, int *ret_port,
		      void (*fill)(void *ctx, struct buf *out), void *ctx,
		      struct err *err) _must_check_;
void metrics_http_close(struct metrics_http *m); /* NULL: nothing */

#endif
