/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_cache.h"

#include <string.h>

#include "limits.h"

/* Bytes of the addresses of these stacks. */
#define LIMIT_CACHED_STACKS_LEN (2 * MIB)

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
	memset(c->runs, 0, sizeof(c->runs));
	free(c->ids);
	c->ids = NULL;
	c->ids_count = 0;
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

/* Makes the key and returns its length; 0: it has none. */
static size_t make_stack_key(struct stack_key *k, const struct event *e,
			     const struct sample_context *ctx)
{
	if (e->data_len > sizeof(k->pcs))
		return 0;
	make_head(&k->head, e, ctx);
	memcpy(k->pcs, e->data, e->data_len);
	return offsetof(struct stack_key, pcs) + e->data_len;
}

/* Returns the first of the two rows that an id may be in, the newer one first. Ids are hashes with
 * a random seed, so nobody can force collisions. */
static struct cached_id *id_rows(const struct sample_cache *c, uint64_t stack_id,
				 uint64_t maps_version)
{
	const uint64_t hash = (stack_id ^ maps_version) * HASH_FACTOR;

	return &c->ids[hash >> (64 - c->ids_bits) << 1];
}

/* Compares field by field, because memcmp() of a key just built would stall on its stores. */
static bool is_stack_key(const struct sample_stack_key *k, const struct event *e,
			 const struct sample_context *ctx)
{
	return k->stack_id == e->sample.stack_id && k->context.maps_version == ctx->maps_version &&
	       k->context.kernel_version == ctx->kernel_version &&
	       k->context.in_exec == ctx->in_exec && k->flags == e->sample.flags &&
	       k->is_in_syscall == (e->sample.syscall >= 0) &&
	       k->kernel_err == e->sample.kernel_err && k->user_err == e->sample.user_err &&
	       k->kernel_count == e->sample.kernel_count && k->user_count == e->sample.user_count;
}

static const struct cached_stack *find_id(const struct sample_cache *c, const struct event *e,
					  const struct sample_context *ctx)
{
	const struct cached_id *rows;

	if (!c->ids)
		return NULL;
	rows = id_rows(c, e->sample.stack_id, ctx->maps_version);
	if (is_stack_key(&rows[0].key, e, ctx))
		return &rows[0].stack;
	return is_stack_key(&rows[1].key, e, ctx) ? &rows[1].stack : NULL;
}

static void put_cached_stack(struct sample_cache *c, const struct cached_id *row)
{
	struct cached_id *rows = id_rows(c, row->key.stack_id, row->key.context.maps_version);

	rows[1] = rows[0];
	rows[0] = *row;
}

/* The table starts small: after each wait its cache lines and TLB entries are gone. */
static void grow_ids(struct sample_cache *c)
{
	struct cached_id *old = c->ids;
	const size_t old_count = old ? (size_t)2 << c->ids_bits : 0;
	const unsigned int bits = old ? c->ids_bits + 1 : SAMPLE_CACHE_ID_BITS_MIN;
	struct cached_id *rows = NULL;

	if (bits <= SAMPLE_CACHE_ID_BITS_MAX)
		rows = calloc((size_t)2 << bits, sizeof(*rows));
	if (!rows)
		return;
	c->ids = rows;
	c->ids_bits = bits;
	for (size_t i = old_count; i-- > 0;)
		if (old[i].key.stack_id)
			put_cached_stack(c, &old[i]);
	free(old);
}

static void add_cached_stack(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, const struct cached_stack *stack)
{
	struct cached_id row = {.stack = *stack};

	if (!c->ids || c->ids_count > (size_t)1 << c->ids_bits)
		grow_ids(c);
	if (!c->ids)
		return;
	make_head(&row.key, e, ctx);
	put_cached_stack(c, &row);
	c->ids_count++;
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
		add_cached_stack(c, e, ctx, stack);
		return;
	}
	len = make_stack_key(&key, e, ctx);
	if (!len ||
	    !GROW(c->stacks, &c->stacks_cap, c->stack_keys.count + 1, LIMIT_CACHED_STACKS)) {
		/* A full cache is emptied: the stacks of now are those to come. */
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

uint32_t sample_cache_thread(const struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx)
{
	struct sample_thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	id = intern_find(&c->thread_keys, &key, sizeof(key));
	return id == INTERN_FULL ? INTERN_FULL : c->threads[id];
}

void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread)
{
	struct sample_thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	if (!GROW(c->threads, &c->threads_cap, c->thread_keys.count + 1, LIMIT_CACHED_THREADS)) {
		intern_reset(&c->thread_keys);
		return;
	}
	id = intern_add(&c->thread_keys, &key, sizeof(key), NULL);
	if (id == INTERN_FULL)
		intern_reset(&c->thread_keys);
	else
		c->threads[id] = thread;
}
