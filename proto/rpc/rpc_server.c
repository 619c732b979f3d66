/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_server.h"

#include <assert.h>
#include <errno.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "busy.h"
#include "io.h"
#include "limits.h"
#include "log.h"
#include "rpc_call.h"
#include "rpc_codec.h"
#include "rpc_gate.h"
#include "rpc_listen.h"
#include "rpc_pool.h"
#include "rpc_tls.h"
#include "timed_wait.h"

/* The most calls at the same time; each may hold one message. */
#define LIMIT_CALLS LIMIT(512)

/* Memory of the transport for messages that are arriving, on all connections together: a quarter of
 * what LIMIT_CALLS messages can be. Above it gRPC ends calls of any client. */
#define LIMIT_TRANSPORT_MEMORY (512 * MIB)
/* Requests that wait for a worker: their number, and the sum of their bytes. */
#define LIMIT_QUEUE_JOBS       LIMIT(256)
#define LIMIT_QUEUE_LEN        (64 * MIB)

enum {
	ACCEPTS_PER_QUEUE = 8,
	ANSWER_MS = 10000, /* patience for an answer of the transport itself */
	TABLES_MAX = 8,
	APART_JOBS = 64, /* jobs that wait; so many calls may exceed LIMIT_CALLS */
	APARTS_MAX = 2,  /* methods */
};

/* A slot that gRPC fills with the next call. One thread per queue arms it again. */
struct accept {
	struct rpc_tag tag;
	struct rpc_server *server;
	grpc_completion_queue *cq;
	grpc_call *call;
	grpc_call_details details;       /* used when `method` is NULL */
	const struct rpc_method *method; /* a method that is `apart`, or NULL */
	void *registered;
	gpr_timespec deadline;
	grpc_metadata_array metadata;
};

struct queue {
	grpc_completion_queue *cq;
	const char *name;
	pthread_t thread;
	bool running;
	struct accept accepts[ACCEPTS_PER_QUEUE];
};

struct rpc_server {
	grpc_server *server;
	struct rpc_calls calls;
	struct {
		const struct rpc_method *methods;
		size_t count;
	} tables[TABLES_MAX];
	size_t table_count;
	struct rpc_stat stat;
	int lock_fds[RPC_LISTEN_MAX]; /* of Unix sockets */
	size_t lock_count;
	struct rpc_tls *tls;   /* NULL: plain text */
	struct rpc_gate *gate; /* NULL: everybody may call everything */
	bool knows;            /* who calls over TLS, or refuses it */
	bool insecure;
	bool stopped;
	struct rpc_tag drained_tag;
	bool drained;
	unsigned int workers;
	unsigned int queue_count; /* the last one serves the methods that are `apart` */
	struct queue queues[];
};

static void on_drained(struct rpc_tag *tag, bool ok _unused_)
{
	struct rpc_server *s =
		(struct rpc_server *)(void *)((char *)tag -
					      offsetof(struct rpc_server, drained_tag));

	pthread_mutex_lock(&s->calls.lock);
	s->drained = true;
	pthread_cond_broadcast(&s->calls.changed);
	pthread_mutex_unlock(&s->calls.lock);
}

/* gRPC's word for never is INT_MAX. */
static int ms_or_never(uint32_t ms)
{
	return ms && ms < INT_MAX ? (int)ms : INT_MAX;
}

static grpc_server *create_server(const struct rpc_server_config *config)
{
	const uint32_t keepalive_ms =
		config->keepalive_ms ? config->keepalive_ms : RPC_SERVER_KEEPALIVE_MS;
	grpc_resource_quota *quota = grpc_resource_quota_create("rpc_server");
	grpc_server *server;
	/*
	 * Messages stay compressed until rpc_unpack(), because gRPC inflates a whole message before
	 * it checks the limit. Ports are not reused, because a second server on the port would
	 * silently take half of the calls.
	 */
	grpc_arg args[] = {
		rpc_int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)LIMIT_MESSAGE_LEN),
		rpc_int_arg(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
		rpc_int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0),
		rpc_int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, (int)LIMIT_CONNECTION_CALLS),
		rpc_int_arg(GRPC_ARG_MAX_METADATA_SIZE, (int)LIMIT_METADATA_LEN),
		/*
		 * A peer that vanished is noticed and its calls are cancelled, so that it holds no
		 * place for what it was sending. That is true of an idle peer too, and of one that
		 * never finished its handshake.
		 */
		rpc_int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, (int)keepalive_ms),
		rpc_int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
			    (int)(keepalive_ms < ANSWER_MS ? keepalive_ms : ANSWER_MS)),
		rpc_int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
		rpc_int_arg(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
		rpc_int_arg(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, ANSWER_MS),
		/* Clients may send keepalive pings, as ours do. Who sends them more often gets
		 * GOAWAY with ENHANCE_YOUR_CALM and too_many_pings. */
		rpc_int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
			    RPC_PING_LEAST_MS),
		/* Hosts behind a balancer, or a name with several addresses, spread anew. */
		rpc_int_arg(GRPC_ARG_MAX_CONNECTION_AGE_MS, ms_or_never(config->age_ms)),
		rpc_int_arg(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, ms_or_never(config->grace_ms)),
		rpc_int_arg(GRPC_ARG_MAX_CONNECTION_IDLE_MS, ms_or_never(config->idle_ms)),
		rpc_pointer_arg(GRPC_ARG_RESOURCE_QUOTA, grpc_resource_quota_arg_vtable(), quota),
	};
	grpc_channel_args channel_args = {ARRAY_LEN(args), args};

	/* The bound for arriving messages, on all connections together: above it gRPC stops
	 * reading, then ends calls and connections. */
	grpc_resource_quota_resize(quota, LIMIT_TRANSPORT_MEMORY);
	server = grpc_server_create(&channel_args, NULL);
	grpc_resource_quota_unref(quota);
	return server;
}

int rpc_server_open(struct rpc_server **ret, const struct rpc_server_config *config,
		    struct err *err)
{
	uint32_t number;
	unsigned int queue_count = (config->queues ? config->queues : 1) + 1;
	struct access_config access = config->access;
	struct rpc_server *s = calloc(1, sizeof(*s) + queue_count * sizeof(s->queues[0]));
	int rc;

	if (!s)
		return err_no_memory(err);
	rc = config->tls.cert || config->tls.key ? rpc_tls_open(&s->tls, &config->tls, err) : 0;
	access.client_ca = config->tls.ca;
	if (!rc && access.local_roles)
		rc = rpc_gate_open(&s->gate, &access, config->quotas, err);
	if (rc) {
		rpc_tls_close(s->tls);
		free(s);
		return rc;
	}
	s->insecure = config->insecure;
	s->calls.gate = s->gate;
	s->knows = access.client_ca || access.tokens;
	rpc_runtime_start();
	s->workers = config->workers ? config->workers : RPC_SERVER_WORKERS;
	s->queue_count = queue_count;
	pthread_mutex_init(&s->calls.lock, NULL);
	timed_wait_init(&s->calls.changed);
	s->calls.stat = &s->stat;
	io_system()->random(NULL, &number, sizeof(number));
	s->calls.numbers = (uint64_t)number << 32;
	s->drained_tag.done = on_drained;
	s->server = create_server(config);
	for (unsigned int i = 0; i < queue_count; i++) {
		s->queues[i].cq = grpc_completion_queue_create_for_next(NULL);
		s->queues[i].name = i + 1 < queue_count ? "transport" : "transport of health";
		grpc_server_register_completion_queue(s->server, s->queues[i].cq, NULL);
	}
	*ret = s;
	return 0;
}

int rpc_server_add(struct rpc_server *s, const struct rpc_method *methods, size_t count,
		   struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (!methods[i].roles)
			return err_set(err, ERR_INTERNAL, "%s has no roles", methods[i].path);
	if (s->table_count == TABLES_MAX)
		return err_set(err, ERR_LIMIT, "more than %d tables of methods", TABLES_MAX);
	s->tables[s->table_count].methods = methods;
	s->tables[s->table_count++].count = count;
	rpc_stat_add(&s->stat, methods, count);
	return 0;
}

int rpc_server_listen(struct rpc_server *s, const char *address, int *ret_port, struct err *err)
{
	int is_unix = rpc_listen_check(address, s->tls || s->insecure, err);
	grpc_server_credentials *credentials;
	int port;

	if (is_unix < 0)
		return is_unix;
	TRY(rpc_listen_try(address, false, err));
	if (is_unix) {
		if (s->lock_count == RPC_LISTEN_MAX)
			return err_set(err, ERR_LIMIT, "more than %d addresses", RPC_LISTEN_MAX);
		TRY(rpc_listen_unix_lock(address + 5, &s->lock_fds[s->lock_count], err));
		s->lock_count++;
	}
	if (!s->tls && !rpc_listen_is_local(address))
		log_warn("--insecure: %s is served in plain text: who reaches it reads and writes "
			 "everything, and who sees the network sees it too",
			 address);
	else if (!s->knows && !rpc_listen_is_local(address))
		log_warn("%s: TLS without --tls-client-ca and --tokens: who reaches it is not "
			 "asked who it is",
			 address);
	credentials = s->tls && !is_unix ? rpc_tls_credentials(s->tls)
					 : grpc_insecure_server_credentials_create();
	if (!credentials)
		return err_set(err, ERR_LIMIT, "more than %d addresses", RPC_LISTEN_MAX);
	port = grpc_server_add_http2_port(s->server, address, credentials);
	grpc_server_credentials_release(credentials);
	if (!port)
		return err_set(err, ERR_EXISTS, "cannot listen on %s: is it in use?", address);
	*ret_port = is_unix ? 0 : port;
	return is_unix ? rpc_listen_unix_mode(address + 5, err) : 0;
}

void rpc_server_reload(struct rpc_server *s)
{
	if (s->tls)
		rpc_tls_reload(s->tls);
	if (s->gate)
		rpc_gate_reload(s->gate);
}

void rpc_server_metrics(struct rpc_server *s, struct openmetrics *m)
{
	rpc_stat_write(&s->stat, m);
	if (!s->tls)
		return;
	rpc_tls_tend(s->tls);
	openmetrics_gauge(m, "certificate_expiry_timestamp_seconds", "seconds",
			  "When the certificate of --tls-cert, or one behind it, expires: seconds "
			  "since 1970.",
			  (uint64_t)rpc_tls_end(s->tls));
}

size_t rpc_server_seen(struct rpc_server *s, struct rpc_seen_row *rows, size_t max)
{
	return s->gate ? rpc_gate_seen(s->gate, rows, max) : 0;
}

static const struct rpc_method *find_method(const struct rpc_server *s, const char *path)
{
	for (size_t t = 0; t < s->table_count; t++)
		for (size_t i = 0; i < s->tables[t].count; i++)
			if (!strcmp(s->tables[t].methods[i].path, path))
				return &s->tables[t].methods[i];
	return NULL;
}

static void arm_accept(struct accept *a)
{
	a->call = NULL;
	grpc_metadata_array_init(&a->metadata);
	if (a->method) {
		if (grpc_server_request_registered_call(a->server->server, a->registered, &a->call,
							&a->deadline, &a->metadata, NULL, a->cq,
							a->cq, &a->tag) != GRPC_CALL_OK)
			abort(); /* only wrong arguments are refused */
		return;
	}
	grpc_call_details_init(&a->details);
	if (grpc_server_request_call(a->server->server, &a->call, &a->details, &a->metadata, a->cq,
				     a->cq, &a->tag) != GRPC_CALL_OK)
		abort(); /* only wrong arguments are refused */
}

static void on_accept(struct rpc_tag *tag, bool ok)
{
	struct accept *a = (struct accept *)(void *)((char *)tag - offsetof(struct accept, tag));
	struct rpc_server *s = a->server;
	const struct rpc_method *m = a->method;
	size_t live, most = LIMIT_CALLS + (m ? APART_JOBS : 0);
	struct rpc_pass pass = {.caller = {.roles = ROLES_ANYONE, .quota = quota_no_limits}};
	char path[256];
	struct err err = {0};

	if (ok) {
		if (s->tls)
			rpc_tls_tend(s->tls);
		if (!m) {
			rpc_slice_text(a->details.method, path, sizeof(path));
			m = find_method(s, path);
		}
		pthread_mutex_lock(&s->calls.lock);
		live = s->calls.live;
		pthread_mutex_unlock(&s->calls.lock);
		if (live >= most && !rpc_calls_make_place(&s->calls)) {
			rpc_stat_refuse(&s->stat, RPC_REFUSED_CALLS);
			(void)err_set(&err, ERR_UNAVAILABLE, "more than %u calls at a time",
				      (unsigned int)LIMIT_CALLS);
		} else if (!m || !m->message) {
			rpc_stat_refuse(&s->stat, RPC_REFUSED_METHOD);
			(void)err_set(&err, ERR_UNSUPPORTED, "%s is not served", path);
		} else if (s->gate &&
			   rpc_gate_admit(s->gate, a->call, &a->metadata, m, &pass, &err)) {
			rpc_stat_refuse(&s->stat, err.code == ERR_DENIED  ? RPC_REFUSED_ROLE
						  : err.code == ERR_LIMIT ? RPC_REFUSED_QUOTA
									  : RPC_REFUSED_IDENTITY);
		}
		rpc_call_begin(&s->calls, a->call, m, &pass, err.code, err.message);
	}
	if (!a->method)
		grpc_call_details_destroy(&a->details);
	grpc_metadata_array_destroy(&a->metadata);
	if (ok)
		arm_accept(a);
}

static void *serve_completions(void *arg)
{
	struct queue *q = arg;
	struct busy busy;
	grpc_event ev;

	busy_add(&busy, q->name);
	for (;;) {
		ev = grpc_completion_queue_next(q->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		if (ev.type == GRPC_QUEUE_SHUTDOWN)
			break;
		busy_begin(&busy, "an event of the transport");
		((struct rpc_tag *)ev.tag)->done(ev.tag, ev.success);
		busy_end(&busy);
	}
	busy_remove(&busy);
	return NULL;
}

/* Registers the methods that are `apart`, before gRPC starts, each with as many slots. */
static void register_apart(struct rpc_server *s)
{
	struct queue *q = &s->queues[s->queue_count - 1];
	size_t at = 0;

	for (size_t t = 0; t < s->table_count; t++)
		for (size_t i = 0; i < s->tables[t].count; i++) {
			const struct rpc_method *m = &s->tables[t].methods[i];
			void *registered =
				m->apart ? grpc_server_register_method(s->server, m->path, NULL,
								       GRPC_SRM_PAYLOAD_NONE, 0)
					 : NULL;

			for (size_t k = 0; registered && k < ACCEPTS_PER_QUEUE / APARTS_MAX; k++) {
				assert(at < ACCEPTS_PER_QUEUE);
				q->accepts[at].method = m;
				q->accepts[at++].registered = registered;
			}
		}
}

int rpc_server_start(struct rpc_server *s, struct err *err)
{
	int rc = rpc_pool_open(&s->calls.pool, "worker", s->workers, LIMIT_QUEUE_JOBS,
			       LIMIT_QUEUE_LEN, err);

	if (!rc)
		rc = rpc_pool_open(&s->calls.apart, "health", 1, APART_JOBS, MIB, err);
	if (rc)
		return rc;
	register_apart(s);
	grpc_server_start(s->server);
	for (unsigned int i = 0; i < s->queue_count; i++) {
		struct queue *q = &s->queues[i];

		for (size_t k = 0; k < ACCEPTS_PER_QUEUE; k++) {
			if (i + 1 == s->queue_count && !q->accepts[k].method)
				break;
			q->accepts[k].tag.done = on_accept;
			q->accepts[k].server = s;
			q->accepts[k].cq = q->cq;
			arm_accept(&q->accepts[k]);
		}
		rc = pthread_create(&q->thread, NULL, serve_completions, q);
		if (rc)
			return err_sys(err, rc, "thread of the transport");
		q->running = true;
	}
	return 0;
}

/* Waits until gRPC has released every call, at most `ms` milliseconds, or forever if ms is
 * UINT_MAX. Returns whether it has. */
static bool wait_drained(struct rpc_server *s, unsigned int ms)
{
	const struct timespec until = timed_wait_until(ms == UINT_MAX ? 0 : ms);
	bool drained;
	int rc = 0;

	pthread_mutex_lock(&s->calls.lock);
	while (!s->drained && rc != ETIMEDOUT) {
		if (ms == UINT_MAX)
			pthread_cond_wait(&s->calls.changed, &s->calls.lock);
		else
			rc = pthread_cond_timedwait(&s->calls.changed, &s->calls.lock, &until);
	}
	drained = s->drained;
	pthread_mutex_unlock(&s->calls.lock);
	return drained;
}

void rpc_server_stop(struct rpc_server *s, unsigned int grace_ms)
{
	if (s->stopped)
		return;
	s->stopped = true;
	grpc_server_shutdown_and_notify(s->server, s->queues[0].cq, &s->drained_tag);
	if (!s->queues[0].running) {
		/* The server never started: rpc_server_close() takes the notice from the queue. */
		rpc_pool_close(s->calls.pool);
		rpc_pool_close(s->calls.apart);
		return;
	}
	if (!wait_drained(s, grace_ms)) {
		grpc_server_cancel_all_calls(s->server);
		wait_drained(s, UINT_MAX);
	}
	/* gRPC has released its calls; workers may still hold some. */
	rpc_pool_close(s->calls.pool);
	rpc_pool_close(s->calls.apart);
	pthread_mutex_lock(&s->calls.lock);
	while (s->calls.live)
		pthread_cond_wait(&s->calls.changed, &s->calls.lock);
	pthread_mutex_unlock(&s->calls.lock);
}

void rpc_server_close(struct rpc_server *s)
{
	if (!s)
		return;
	rpc_server_stop(s, 0);
	for (unsigned int i = 0; i < s->queue_count; i++)
		grpc_completion_queue_shutdown(s->queues[i].cq);
	for (unsigned int i = 0; i < s->queue_count; i++) {
		if (s->queues[i].running)
			pthread_join(s->queues[i].thread, NULL);
		else
			serve_completions(&s->queues[i]); /* empties the queue on this thread */
	}
	grpc_server_destroy(s->server);
	for (unsigned int i = 0; i < s->queue_count; i++)
		grpc_completion_queue_destroy(s->queues[i].cq);
	pthread_cond_destroy(&s->calls.changed);
	pthread_mutex_destroy(&s->calls.lock);
	while (s->lock_count)
		closep(&s->lock_fds[--s->lock_count]);
	rpc_tls_close(s->tls);
	rpc_gate_close(s->gate);
	rpc_runtime_stop();
	free(s);
}
