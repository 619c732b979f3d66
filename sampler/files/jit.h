/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_JIT_H
#define RAWSTACK_JIT_H
/*
 * Keeps what is known of the code that a process makes at run time: the parts of its perf map for
 * addresses of samples. They are believed for a while only, because such code moves and goes.
 * References are counted: a sample that waits holds one. One thread uses it.
 */
#include "base.h"
#include "limits.h"
#include "perf_map.h"

struct jit {
	unsigned int refs;
	struct jit_range *ranges; /* ascending, disjoint */
	size_t count, cap;
	uint64_t pcs[LIMIT_PERF_MAP_ROWS]; /* addresses that the next request asks for */
	size_t pc_count;
	bool is_asked;         /* an answer will come */
	bool has_no_map;       /* as of the last answer */
	bool has_map;          /* as of any answer */
	uint64_t ask_again_ns; /* the helper is not asked before this time */
	uint64_t until_ns;     /* no range is believed after that */
	uint64_t image;        /* a number that no other struct jit has */
	/* The process, the time from which on it is known, and the time of its last sample with a
	 * frame without a name. */
	uint32_t pid;
	uint64_t start_ns, since_ns, seen_ns;
	struct late_jit *late; /* the places of those frames; NULL: not remembered (late_names.h) */
};

struct jit *jit_new(void); /* NULL without memory */
/* Makes one for the program of a process, whose first sample is at since_ns; NULL: out of memory.
 */
struct jit *jit_of(uint32_t pid, uint64_t start_ns, uint64_t since_ns);
struct jit *jit_ref(struct jit *j);
void jit_unref(struct jit *j); /* NULL does nothing */

/* Returns the name of the code at pc; NULL: unknown. Borrowed until the next jit_answer(). */
const char *jit_find(struct jit *j, uint64_t pc, uint64_t now_ns);

/* Notes pc to be asked for, unless it is known or was asked for just now. Returns whether a sample
 * is to wait for the answer, which is not so when there was no map the last time. */
bool jit_want(struct jit *j, uint64_t pc, uint64_t now_ns);

/* Takes what the perf map has for the noted addresses; rc tells why it has nothing, or is 0. */
void jit_answer(struct jit *j, int rc, const struct perf_map_row *rows, size_t count,
		uint64_t now_ns);

#endif
