/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_cache.h"

#include <string.h>

#include "limits.h"

struct stack_key {
	struct sample_context context;
	uint32_t flags;
	int32_t is_in_syscall;
	int16_t kernel_err, user_err;
	uint16_t kernel_count, user_count;
	uint64_t stack_id;
	uint64_t pcs[LIMIT_STACK_FRAMES];
};

struct thread_key {
	struct sample_context context;
	uint64_t start_ns, cgroup_id;
	uint32_t pid, tid, state, zero;
	char comm[EVENT_COMM_LEN];
};

void sample_cache_init(struct sample_cache *c)
{
	*c = (struct sample_cache){
		.stack_keys = INTERN_INIT(LIMIT_CACHED_STACKS, LIMIT_CACHED_STACKS_LEN),
		.thread_keys = INTERN_INIT(LIMIT_CACHED_THREADS,
					   LIMIT_CACHED_THREADS * sizeof(struct thread_key)),
	};
}

_Static_assert(ARRAY_LEN(((struct sample_cache *)0)->frames) == 1 << (64 - 54), "see its hash");

void sample_cache_done(struct sample_cache *c)
{
	intern_done(&c->stack_keys);
	intern_done(&c->thread_keys);
	free(c->stacks);
	free(c->threads);
}

void sample_cache_begin(struct sample_cache *c, uint64_t segment)
{
	if (c->segment == segment)
		return;
	c->segment = segment;
	memset(c->frames, 0, sizeof(c->frames));
	intern_reset(&c->stack_keys);
	intern_reset(&c->thread_keys);
}

struct cached_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode)
{
	const uint64_t hash = (pc ^ maps_version << 32 ^ mode) * UINT64_C(0x9e3779b97f4a7c15);
	struct cached_frame *f = &c->frames[hash >> 54];

	if (f->pc != pc || f->maps_version != maps_version || f->mode != mode)
		*f = (struct cached_frame){maps_version, pc, mode, LOCATION_NO_INDEX};
	return f;
}

/* The length of the key; 0: it has none. */
static size_t make_stack_key(struct stack_key *k, const struct event *e,
			     const struct sample_context *ctx)
{
	if (e->data_len > sizeof(k->pcs))
		return 0;
	memset(k, 0, offsetof(struct stack_key, pcs));
	k->context = *ctx;
	k->flags = e->sample.flags;
	k->is_in_syscall = e->sample.syscall >= 0;
	k->kernel_err = e->sample.kernel_err;
	k->user_err = e->sample.user_err;
	k->kernel_count = e->sample.kernel_count;
	k->user_count = e->sample.user_count;
	k->stack_id = e->sample.stack_id;
	if (k->stack_id)
		return offsetof(struct stack_key, pcs);
	memcpy(k->pcs, e->data, e->data_len);
	return offsetof(struct stack_key, pcs) + e->data_len;
}

const struct cached_stack *sample_cache_stack(const struct sample_cache *c, const struct event *e,
					      const struct sample_context *ctx)
{
	struct stack_key key;
	size_t len = make_stack_key(&key, e, ctx);
	uint32_t id = len ? intern_find(&c->stack_keys, &key, len) : INTERN_FULL;

	return id == INTERN_FULL ? NULL : &c->stacks[id];
}

void sample_cache_add_stack(struct sample_cache *c, const struct event *e,
			    const struct sample_context *ctx, const struct cached_stack *stack)
{
	struct stack_key key;
	size_t len = make_stack_key(&key, e, ctx);
	uint32_t id;

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

static void make_thread_key(struct thread_key *k, const struct event *e,
			    const struct sample_context *ctx)
{
	memset(k, 0, sizeof(*k));
	k->context = *ctx;
	k->start_ns = e->sample.start_ns;
	k->cgroup_id = e->sample.cgroup_id;
	k->pid = e->pid;
	k->tid = e->tid;
	k->state = e->sample.state;
	memcpy(k->comm, e->sample.comm, sizeof(k->comm));
}

uint32_t sample_cache_thread(const struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx)
{
	struct thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	id = intern_find(&c->thread_keys, &key, sizeof(key));
	return id == INTERN_FULL ? INTERN_FULL : c->threads[id];
}

void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread)
{
	struct thread_key key;
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
