/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HTTP_PORT_H
#define RAWSTACK_HTTP_PORT_H
/*
 * Serves GET and HEAD of a few paths over HTTP to scrapers, probes and people; the only user of
 * libmicrohttpd. There are no identities on it, so it listens on loopback unless it is told
 * otherwise, and paths may be kept for loopback.
 *
 * A client of it costs little and takes nothing from the rest of the service: there are few places,
 * each for one request and a few seconds; when all are taken, the oldest connection ends; the
 * number of connections that are accepted in a second is bounded; and one thread serves all.
 */
#include "buf.h"
#include "err.h"

struct http_port;

struct http_request {
	bool wants_plain; /* the Accept header names text/plain, and no OpenMetrics */
};

struct http_reply {
	unsigned int status; /* 200 unless the answer says otherwise */
	const char *type;    /* a literal; text/plain unless the answer says otherwise */
	struct buf body;     /* at most a MiB; a failed one makes the status 500 */
};

struct http_path {
	const char *path;
	/* Others than clients on loopback are refused, and so are requests whose Host is a name
	 * other than localhost, because a page on the web may have sent them. */
	bool is_local;
	/* Fills the reply, on the thread of the server. */
	void (*answer)(void *ctx, const struct http_request *request, struct http_reply *reply);
};

/* Checks an address as http_port_listen() reads it, and opens nothing. Returns 0, ERR_USAGE, or
 * ERR_DENIED if it is not loopback and is_open is false. */
int http_port_check(const char *address, bool is_open, struct err *err) _must_check_;

/*
 * Listens, and answers nobody yet. address is PORT, for loopback, or HOST:PORT with an IPv4 address
 * or an IPv6 address in brackets; port 0 is any free port, returned in *ret_port. is_open lets HOST
 * be more than loopback. option is the name in errors. Returns ERR_USAGE, ERR_DENIED if the address
 * is not loopback or the user may not have the port, or ERR_IO with the system's message.
 */
int http_port_listen(struct http_port **ret, const char *option, const char *address, bool is_open,
		     int *ret_port, struct err *err) _must_check_;

/* Starts answering. Warns if strangers may read pages because the address is beyond loopback. paths
 * and ctx are borrowed until http_port_close(). Returns 0, ERR_IO if the library does not start, or
 * an error of err_sys(). */
int http_port_start(struct http_port *h, const struct http_path *paths, size_t count, void *ctx,
		    struct err *err) _must_check_;

struct http_port_stat {
	uint64_t answered, refused; /* requests: served ones, and 403, 404, 405 and 500 */
	uint64_t ended;             /* connections that were too slow, or made place for others */
};

void http_port_stat(struct http_port *h, struct http_port_stat *ret);
void http_port_close(struct http_port *h); /* NULL is allowed */

#endif
