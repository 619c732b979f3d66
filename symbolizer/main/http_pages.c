/* SPDX-License-Identifier: Apache-2.0 */
#include "http_pages.h"

#include <stdatomic.h>
#include <stdio.h>

#include "http_port.h"
#include "io.h"
#include "rpc_accept.h"
#include "status_page.h"

enum {
	UNAVAILABLE = 503
};

struct http_pages {
	struct http_port *port;
	_Atomic(struct service *) service; /* NULL until http_pages_serve() */
	struct rpc_server *server;         /* set before it, like the next */
	struct watchdog *watchdog;
	atomic_bool is_stuck, is_stopping;
};

/* Returns whether the service is open; otherwise the reply says so. */
static struct service *find_open_service(struct http_pages *p, struct http_reply *reply)
{
	struct service *s = atomic_load(&p->service);

	if (!s) {
		reply->status = UNAVAILABLE;
		buf_str(&reply->body, "not ready: the store is not open yet\n");
	}
	return s;
}

/* Returns 0, or ERR_UNAVAILABLE and why no work should come to it now. */
static int check_readiness(const struct http_pages *p, struct service *s, struct err *err)
{
	if (atomic_load(&p->is_stopping))
		return err_set(err, ERR_UNAVAILABLE, "the service shuts down");
	if (atomic_load(&p->is_stuck))
		return err_set(err, ERR_UNAVAILABLE, "all threads for one kind of work are stuck");
	return service_ready(s, err);
}

static void answer_metrics(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	struct openmetrics m = {.out = &reply->body, .is_plain = request->wants_plain};
	struct http_pages *p = ctx;
	struct service *s = find_open_service(p, reply);
	struct service_outside outside = {0};
	struct rpc_accept_stat stat;
	struct http_port_stat http;
	struct busy_stuck stuck;
	struct err err;

	if (!s)
		return;
	reply->type = m.is_plain ? "text/plain; version=0.0.4; charset=utf-8"
				 : "application/openmetrics-text; version=1.0.0; charset=utf-8";
	rpc_accept_stat(&stat);
	http_port_stat(p->port, &http);
	watchdog_stat(p->watchdog, &stuck);
	outside = (struct service_outside){.ready = !check_readiness(p, s, &err),
					   .connections = stat.open,
					   .connections_max = stat.max,
					   .connections_ended = stat.ended,
					   .connections_refused = stat.refused,
					   .connections_flooded = stat.flooded,
					   .http_answered = http.answered,
					   .http_refused = http.refused,
					   .http_ended = http.ended,
					   .stuck_threads = stuck.threads,
					   .stuck_ns = stuck.longest_ns};
	service_metrics(s, &outside, &m);
	rpc_server_metrics(p->server, &m);
	openmetrics_end(&m);
}

static void answer_health(void *ctx, const struct http_request *request _unused_,
			  struct http_reply *reply)
{
	const struct http_pages *p = ctx;

	if (atomic_load(&p->is_stuck))
		reply->status = UNAVAILABLE;
	buf_str(&reply->body, atomic_load(&p->is_stuck)
				      ? "all threads for one kind of work are stuck\n"
				      : "ok\n");
}

static void answer_ready(void *ctx, const struct http_request *request _unused_,
			 struct http_reply *reply)
{
	struct http_pages *p = ctx;
	struct service *s = find_open_service(p, reply);
	struct err err;

	if (!s)
		return;
	if (check_readiness(p, s, &err)) {
		reply->status = UNAVAILABLE;
		buf_printf(&reply->body, "not ready: %s\n", err.message);
	} else {
		buf_str(&reply->body, "ready\n");
	}
}

static void answer_status(void *ctx, const struct http_request *request _unused_,
			  struct http_reply *reply)
{
	struct http_pages *p = ctx;
	struct service *s = find_open_service(p, reply);

	if (!s)
		return;
	reply->type = "text/html; charset=utf-8";
	status_page_write(s, p->server, &reply->body);
}

static const struct http_path paths[] = {
	{"/status", true, answer_status},
	{"/metrics", false, answer_metrics},
	{"/healthz", false, answer_health},
	{"/readyz", false, answer_ready},
};

static int write_http_port(const char *path, int port, struct err *err)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", port);

	return io_write_file(path, text, (size_t)len, 0600, err);
}

int http_pages_open(struct http_pages **ret, const struct http_pages_config *config,
		    struct err *err)
{
	struct http_pages *p = calloc(1, sizeof(*p));
	int port, rc;

	if (!p)
		return err_no_memory(err);
	rc = http_port_listen(&p->port, config->option, config->address, config->is_open, &port,
			      err);
	if (!rc && config->port_file && write_http_port(config->port_file, port, err))
		rc = err_prefix(err, "%s-port-file", config->option);
	if (!rc)
		rc = http_port_start(p->port, paths, ARRAY_LEN(paths), p, err);
	if (rc) {
		http_pages_close(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void http_pages_serve(struct http_pages *p, struct service *service, struct rpc_server *server,
		      struct watchdog *watchdog)
{
	if (!p)
		return;
	p->server = server;
	p->watchdog = watchdog;
	atomic_store(&p->service, service);
}

void http_pages_set_well(struct http_pages *p, bool is_well)
{
	if (p)
		atomic_store(&p->is_stuck, !is_well);
}

void http_pages_stop(struct http_pages *p)
{
	if (p)
		atomic_store(&p->is_stopping, true);
}

void http_pages_close(struct http_pages *p)
{
	if (!p)
		return;
	http_port_close(p->port);
	free(p);
}
