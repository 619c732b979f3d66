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
#include "location.h"

struct cached_stack {
	uint32_t stack; /* of the segment */
	uint32_t user_frames, unresolved;
};

/* A frame that lies in a file: callers are the same in most stacks. */
struct cached_frame {
	uint64_t maps_version, pc;
	uint32_t mode, location;
};

struct sample_cache {
	uint64_t segment;
	struct cached_frame frames[1024]; /* by hash, the last one that came */
	struct intern stack_keys, thread_keys;
	struct cached_stack *stacks; /* by id of the key */
	uint32_t *threads;
	size_t stacks_cap, threads_cap;
};

/* Everything that places a stack, besides what the sample itself says. */
struct sample_context {
	uint64_t maps_version;   /* of the process's mappings */
	uint64_t kernel_version; /* of what is known of the kernel */
	uint64_t in_exec;
};

void sample_cache_init(struct sample_cache *c);
void sample_cache_done(struct sample_cache *c);

/* Before each sample: the segment it goes to. */
void sample_cache_begin(struct sample_cache *c, uint64_t segment);

/* Where that frame is or belongs; when it is another's, location is LOCATION_NO_INDEX. */
struct cached_frame *sample_cache_frame(struct sample_cache *c, uint64_t maps_version, uint64_t pc,
					uint32_t mode);

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
