/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JIT_H
#define RAWSTACK_JIT_H
/*
 * What is known of the code one process makes at run time: parts of its perf map, for the addresses
 * that samples had. Believed for a while only, for such code moves and goes. Counted references: a
 * sample that waits keeps it. One thread.
 */
#include "base.h"
#include "limits.h"
#include "perf_map.h"

struct jit {
	unsigned int refs;
	struct jit_range *ranges; /* ascending, disjoint */
	size_t count, cap;
	uint64_t pcs[LIMIT_PERF_MAP_ROWS]; /* to ask for */
	size_t pc_count;
	bool is_asked;         /* an answer will come */
	bool has_no_map;       /* as of the last answer */
	bool has_map;          /* as of any */
	uint64_t ask_again_ns; /* not before */
	uint64_t until_ns;     /* then nothing of it is believed any more */
	uint64_t image;        /* a number that no other has */
	/* Which process it is of, from which time on, and when its last sample was that had a frame
	 * without a name. */
	uint32_t pid;
	uint64_t start_ns, since_ns, seen_ns;
	struct late_jit *late; /* those frames; NULL: they are not remembered (late_names.h) */
};

struct jit *jit_new(void); /* NULL without memory */
/* The program of a process, as its first sample at since_ns finds it. */
struct jit *jit_of(uint32_t pid, uint64_t start_ns, uint64_t since_ns);
struct jit *jit_ref(struct jit *j);
void jit_unref(struct jit *j); /* NULL does nothing */

/* Returns the name of the code at pc; NULL: unknown. Borrowed until the next jit_answer(). */
const char *jit_find(struct jit *j, uint64_t pc, uint64_t now_ns);

/* Notes pc to be asked for, unless it is known or was asked for just now. Returns whether a sample
 * is to wait for the answer: not where there was no map the last time. */
bool jit_want(struct jit *j, uint64_t pc, uint64_t now_ns);

/* Takes what the perf map has for the noted addresses; rc: why it has nothing. */
void jit_answer(struct jit *j, int rc, const struct perf_map_row *rows, size_t count,
		uint64_t now_ns);

#endif
