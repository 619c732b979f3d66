/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HTTP_PAGES_H
#define RAWSTACK_HTTP_PAGES_H
/*
 * The pages of the service's HTTP port: /metrics, /healthz, /readyz and /status. It answers
 * from before the store is opened, which may take minutes, until the last call has ended.
 */
#include "err.h"
#include "rpc_server.h"
#include "service.h"
#include "watchdog.h"

struct http_pages;

struct http_pages_config {
	const char *option, *address; /* where to listen, and the option that said so; borrowed */
	const char *port_file;        /* or NULL */
	bool is_open;                 /* beyond loopback too */
};

/* Listens, and answers that the service is not ready yet. Errors of http_port_listen(), and those
 * of writing the port. */
int http_pages_open(struct http_pages **ret, const struct http_pages_config *config,
		    struct err *err) _must_check_;

/* From then on the service is ready, as long as it can. All have to outlive http_pages_close(). */
void http_pages_serve(struct http_pages *p, struct service *service, struct rpc_server *server,
		      struct watchdog *watchdog);

/* Says whether threads for all kinds of work are available. */
void http_pages_set_well(struct http_pages *p, bool is_well);

/* From then on the service shuts down, and is not ready. */
void http_pages_stop(struct http_pages *p);

void http_pages_close(struct http_pages *p); /* NULL is allowed, here and above */

#endif
