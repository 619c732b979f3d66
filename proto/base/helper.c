/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

struct task {
	void (*fn)(void *ctx); /* NULL: nothing to do */
	void *ctx;
};

struct helper {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by the lock: */
	struct task task, next;
	bool ends;
};

static void *serve_helper(void *arg)
{
	struct helper *h = arg;

	pthread_mutex_lock(&h->lock);
	while (h->task.fn || !h->ends) {
		if (!h->task.fn) {
			pthread_cond_wait(&h->changed, &h->lock);
			continue;
		}
		pthread_mutex_unlock(&h->lock);
		h->task.fn(h->task.ctx); /* `task` does not change before it is done */
		pthread_mutex_lock(&h->lock);
		h->task = h->next;
		h->next = (struct task){0};
		pthread_cond_broadcast(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

static void begin_helpers(void *ctx _unused_)
{
}

int helper_new(struct helper **ret, struct err *err)
{
	struct helper *h = calloc(1, sizeof(*h));
	sigset_t all, before;
	int rc;

	if (!h)
		return err_no_memory(err);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&h->thread, NULL, serve_helper, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		free(h);
		return err_sys(err, rc, "starting a thread");
	}
	/* A thread has ended its start-up only when it runs its first job. */
	helper_start(h, begin_helpers, NULL);
	helper_wait(h);
	*ret = h;
	return 0;
}

void helper_start(struct helper *h, void (*fn)(void *ctx), void *ctx)
{
	if (!h) {
		fn(ctx);
		return;
	}
	pthread_mutex_lock(&h->lock);
	assert(!h->next.fn);
	*(h->task.fn ? &h->next : &h->task) = (struct task){fn, ctx};
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

void helper_wait(struct helper *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	while (h->task.fn)
		pthread_cond_wait(&h->changed, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

void helper_free(struct helper *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->ends = true;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	free(h);
}
