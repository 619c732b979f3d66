/* SPDX-License-Identifier: Apache-2.0 */
#include "ship_lanes.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "limits.h"

/* Bytes of the copy of a batch: as many as the tables of a segment may take in the reader. */
#define LIMIT_BATCH_COPY_LEN (8 * LIMIT_SPOOL_SEGMENT)

struct lane {
	struct ship_lanes *of;
	unsigned int number;
	pthread_t thread;
	struct arena memory;
	struct ship_lane_done done;
	bool is_asked, is_done; /* under the lock */
};

struct ship_lanes {
	ship_lane_fn *deliver;
	void *ctx;
	unsigned int count, started;
	unsigned int first, busy; /* the lanes are a ring: the busy ones begin at `first` */
	pthread_mutex_t lock;
	pthread_cond_t wake, finished;
	bool closing;
	struct lane lanes[SHIP_LANES_MAX];
};

static void *run_lane(void *arg)
{
	struct lane *lane = arg;
	struct ship_lanes *l = lane->of;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		while (!lane->is_asked && !l->closing)
			pthread_cond_wait(&l->wake, &l->lock);
		if (!lane->is_asked)
			break;
		lane->is_asked = false;
		pthread_mutex_unlock(&l->lock);
		lane->done.rc = l->deliver(l->ctx, lane->number, &lane->done.batch,
					   lane->done.missing, &lane->done.err);
		pthread_mutex_lock(&l->lock);
		lane->is_done = true;
		pthread_cond_signal(&l->finished);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

int ship_lanes_open(struct ship_lanes **ret, unsigned int count, ship_lane_fn *deliver, void *ctx,
		    struct err *err)
{
	_cleanup_(ship_lanes_closep) struct ship_lanes *l = calloc(1, sizeof(*l));
	sigset_t all, before;
	int rc = 0;

	if (!l)
		return err_no_memory(err);
	l->deliver = deliver;
	l->ctx = ctx;
	l->count = count < SHIP_LANES_MAX ? count : SHIP_LANES_MAX;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->wake, NULL);
	pthread_cond_init(&l->finished, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!rc && l->started < l->count) {
		struct lane *lane = &l->lanes[l->started];

		*lane = (struct lane){
			.of = l, .number = l->started, .memory = ARENA_INIT(LIMIT_BATCH_COPY_LEN)};
		rc = pthread_create(&lane->thread, NULL, run_lane, lane);
		l->started += rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return err_sys(err, rc, "a thread for the shipper");
	*ret = TAKE_PTR(l);
	return 0;
}

void ship_lanes_close(struct ship_lanes *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->closing = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);
	for (unsigned int i = 0; i < l->started; i++) {
		pthread_join(l->lanes[i].thread, NULL);
		arena_done(&l->lanes[i].memory);
	}
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->wake);
	pthread_cond_destroy(&l->finished);
	free(l);
}

unsigned int ship_lanes_busy(const struct ship_lanes *l)
{
	return l->busy;
}

/* --- copies ---------------------------------------------------------------------------------- */

static const void *copy_rows(struct arena *a, const void *p, size_t count, size_t size, bool *ok)
{
	void *to = arena_array(a, count + 1, size);

	if (!to)
		*ok = false;
	else if (count)
		memcpy(to, p, count * size);
	return to;
}

static bool copy_batch(struct arena *a, const struct spool_batch *b, struct spool_batch *ret)
{
	struct spool_string *strings;
	struct spool_stack *stacks;
	bool ok = true;

	*ret = *b;
	ret->modules = copy_rows(a, b->modules, b->module_count, sizeof(*b->modules), &ok);
	ret->locations = copy_rows(a, b->locations, b->location_count, sizeof(*b->locations), &ok);
	ret->threads = copy_rows(a, b->threads, b->thread_count, sizeof(*b->threads), &ok);
	ret->samples = copy_rows(a, b->samples, b->sample_count, sizeof(*b->samples), &ok);
	strings = arena_array(a, b->string_count + 1, sizeof(*strings));
	stacks = arena_array(a, b->stack_count + 1, sizeof(*stacks));
	if (!ok || !strings || !stacks)
		return false;
	for (size_t i = 0; i < b->string_count; i++) {
		strings[i].len = b->strings[i].len;
		strings[i].p = arena_copy(a, b->strings[i].p, b->strings[i].len);
		ok &= strings[i].p != NULL;
	}
	for (size_t i = 0; i < b->stack_count; i++) {
		stacks[i] = b->stacks[i];
		stacks[i].locations = copy_rows(a, b->stacks[i].locations, b->stacks[i].count,
						sizeof(*b->stacks[i].locations), &ok);
	}
	ret->strings = strings;
	ret->stacks = stacks;
	return ok;
}

/* --- putting and taking ---------------------------------------------------------------------- */

int ship_lanes_put(struct ship_lanes *l, const struct spool_batch *batch, struct err *err)
{
	struct lane *lane = &l->lanes[(l->first + l->busy) % l->count];

	arena_reset(&lane->memory);
	lane->done.missing = arena_array(&lane->memory, batch->module_count + 1, sizeof(bool));
	if (!lane->done.missing || !copy_batch(&lane->memory, batch, &lane->done.batch))
		return err_no_memory(err);
	pthread_mutex_lock(&l->lock);
	lane->is_done = false;
	lane->is_asked = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);
	l->busy++;
	return 0;
}

const struct ship_lane_done *ship_lanes_take(struct ship_lanes *l)
{
	struct lane *lane = &l->lanes[l->first];

	if (!l->busy)
		return NULL;
	pthread_mutex_lock(&l->lock);
	while (!lane->is_done)
		pthread_cond_wait(&l->finished, &l->lock);
	pthread_mutex_unlock(&l->lock);
	l->first = (l->first + 1) % l->count;
	l->busy--;
	return &lane->done;
}
