/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUSY_H
#define RAWSTACK_BUSY_H
/*
 * What each thread of a program is doing, and since when, so that another can name one that is
 * stuck. A thread says so with two stores; whoever looks needs no answer of it.
 */
#include <stdatomic.h>

#include "base.h"
#include "io.h"

/* One thread. Lives until busy_remove(). */
struct busy {
	struct busy *next;
	const char *name;          /* of a group: those that can do each other's work */
	const char *_Atomic what;  /* a literal, or as long as the program */
	_Atomic uint64_t since_ns; /* monotonic; 0: it waits for work */
	_Atomic uint64_t told_ns;  /* the looker's: `since_ns` of what it has told of */
};

void busy_add(struct busy *b, const char *name);
void busy_remove(struct busy *b);

static inline void busy_begin(struct busy *b, const char *what)
{
	atomic_store_explicit(&b->what, what, memory_order_relaxed);
	atomic_store_explicit(&b->since_ns, io_mono_ns(), memory_order_release);
}

static inline void busy_end(struct busy *b)
{
	atomic_store_explicit(&b->since_ns, 0, memory_order_relaxed);
}

struct busy_stuck {
	unsigned int threads; /* at one thing for longer than asked for */
	unsigned int groups;  /* of which all threads are */
	uint64_t longest_ns;
};

/*
 * Which threads are at one thing for patience_ns or more. tell, if not NULL, is called once for
 * each such thing, with a lock held: it must not call any of these.
 */
void busy_look(uint64_t patience_ns, void (*tell)(const char *name, const char *what, uint64_t ns),
	       struct busy_stuck *ret);

#endif
