/* SPDX-License-Identifier: Apache-2.0 */
#include "http_port.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"
#include "http_address.h"
#include "io.h"
#include "limits.h"

enum {
	CONNECTIONS = 16,
	SECONDS = 10, /* of a connection, from its acceptance to the last byte of its reply */
	BACKLOG = 64,
	RATE = 100, /* connections a second: many scrapers and people, and little work */
	BURST = 50,
	PAUSE_MS = 20, /* while there is no place or no descriptor */
	ADDRESS_LEN = 64,
	MEMORY = 16 << 10, /* bytes of a connection, for the request line and the headers */
};

/* A connection between its acceptance and its close. */
struct place {
	int fd; /* -1: free */
	bool is_ended;
	uint64_t cookie, begin_ns;
};

struct http_port {
	int listen_fd, wake_fd;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool has_thread;
	atomic_bool stopped;
	const struct http_path *paths;
	size_t path_count;
	void *ctx;
	bool is_wide;       /* beyond loopback */
	const char *option; /* for the log; borrowed until http_port_start() */
	char address[ADDRESS_LEN];
	_Atomic uint64_t answered, refused, ended;
	pthread_mutex_t lock;
	struct place places[CONNECTIONS]; /* under the lock */
	uint64_t tokens_ns;               /* when the bucket of connections is full; acceptor's */
};

/* --- requests -------------------------------------------------------------------------------- */

static enum MHD_Result send_http(struct http_port *h, struct MHD_Connection *c, unsigned int status,
				 const char *type, void *text, size_t len,
				 enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, text, mode);
	enum MHD_Result result;

	if (!r) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	atomic_fetch_add(status < 400 || status == MHD_HTTP_SERVICE_UNAVAILABLE ? &h->answered
										: &h->refused,
			 1);
	MHD_add_response_header(r, "Content-Type", type);
	/* One request for each connection bounds how long it lasts. */
	MHD_add_response_header(r, "Connection", "close");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

/* A request as the log names it. */
struct asked {
	struct MHD_Connection *c;
	const char *method, *url;
};

static void tell_refusal(const struct asked *a, unsigned int status, const char *text)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(a->c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	char client[HTTP_ADDRESS_NAME_LEN] = "?";
	struct event e;

	if (!event_begin(&e, LOG_WARN, EVENT_HTTP_REFUSAL))
		return;
	if (info && info->client_addr)
		http_address_name(info->client_addr, client);
	event_text(&e, "client", client);
	event_text(&e, "method", a->method);
	event_text(&e, "path", a->url);
	event_number(&e, "status", status);
	event_bytes(&e, "reason", text, strcspn(text, "\n"));
	event_end(&e);
}

static enum MHD_Result refuse_http(struct http_port *h, const struct asked *a, unsigned int status,
				   char *text)
{
	struct MHD_Connection *const c = a->c;

	tell_refusal(a, status, text);
	return send_http(h, c, status, "text/plain; charset=utf-8", text, strlen(text),
			 MHD_RESPMEM_PERSISTENT);
}

/* A page on the web may have a browser of this machine ask 127.0.0.1 under a name of its own. */
static bool has_local_name(struct MHD_Connection *c)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	size_t len;

	if (!host)
		return true;
	len = strcspn(host, ":");
	return *host == '[' || strspn(host, "0123456789.") == len ||
	       (len == 9 && !strncasecmp(host, "localhost", len));
}

static bool is_local_client(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info && http_address_is_local(info->client_addr) && has_local_name(c);
}

static const struct http_path *find_http_path(const struct http_port *h, const char *url)
{
	for (size_t i = 0; i < h->path_count; i++)
		if (!strcmp(h->paths[i].path, url))
			return &h->paths[i];
	return NULL;
}

static enum MHD_Result answer_http(struct http_port *h, const struct asked *a,
				   const struct http_path *path)
{
	static char failed[] = "no memory\n";
	struct MHD_Connection *const c = a->c;
	const char *accept =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	const struct http_request request = {
		.wants_plain = accept && strstr(accept, "text/plain") &&
			       !strstr(accept, "application/openmetrics-text"),
	};
	struct http_reply reply = {MHD_HTTP_OK, "text/plain; charset=utf-8", BUF_INIT(MIB)};

	path->answer(h->ctx, &request, &reply);
	if (reply.body.failed || !reply.body.p) {
		buf_done(&reply.body);
		return refuse_http(h, a, MHD_HTTP_INTERNAL_SERVER_ERROR, failed);
	}
	/* The response frees the body. */
	return send_http(h, c, reply.status, reply.type, reply.body.p, reply.body.len,
			 MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result handle_http(void *cls, struct MHD_Connection *c, const char *url,
				   const char *method, const char *version _unused_,
				   const char *data _unused_, size_t *data_len _unused_,
				   void **state _unused_)
{
	static char not_found[] = "there is no such page\n", not_allowed[] = "GET and HEAD only\n",
		    not_here[] = "for clients on this machine, by its address or localhost\n";
	const struct asked asked = {c, method, url};
	struct http_port *h = cls;
	const struct http_path *path = find_http_path(h, url);

	if (!path)
		return refuse_http(h, &asked, MHD_HTTP_NOT_FOUND, not_found);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse_http(h, &asked, MHD_HTTP_METHOD_NOT_ALLOWED, not_allowed);
	if (path->is_local && !is_local_client(c))
		return refuse_http(h, &asked, MHD_HTTP_FORBIDDEN, not_here);
	return answer_http(h, &asked, path);
}

/* --- connections ----------------------------------------------------------------------------- */

static uint64_t cookie_of_socket(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) ? 0 : cookie;
}

/* Frees the place of a connection that the library is about to close. */
static void on_http_connection(void *cls, struct MHD_Connection *c, void **state _unused_,
			       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_port *h = cls;

	if (what != MHD_CONNECTION_NOTIFY_CLOSED || !info)
		return;
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (h->places[i].fd == info->connect_fd)
			h->places[i].fd = -1;
	pthread_mutex_unlock(&h->lock);
}

static void end_place(struct http_port *h, struct place *p)
{
	if (p->is_ended)
		return;
	(void)shutdown(p->fd, SHUT_RDWR); /* the library notices and closes it */
	p->is_ended = true;
	atomic_fetch_add(&h->ended, 1);
}

/* Ends connections that are overdue. If there is no place then, it ends the oldest one, whose place
 * will be free soon. Returns a free place or NULL. The caller holds the lock. */
static struct place *find_place(struct http_port *h, bool is_wanted)
{
	const uint64_t now = io_mono_ns();
	struct place *oldest = NULL, *free = NULL;

	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct place *p = &h->places[i];

		/* The library tells of no connection that it did not even begin. */
		if (p->fd >= 0 && cookie_of_socket(p->fd) != p->cookie)
			p->fd = -1;
		if (p->fd < 0) {
			free = p;
			continue;
		}
		if (now - p->begin_ns > SECONDS * UINT64_C(1000000000))
			end_place(h, p);
		if (!oldest || p->begin_ns < oldest->begin_ns)
			oldest = p;
	}
	if (is_wanted && !free && oldest)
		end_place(h, oldest);
	return free;
}

/* Returns how many milliseconds it is too early for another connection, by the rate. */
static int http_early_ms(struct http_port *h)
{
	const uint64_t each = UINT64_C(1000000000) / RATE, burst = BURST * each;
	const uint64_t now = io_mono_ns();

	if (h->tokens_ns < now)
		h->tokens_ns = now;
	if (h->tokens_ns + each > now + burst)
		return (int)((h->tokens_ns + each - now - burst) / 1000000) + 1;
	h->tokens_ns += each;
	return 0;
}

static void accept_http(struct http_port *h, struct place *p)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	/* Not accept4() of libc: the program's own counts connections of gRPC (rpc_accept.h), and
	 * would end one of those to make place for one of these. */
	int fd = (int)syscall(SYS_accept4, h->listen_fd, &peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		/* There is no descriptor, or the client is gone: not at once again. */
		if (errno != EAGAIN)
			(void)poll(&(struct pollfd){.fd = h->wake_fd, .events = POLLIN}, 1,
				   PAUSE_MS);
		return;
	}
	pthread_mutex_lock(&h->lock);
	*p = (struct place){.fd = fd, .cookie = cookie_of_socket(fd), .begin_ns = io_mono_ns()};
	pthread_mutex_unlock(&h->lock);
	/* On failure the library has closed it, which its cookie shows. */
	(void)MHD_add_connection(h->daemon, fd, (struct sockaddr *)&peer, len);
}

static void *run_http_acceptor(void *arg)
{
	struct http_port *h = arg;

	while (!atomic_load(&h->stopped)) {
		struct pollfd fds[] = {{.fd = h->listen_fd, .events = POLLIN},
				       {.fd = h->wake_fd, .events = POLLIN}};
		struct place *place;
		bool is_wanted;
		int early;

		(void)poll(fds, ARRAY_LEN(fds), 1000);
		is_wanted = fds[0].revents;
		pthread_mutex_lock(&h->lock);
		place = find_place(h, is_wanted);
		pthread_mutex_unlock(&h->lock);
		if (!is_wanted)
			continue;
		early = place ? http_early_ms(h) : PAUSE_MS;
		if (early)
			(void)poll(&fds[1], 1, early);
		else
			accept_http(h, place);
	}
	return NULL;
}

/* --- open and close -------------------------------------------------------------------------- */

int http_port_check(const char *address, bool is_open, struct err *err)
{
	struct http_address to;

	return http_address_parse(&to, "", address, is_open, err);
}

int http_port_listen(struct http_port **ret, const char *option, const char *address, bool is_open,
		     int *ret_port, struct err *err)
{
	_cleanup_(closep) int fd = -1, wake_fd = -1;
	struct http_address to;
	struct http_port *h;

	TRY(http_address_parse(&to, option, address, is_open, err));
	TRY(http_address_listen(&to, BACKLOG, &fd, ret_port, err));
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wake_fd < 0)
		return err_sys(err, errno, "%s: eventfd", option);
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_no_memory(err);
	pthread_mutex_init(&h->lock, NULL);
	for (size_t i = 0; i < CONNECTIONS; i++)
		h->places[i].fd = -1;
	h->is_wide = !http_address_is_local(&to.any);
	h->option = option;
	snprintf(h->address, sizeof(h->address), "%s", address);
	h->listen_fd = TAKE_FD(fd);
	h->wake_fd = TAKE_FD(wake_fd);
	*ret = h;
	return 0;
}

/* Says at each start what strangers may read. */
static void tell_what_is_open(const struct http_port *h)
{
	_cleanup_(buf_done) struct buf pages = BUF_INIT(512);

	for (size_t i = 0; i < h->path_count; i++)
		if (!h->paths[i].is_local)
			buf_printf(&pages, "%s%s", pages.len ? ", " : "", h->paths[i].path);
	buf_append(&pages, "", 1);
	log_warn("%s %s is served in plain text and asks nobody: who reaches it reads %s",
		 h->option, h->address, pages.failed ? "its pages" : (const char *)pages.p);
}

int http_port_start(struct http_port *h, const struct http_path *paths, size_t count, void *ctx,
		    struct err *err)
{
	int rc;

	h->paths = paths;
	h->path_count = count;
	h->ctx = ctx;
	h->daemon = MHD_start_daemon(
		MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC, 0, NULL,
		NULL, handle_http, h, MHD_OPTION_NOTIFY_CONNECTION, on_http_connection, h,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS * 2,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
	if (!h->daemon)
		return err_set(err, ERR_IO, "no HTTP server could be started");
	rc = pthread_create(&h->thread, NULL, run_http_acceptor, h);
	if (rc)
		return err_sys(err, rc, "thread of the HTTP port");
	h->has_thread = true;
	if (h->is_wide)
		tell_what_is_open(h);
	return 0;
}

void http_port_stat(struct http_port *h, struct http_port_stat *ret)
{
	*ret = (struct http_port_stat){.answered = atomic_load(&h->answered),
				       .refused = atomic_load(&h->refused),
				       .ended = atomic_load(&h->ended)};
}

void http_port_close(struct http_port *h)
{
	const uint64_t one = 1;

	if (!h)
		return;
	atomic_store(&h->stopped, true);
	if (h->has_thread) {
		if (write(h->wake_fd, &one, sizeof(one)) < 0)
			assert(errno == EAGAIN); /* it is awake already */
		pthread_join(h->thread, NULL);
	}
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	closep(&h->listen_fd);
	closep(&h->wake_fd);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
