/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLE_CACHE_H
#define RAWSTACK_SAMPLE_CACHE_H
/*
 * What became of raw stacks and threads seen before: a busy program shows the same ones again and
 * again, and placing forty frames costs more than comparing them. Keys are compared whole. Holds
 * indexes of one spool segment, so it is emptied when another begins. Bounded. One thread.
 */
#include "events.h"
#include "intern.h"
#include "limits.h"
#include "location.h"

/* Stacks without an id and threads whose place in the spool is remembered: those of a busy minute.
 */
#define LIMIT_CACHED_STACKS  LIMIT(8192)
#define LIMIT_CACHED_THREADS LIMIT(4096)

struct cached_stack {
	uint32_t stack; /* of the segment */
	uint32_t user_frames, unresolved;
};

/* A frame in a file, cached because most stacks share their callers. */
struct cached_frame {
	uint64_t maps_version, pc;
	uint32_t mode, location;
};

/* Everything that places a stack, besides what the sample itself says. */
struct sample_context {
	uint64_t maps_version;   /* of the process's mappings */
	uint64_t kernel_version; /* of what is known of the kernel */
	uint64_t in_exec;
};

/* The whole key of a stack that has an id; without an id the addresses follow it. */
struct sample_stack_key {
	struct sample_context context;
	uint32_t flags;
	int32_t is_in_syscall;
	int16_t kernel_err, user_err;
	uint16_t kernel_count, user_count;
	uint64_t stack_id;
};

struct sample_thread_key {
	struct sample_context context;
	uint64_t start_ns, cgroup_id;
	uint32_t pid, tid, state, zero;
	char comm[EVENT_COMM_LEN];
};

/* One cache line, for each sample waits for it. */
struct cached_id {
	struct sample_stack_key key;
	struct cached_stack stack;
};

/* What is known of a sample and holds for the ones that repeat it (is_again of struct event). */
struct sample_run {
	const struct event *of; /* only compared, never read; NULL: nothing is known */
	struct sample_context context;
	uint64_t changes; /* procs.changes at that time */
	uint32_t thread;
};

enum {
	SAMPLE_CACHE_FRAME_BITS = 11,
	SAMPLE_CACHE_ID_BITS_MIN = 6,
	SAMPLE_CACHE_ID_BITS_MAX = 11,
	SAMPLE_CACHE_RUNS = 128, /* a power of two: most machines have no more CPUs */
};

struct sample_cache {
	uint64_t segment;
	/* Each slot holds the last frame with its hash. */
	struct cached_frame frames[1 << SAMPLE_CACHE_FRAME_BITS];
	/* Stacks with an id: each slot holds the last two with its hash, for with one place two
	 * frequent stacks would replace each other all the time. NULL: none yet. */
	struct cached_id *ids;
	unsigned int ids_bits;
	size_t ids_count; /* stacks put there */
	struct intern stack_keys, thread_keys;
	struct cached_stack *stacks; /* by id of the key */
	uint32_t *threads;
	size_t stacks_cap, threads_cap;
	struct sample_run runs[SAMPLE_CACHE_RUNS]; /* by the number of the CPU */
};

void sample_cache_init(struct sample_cache *c);
void sample_cache_done(struct sample_cache *c);

/* Tells, before each sample, the segment it goes to. */
void sample_cache_begin(struct sample_cache *c, uint64_t segment);

/* Returns the slot of a frame; location is LOCATION_NO_INDEX when it held another frame. */
struct cached_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode);

/* Returns the slot of a sample. */
static inline struct sample_run *sample_cache_run(struct sample_cache *c, const struct event *e)
{
	return &c->runs[e->sample.cpu & (SAMPLE_CACHE_RUNS - 1)];
}

/* NULL: not known. Borrowed until the next add. */
const struct cached_stack *sample_cache_stack(const struct sample_cache *c, const struct event *e,
					      const struct sample_context *ctx);
void sample_cache_add_stack(struct sample_cache *c, const struct event *e,
			    const struct sample_context *ctx, const struct cached_stack *stack);

/* INTERN_FULL: not known. */
uint32_t sample_cache_thread(const struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx);
void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread);

#endif
