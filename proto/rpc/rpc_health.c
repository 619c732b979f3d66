/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_health.h"

#include <pthread.h>
#include <string.h>

#include "grpc/health/v1/health.pb-c.h"

#define STATUS(name) GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__SERVING_STATUS__##name

/* One open Watch. It is the call's state and is freed when the call closes. */
struct watcher {
	struct watcher *next, **link;
	struct rpc_call *call;
	bool known;
};

struct rpc_health {
	pthread_mutex_t lock;
	const char *const *services;
	struct watcher *watchers;
	bool serving, stopped;
	struct rpc_method methods[2];
};

static bool is_known(const struct rpc_health *h, const char *name)
{
	if (!*name)
		return true;
	for (size_t i = 0; h->services[i]; i++)
		if (!strcmp(h->services[i], name))
			return true;
	return false;
}

static int reply_health(struct rpc_call *c, int status, struct err *err)
{
	Grpc__Health__V1__HealthCheckResponse r = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;

	r.status = status;
	return rpc_call_reply(c, &r.base, err);
}

static int on_check(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	struct rpc_health *h = rpc_call_ctx(c);
	const char *service = ((const Grpc__Health__V1__HealthCheckRequest *)request)->service;
	bool serving;

	if (!is_known(h, service))
		return err_set(err, ERR_NOT_FOUND, "no service '%s'", service);
	pthread_mutex_lock(&h->lock);
	serving = h->serving;
	pthread_mutex_unlock(&h->lock);
	return reply_health(c, serving ? STATUS(SERVING) : STATUS(NOT_SERVING), err);
}

/* Tells a watcher the state. The caller holds the lock, so that watchers see states in order. */
static int tell_watcher(const struct rpc_health *h, const struct watcher *w, struct err *err)
{
	int status = !w->known    ? STATUS(SERVICE_UNKNOWN)
		     : h->serving ? STATUS(SERVING)
				  : STATUS(NOT_SERVING);

	return reply_health(w->call, status, err);
}

static int on_health_watch(struct rpc_call *c, const ProtobufCMessage *request, struct err *err)
{
	struct rpc_health *h = rpc_call_ctx(c);
	const char *service = ((const Grpc__Health__V1__HealthCheckRequest *)request)->service;
	struct watcher *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_no_memory(err);
	w->call = c;
	w->known = is_known(h, service);
	rpc_call_set_state(c, w);
	pthread_mutex_lock(&h->lock);
	w->next = h->watchers;
	w->link = &h->watchers;
	if (w->next)
		w->next->link = &w->next;
	h->watchers = w;
	rc = tell_watcher(h, w, err);
	if (!rc && h->stopped)
		rc = err_set(err, ERR_UNAVAILABLE, "the service is stopping");
	pthread_mutex_unlock(&h->lock);
	return rc ? rc : RPC_OPEN;
}

static void on_health_watch_closed(struct rpc_call *c)
{
	struct rpc_health *h = rpc_call_ctx(c);
	struct watcher *w = rpc_call_state(c);

	if (!w)
		return;
	pthread_mutex_lock(&h->lock);
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	pthread_mutex_unlock(&h->lock);
	free(w);
}

int rpc_health_open(struct rpc_health **ret, struct rpc_server *s, const char *const *services,
		    struct err *err)
{
	struct rpc_health *h = calloc(1, sizeof(*h));
	const ProtobufCMessageDescriptor *request =
		&grpc__health__v1__health_check_request__descriptor;

	if (!h)
		return err_no_memory(err);
	h->services = services;
	h->methods[0] = (struct rpc_method){.path = "/grpc.health.v1.Health/Check",
					    .kind = RPC_UNARY,
					    .request = request,
					    .message = on_check,
					    .apart = true,
					    .roles = ROLES_ANYONE,
					    .ctx = h};
	h->methods[1] = (struct rpc_method){.path = "/grpc.health.v1.Health/Watch",
					    .kind = RPC_SERVER_STREAM,
					    .request = request,
					    .message = on_health_watch,
					    .apart = true,
					    .roles = ROLES_ANYONE,
					    .closed = on_health_watch_closed,
					    .ctx = h};
	pthread_mutex_init(&h->lock, NULL);
	*ret = h;
	return rpc_server_add(s, h->methods, ARRAY_LEN(h->methods), err);
}

void rpc_health_set(struct rpc_health *h, bool serving)
{
	struct err err;

	pthread_mutex_lock(&h->lock);
	h->serving = serving;
	for (struct watcher *w = h->watchers; w; w = w->next)
		if (tell_watcher(h, w, &err))
			rpc_call_finish(w->call, err.code, err.message);
	pthread_mutex_unlock(&h->lock);
}

void rpc_health_stop(struct rpc_health *h)
{
	rpc_health_set(h, false);
	pthread_mutex_lock(&h->lock);
	h->stopped = true;
	for (struct watcher *w = h->watchers; w; w = w->next)
		rpc_call_finish(w->call, ERR_UNAVAILABLE, "the service is stopping");
	pthread_mutex_unlock(&h->lock);
}

void rpc_health_close(struct rpc_health *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h);
}
