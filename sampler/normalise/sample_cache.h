/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLE_CACHE_H
#define RAWSTACK_SAMPLE_CACHE_H
/*
 * Where frames, stacks and threads went that were placed before: a busy program shows the same ones
 * again and again, and placing forty frames costs more than comparing them. All of it is indexes of
 * one spool segment, so it is emptied when another begins. Bounded. One thread.
 *
 *	table	key						value
 *	runs	the CPU, and that the event repeats its thread	context and thread
 *	threads	what the thread is, and its context		index of the thread
 *	stacks	the stack's id, and its context			index of the stack
 *	frames	version of the mappings, address, mode		index of the location
 */
#include "events.h"
#include "intern.h"
#include "limits.h"
#include "location.h"

/* Threads whose place in the spool is remembered: those of a busy minute. */
#define LIMIT_STORED_THREADS LIMIT(4096)

/* A frame in a file or in the kernel's text. */
struct placed_frame {
	uint64_t maps_version, pc;
	uint32_t mode, location;
};

struct placed_stack {
	uint32_t stack; /* of the segment */
	uint32_t user_frames, unresolved;
};

/* Everything that places a stack, besides what the sample itself says. */
struct sample_context {
	uint64_t maps_version;   /* of the process's mappings */
	uint64_t kernel_version; /* of what is known of the kernel */
	uint64_t in_exec;
};

/* The whole key of a stack: its id stands for the addresses. */
struct placed_stack_key {
	struct sample_context context;
	uint32_t flags;
	int32_t is_in_syscall;
	int16_t kernel_err, user_err;
	uint16_t kernel_count, user_count;
	uint64_t stack_id;
};

/* One cache line, because each sample waits for it. */
struct placed_stack_row {
	struct placed_stack_key key;
	struct placed_stack stack;
};

struct stored_thread_key {
	struct sample_context context;
	uint64_t start_ns, cgroup_id;
	uint32_t pid, tid, state, zero;
	char comm[EVENT_COMM_LEN];
};

/* What is known of a sample and holds for those that repeat its thread (is_again of struct event).
 */
struct thread_run {
	const struct event *of; /* only compared, never read; NULL: nothing is known */
	struct sample_context context;
	uint64_t changes; /* procs.changes at that time */
	uint32_t thread;
};

enum {
	PLACED_FRAME_BITS = 11,
	PLACED_STACK_BITS_MIN = 7,
	PLACED_STACK_BITS_MAX = 12,
	THREAD_RUNS = 128, /* a power of two: most machines have no more CPUs */
};

struct sample_cache {
	uint64_t segment;
	/* Each slot of both holds the last one with its hash. */
	struct placed_frame frames[1 << PLACED_FRAME_BITS];
	struct placed_stack_row *stacks; /* NULL: none yet */
	unsigned int stack_bits;         /* of its length */
	size_t stack_count;              /* stacks put there */
	struct intern thread_keys;
	uint32_t *threads; /* by id of the key */
	size_t threads_cap;
	struct thread_run runs[THREAD_RUNS]; /* by the number of the CPU */
};

void sample_cache_init(struct sample_cache *c);
void sample_cache_done(struct sample_cache *c);

/* Tells, before each sample, the segment it goes to. */
void sample_cache_begin(struct sample_cache *c, uint64_t segment);

/* Returns the slot of a frame; location is LOCATION_NO_INDEX when it held another frame. */
struct placed_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode);

/* Returns the slot of a sample's CPU. */
static inline struct thread_run *sample_cache_run(struct sample_cache *c, const struct event *e)
{
	return &c->runs[e->sample.cpu & (THREAD_RUNS - 1)];
}

/* NULL: not known, as every stack without an id. Borrowed until the next add. */
const struct placed_stack *sample_cache_stack(const struct sample_cache *c, const struct event *e,
					      const struct sample_context *ctx);
/* Does nothing for a stack without an id. */
void sample_cache_add_stack(struct sample_cache *c, const struct event *e,
			    const struct sample_context *ctx, const struct placed_stack *stack);

/* INTERN_FULL: not known. */
uint32_t sample_cache_thread(const struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx);
void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread);

#endif
