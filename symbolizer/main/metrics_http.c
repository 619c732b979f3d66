/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"

enum {
	CONNECTIONS = 16,
	TIMEOUT_S = 10,
	MEMORY = 16 << 10, /* bytes of a connection, for the request and the headers */
};

struct metrics_http {
	int fd; /* the listening socket, until the daemon has it */
	struct MHD_Daemon *daemon;
	void (*fill)(void *ctx, struct buf *out);
	void *ctx;
};

static enum MHD_Result reply_http(struct MHD_Connection *c, unsigned int status, const char *type,
				  void *text, size_t len, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, text, mode);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result refuse_http(struct MHD_Connection *c, unsigned int status, char *text)
{
	return reply_http(c, status, "text/plain", text, strlen(text), MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result handle_http(void *cls, struct MHD_Connection *c, const char *url,
				   const char *method, const char *version _unused_,
				   const char *data _unused_, size_t *data_len,
				   void **state _unused_)
{
	static char not_found[] = "only /metrics is here\n", not_allowed[] = "GET only\n";
	struct metrics_http *m = cls;
	struct buf out = BUF_INIT(MIB);

	if (strcmp(method, "GET") != 0 || *data_len)
		return refuse_http(c, MHD_HTTP_METHOD_NOT_ALLOWED, not_allowed);
	if (strcmp(url, "/metrics") != 0)
		return refuse_http(c, MHD_HTTP_NOT_FOUND, not_found);
	m->fill(m->ctx, &out);
	if (out.failed || !out.p) {
		buf_done(&out);
		return MHD_NO;
	}
	/* The response frees out.p. */
	return reply_http(c, MHD_HTTP_OK,
			  "application/openmetrics-text; version=1.0.0; charset=utf-8", out.p,
			  out.len, MHD_RESPMEM_MUST_FREE);
}

static int parse_http_address(const char *address, struct sockaddr_in *to, struct err *err)
{
	const char *colon = strrchr(address, ':'), *port = colon ? colon + 1 : address;
	char host[64], *end;
	unsigned long n = strtoul(port, &end, 10);

	*to = (struct sockaddr_in){.sin_family = AF_INET};
	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - address) : 9,
		 colon ? address : "127.0.0.1");
	if (*port < '0' || *port > '9' || *end || n > UINT16_MAX ||
	    inet_pton(AF_INET, host, &to->sin_addr) != 1)
		return err_set(err, ERR_USAGE, "--metrics %s: not PORT nor 127.0.0.1:PORT",
			       address);
	if (ntohl(to->sin_addr.s_addr) >> 24 != 127)
		return err_set(err, ERR_DENIED, "--metrics %s: metrics are served on loopback only",
			       address);
	to->sin_port = htons((uint16_t)n);
	return 0;
}

/* Opens the listening socket. The library could, but does not say why it failed. */
static int listen_on(const struct sockaddr_in *to, int *ret_fd, int *ret_port, const char *address,
		     struct err *err)
{
	_cleanup_(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in bound = {0};
	socklen_t len = sizeof(bound);
	const int on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)to, sizeof(*to)) || listen(fd, CONNECTIONS) ||
	    getsockname(fd, (struct sockaddr *)&bound, &len))
		return err_sys(err, errno, "--metrics %s: cannot listen", address);
	*ret_port = ntohs(bound.sin_port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int metrics_http_listen(struct metrics_http **ret, const char *address, int *ret_port,
			struct err *err)
{
	_cleanup_(closep) int fd = -1;
	struct metrics_http *m;
	struct sockaddr_in to;
	int rc = parse_http_address(address, &to, err);

	if (!rc)
		rc = listen_on(&to, &fd, ret_port, address, err);
	if (rc)
		return rc;
	m = calloc(1, sizeof(*m));
	if (!m)
		return err_no_memory(err);
	m->fd = TAKE_FD(fd);
	*ret = m;
	return 0;
}

int metrics_http_start(struct metrics_http *m, void (*fill)(void *ctx, struct buf *out), void *ctx,
		       struct err *err)
{
	m->fill = fill;
	m->ctx = ctx;
	m->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handle_http, m,
				     MHD_OPTION_LISTEN_SOCKET, m->fd, MHD_OPTION_CONNECTION_LIMIT,
				     (unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
				     (unsigned int)TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)MEMORY, MHD_OPTION_END);
	if (!m->daemon)
		return err_set(err, ERR_IO, "--metrics: no server could be started");
	(void)TAKE_FD(m->fd); /* the daemon closes it */
	return 0;
}

void metrics_http_close(struct metrics_http *m)
{
	if (!m)
		return;
	if (m->daemon)
		MHD_stop_daemon(m->daemon);
	closep(&m->fd);
	free(m);
}
