/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_cache.h"

#include <string.h>

#include "limits.h"

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct stack_key {
	struct sample_stack_key head;
	uint64_t pcs[LIMIT_STACK_FRAMES];
};

_Static_assert(sizeof(struct cached_id) == 64, "a line");

void sample_cache_init(struct sample_cache *c)
{
	*c = (struct sample_cache){
		.stack_keys = INTERN_INIT(LIMIT_CACHED_STACKS, LIMIT_CACHED_STACKS_LEN),
		.thread_keys = INTERN_INIT(LIMIT_CACHED_THREADS,
					   LIMIT_CACHED_THREADS * sizeof(struct sample_thread_key)),
	};
}

void sample_cache_done(struct sample_cache *c)
{
	intern_done(&c->stack_keys);
	intern_done(&c->thread_keys);
	free(c->stacks);
	free(c->threads);
	free(c->ids);
}

void sample_cache_begin(struct sample_cache *c, uint64_t segment)
{
	if (c->segment == segment)
		return;
	c->segment = segment;
	memset(c->frames, 0, sizeof(c->frames));
	memset(c->last, 0, sizeof(c->last));
	free(c->ids);
	c->ids = NULL;
	intern_reset(&c->stack_keys);
	intern_reset(&c->thread_keys);
}

struct cached_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode)
{
	const uint64_t hash = (pc ^ maps_version << 32 ^ mode) * HASH_FACTOR;
	struct cached_frame *f = &c->frames[hash >> (64 - SAMPLE_CACHE_FRAME_BITS)];

	if (f->pc != pc || f->maps_version != maps_version || f->mode != mode)
		*f = (struct cached_frame){maps_version, pc, mode, LOCATION_NO_INDEX};
	return f;
}

static void make_head(struct sample_stack_key *k, const struct event *e,
		      const struct sample_context *ctx)
{
	*k = (struct sample_stack_key){
		.context = *ctx,
		.flags = e->sample.flags,
		.is_in_syscall = e->sample.syscall >= 0,
		.kernel_err = e->sample.kernel_err,
		.user_err = e->sample.user_err,
		.kernel_count = e->sample.kernel_count,
		.user_count = e->sample.user_count,
		.stack_id = e->sample.stack_id,
	};
}

/* The length of the key; 0: it has none. */
static size_t make_stack_key(struct stack_key *k, const struct event *e,
			     const struct sample_context *ctx)
{
	if (e->data_len > sizeof(k->pcs))
		return 0;
	make_head(&k->head, e, ctx);
	memcpy(k->pcs, e->data, e->data_len);
	return offsetof(struct stack_key, pcs) + e->data_len;
}

/* Ids are hashes that nobody can foresee. */
static struct cached_id *id_row(const struct sample_cache *c, const struct sample_stack_key *k)
{
	const uint64_t hash = (k->stack_id ^ k->context.maps_version) * HASH_FACTOR;

	return &c->ids[hash >> (64 - SAMPLE_CACHE_ID_BITS)];
}

static const struct cached_stack *find_id(const struct sample_cache *c, const struct event *e,
					  const struct sample_context *ctx)
{
	const struct cached_id *row;
	struct sample_stack_key key;

	if (!c->ids)
		return NULL;
	make_head(&key, e, ctx);
	row = id_row(c, &key);
	return memcmp(&row->key, &key, sizeof(key)) ? NULL : &row->stack;
}

static void add_id(struct sample_cache *c, const struct event *e, const struct sample_context *ctx,
		   const struct cached_stack *stack)
{
	struct sample_stack_key key;

	if (!c->ids)
		c->ids = calloc(1 << SAMPLE_CACHE_ID_BITS, sizeof(*c->ids));
	if (!c->ids)
		return;
	make_head(&key, e, ctx);
	*id_row(c, &key) = (struct cached_id){key, *stack};
}

const struct cached_stack *sample_cache_stack(const struct sample_cache *c, const struct event *e,
					      const struct sample_context *ctx)
{
	struct stack_key key;
	size_t len;
	uint32_t id;

	if (e->sample.stack_id)
		return find_id(c, e, ctx);
	len = make_stack_key(&key, e, ctx);
	id = len ? intern_find(&c->stack_keys, &key, len) : INTERN_FULL;
	return id == INTERN_FULL ? NULL : &c->stacks[id];
}

void sample_cache_add_stack(struct sample_cache *c, const struct event *e,
			    const struct sample_context *ctx, const struct cached_stack *stack)
{
	struct stack_key key;
	size_t len;
	uint32_t id;

	if (e->sample.stack_id) {
		add_id(c, e, ctx, stack);
		return;
	}
	len = make_stack_key(&key, e, ctx);
	if (!len || !grow_array((void **)&c->stacks, &c->stacks_cap, c->stack_keys.count + 1,
				sizeof(*c->stacks), LIMIT_CACHED_STACKS)) {
		/* Full: what is seen now is what will be seen next. */
		intern_reset(&c->stack_keys);
		return;
	}
	id = intern_add(&c->stack_keys, &key, len, NULL);
	if (id == INTERN_FULL)
		intern_reset(&c->stack_keys);
	else
		c->stacks[id] = *stack;
}

static void make_thread_key(struct sample_thread_key *k, const struct event *e,
			    const struct sample_context *ctx)
{
	*k = (struct sample_thread_key){
		.context = *ctx,
		.start_ns = e->sample.start_ns,
		.cgroup_id = e->sample.cgroup_id,
		.pid = e->pid,
		.tid = e->tid,
		.state = e->sample.state,
	};
	memcpy(k->comm, e->sample.comm, sizeof(k->comm));
}

static struct cached_thread *last_on(struct sample_cache *c, const struct event *e)
{
	return &c->last[e->sample.cpu % SAMPLE_CACHE_CPUS];
}

uint32_t sample_cache_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx)
{
	struct cached_thread *last = last_on(c, e);
	struct sample_thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	if (last->is_set && !memcmp(&last->key, &key, sizeof(key)))
		return last->thread;
	id = intern_find(&c->thread_keys, &key, sizeof(key));
	if (id == INTERN_FULL)
		return INTERN_FULL;
	*last = (struct cached_thread){key, c->threads[id], true};
	return c->threads[id];
}

void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread)
{
	struct sample_thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	if (!grow_array((void **)&c->threads, &c->threads_cap, c->thread_keys.count + 1,
			sizeof(*c->threads), LIMIT_CACHED_THREADS)) {
		intern_reset(&c->thread_keys);
		return;
	}
	id = intern_add(&c->thread_keys, &key, sizeof(key), NULL);
	if (id == INTERN_FULL)
		intern_reset(&c->thread_keys);
	else
		c->threads[id] = thread;
}
