/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_cache.h"

#include <string.h>

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

_Static_assert(sizeof(struct placed_stack_row) == 64, "a line");

void sample_cache_init(struct sample_cache *c)
{
	*c = (struct sample_cache){
		.thread_keys = INTERN_INIT(LIMIT_STORED_THREADS,
					   LIMIT_STORED_THREADS * sizeof(struct stored_thread_key)),
	};
}

void sample_cache_done(struct sample_cache *c)
{
	intern_done(&c->thread_keys);
	free(c->threads);
	free(c->stacks);
}

void sample_cache_begin(struct sample_cache *c, uint64_t segment)
{
	if (c->segment == segment)
		return;
	c->segment = segment;
	memset(c->frames, 0, sizeof(c->frames));
	memset(c->runs, 0, sizeof(c->runs));
	free(c->stacks);
	c->stacks = NULL;
	c->stack_count = 0;
	intern_reset(&c->thread_keys);
}

struct placed_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode)
{
	const uint64_t hash = (pc ^ maps_version << 32 ^ mode) * HASH_FACTOR;
	struct placed_frame *f = &c->frames[hash >> (64 - PLACED_FRAME_BITS)];

	if (f->pc != pc || f->maps_version != maps_version || f->mode != mode)
		*f = (struct placed_frame){maps_version, pc, mode, LOCATION_NO_INDEX};
	return f;
}

/* Returns a stack's slot. Ids are hashes with a random seed, so nobody can force collisions. */
static struct placed_stack_row *placed_stack_slot(const struct sample_cache *c, uint64_t stack_id,
						  uint64_t maps_version)
{
	return &c->stacks[(stack_id ^ maps_version) * HASH_FACTOR >> (64 - c->stack_bits)];
}

/* Compares field by field, because memcmp() of a key just built would stall on its stores. */
static bool is_stack_key(const struct placed_stack_key *k, const struct event *e,
			 const struct sample_context *ctx)
{
	return k->stack_id == e->sample.stack_id && k->context.maps_version == ctx->maps_version &&
	       k->context.kernel_version == ctx->kernel_version &&
	       k->context.in_exec == ctx->in_exec && k->flags == e->sample.flags &&
	       k->is_in_syscall == (e->sample.syscall >= 0) &&
	       k->kernel_err == e->sample.kernel_err && k->user_err == e->sample.user_err &&
	       k->kernel_count == e->sample.kernel_count && k->user_count == e->sample.user_count;
}

/* Doubles the table. It starts small, because its cache lines and TLB entries are gone after each
 * wait. */
static void grow_placed_stacks(struct sample_cache *c)
{
	struct placed_stack_row *old = c->stacks, *rows = NULL;
	const size_t old_count = old ? (size_t)1 << c->stack_bits : 0;
	const unsigned int bits = old ? c->stack_bits + 1 : PLACED_STACK_BITS_MIN;

	if (bits <= PLACED_STACK_BITS_MAX)
		rows = calloc((size_t)1 << bits, sizeof(*rows));
	if (!rows)
		return;
	c->stacks = rows;
	c->stack_bits = bits;
	for (size_t i = 0; i < old_count; i++)
		if (old[i].key.stack_id)
			*placed_stack_slot(c, old[i].key.stack_id,
					   old[i].key.context.maps_version) = old[i];
	free(old);
}

const struct placed_stack *sample_cache_stack(const struct sample_cache *c, const struct event *e,
					      const struct sample_context *ctx)
{
	const struct placed_stack_row *row;

	if (!c->stacks || !e->sample.stack_id)
		return NULL;
	row = placed_stack_slot(c, e->sample.stack_id, ctx->maps_version);
	return is_stack_key(&row->key, e, ctx) ? &row->stack : NULL;
}

void sample_cache_add_stack(struct sample_cache *c, const struct event *e,
			    const struct sample_context *ctx, const struct placed_stack *stack)
{
	if (!e->sample.stack_id)
		return;
	if (!c->stacks || c->stack_count > (size_t)1 << (c->stack_bits - 1))
		grow_placed_stacks(c);
	if (!c->stacks)
		return;
	*placed_stack_slot(c, e->sample.stack_id, ctx->maps_version) = (struct placed_stack_row){
		.key =
			{
				.context = *ctx,
				.flags = e->sample.flags,
				.is_in_syscall = e->sample.syscall >= 0,
				.kernel_err = e->sample.kernel_err,
				.user_err = e->sample.user_err,
				.kernel_count = e->sample.kernel_count,
				.user_count = e->sample.user_count,
				.stack_id = e->sample.stack_id,
			},
		.stack = *stack,
	};
	c->stack_count++;
}

static void make_thread_key(struct stored_thread_key *k, const struct event *e,
			    const struct sample_context *ctx)
{
	*k = (struct stored_thread_key){
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
	struct stored_thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	id = intern_find(&c->thread_keys, &key, sizeof(key));
	return id == INTERN_FULL ? INTERN_FULL : c->threads[id];
}

void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread)
{
	struct stored_thread_key key;
	uint32_t id;

	make_thread_key(&key, e, ctx);
	if (!GROW(c->threads, &c->threads_cap, c->thread_keys.count + 1, LIMIT_STORED_THREADS)) {
		intern_reset(&c->thread_keys);
		return;
	}
	id = intern_add(&c->thread_keys, &key, sizeof(key), NULL);
	if (id == INTERN_FULL)
		intern_reset(&c->thread_keys);
	else
		c->threads[id] = thread;
}
