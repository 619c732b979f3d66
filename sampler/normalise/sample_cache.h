/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLE_CACHE_H
#define RAWSTACK_SAMPLE_CACHE_H
/*
 * Remembers the indexes in the spool of frames, stacks and threads, because a busy program shows
 * the same ones again and again, and placing forty frames costs more than comparing them. Indexes
 * belong to one spool segment, so the cache is emptied when another one begins. It has a fixed
 * limit. A cache is for one thread.
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

/* Most threads whose index is remembered: those of a busy minute. */
#define LIMIT_STORED_THREADS LIMIT(4096)

/* A frame in a file or in the kernel's text. */
struct placed_frame {
	uint64_t maps_version, pc;
	uint32_t mode, location;
};

struct placed_stack {
	uint32_t stack; /* index in the segment */
	uint32_t user_frames, unresolved;
};

/* Everything that decides how a stack is placed, besides the sample itself. */
struct sample_context {
	uint64_t maps_version;   /* version of the process's mappings */
	uint64_t kernel_version; /* version of the kernel map */
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

/* A row is one cache line, because each sample waits for it. */
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

/* The results for a sample that hold for those that repeat its thread (is_again of struct event).
 */
struct thread_run {
	const struct event *of; /* only compared, never read; NULL: nothing is known */
	struct sample_context context;
	uint64_t changes; /* procs.changes when the sample was handled */
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
	/* A slot of frames[] or stacks[] holds the last entry with its hash. */
	struct placed_frame frames[1 << PLACED_FRAME_BITS];
	struct placed_stack_row *stacks; /* NULL: none yet */
	unsigned int stack_bits;         /* stacks[] has 1 << stack_bits rows */
	size_t stack_count;              /* number of stacks added */
	struct intern thread_keys;
	uint32_t *threads; /* indexes of threads, by id of the key */
	size_t threads_cap;
	struct thread_run runs[THREAD_RUNS]; /* by the number of the CPU */
};

void sample_cache_init(struct sample_cache *c);
void sample_cache_done(struct sample_cache *c);

/* Sets the segment that the next sample goes to; call it before each sample. */
void sample_cache_begin(struct sample_cache *c, uint64_t segment);

/* Returns the slot of a frame; its location is LOCATION_NO_INDEX if it held another frame. */
struct placed_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode);

/* Returns the slot of a sample's CPU. */
static inline struct thread_run *sample_cache_run(struct sample_cache *c, const struct event *e)
{
	return &c->runs[e->sample.cpu & (THREAD_RUNS - 1)];
}

/* Returns the result for a stack, which is borrowed until the next add, or NULL if it is not known,
 * as for each stack without an id. */
const struct placed_stack *sample_cache_stack(const struct sample_cache *c, const struct event *e,
					      const struct sample_context *ctx);
/* Does nothing for a stack without an id. */
void sample_cache_add_stack(struct sample_cache *c, const struct event *e,
			    const struct sample_context *ctx, const struct placed_stack *stack);

/* Returns the index of a thread, or INTERN_FULL if it is not known. */
uint32_t sample_cache_thread(const struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx);
void sample_cache_add_thread(struct sample_cache *c, const struct event *e,
			     const struct sample_context *ctx, uint32_t thread);

#endif
