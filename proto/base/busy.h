/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BUSY_H
#define RAWSTACK_BUSY_H
/*
 * Records what each thread is doing, and since when, so that another thread can name one that is
 * stuck. A thread records it with two stores, and the observer needs no answer from it.
 */
#include <stdatomic.h>

#include "base.h"
#include "io.h"

/* One thread; it must stay in place until busy_remove(). */
struct busy {
	struct busy *next;
	const char *name;          /* name of the group: threads that can do each other's work */
	const char *_Atomic what;  /* a literal, or a text that lives as long as the program */
	_Atomic uint64_t since_ns; /* monotonic; 0: it waits for work */
	_Atomic uint64_t told_ns;  /* for busy_look(): `since_ns` of the last report */
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
	unsigned int threads; /* threads that have been at one thing for patience_ns or more */
	unsigned int groups;  /* groups all of whose threads are */
	uint64_t longest_ns;
};

/*
 * Finds the threads that have been at one thing for patience_ns or more. It calls tell, if not
 * NULL, once for each such thing, with a lock held: tell must not call this module.
 */
void busy_look(uint64_t patience_ns, void (*tell)(const char *name, const char *what, uint64_t ns),
	       struct busy_stuck *ret);

#endif
