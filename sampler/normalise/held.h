/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_HELD_H
#define RAWSTACK_HELD_H
/*
 * Samples that wait for the id of a file, each with its process as it was then. In order of
 * arrival, bounded by LIMIT_HELD. One thread.
 */
#include "procs.h"

struct held {
	struct held *next;
	uint64_t until_ns;   /* then it is written as it is */
	struct event sample; /* data: pcs */
	bool has_proc;
	struct proc proc; /* with references of its own to maps and exe; nothing else holds it */
	uint64_t pcs[];
};

struct held_list {
	struct held *first, **end;
	size_t count;
};

void held_init(struct held_list *l);
void held_done(struct held_list *l);

/* Copies the sample; p may be NULL. False above LIMIT_HELD or without memory. */
bool held_add(struct held_list *l, const struct event *sample, const struct proc *p,
	      uint64_t until_ns);

/* Takes the sample at *at out of the list and frees it; *at is then the one behind. */
void held_remove(struct held_list *l, struct held **at);

#endif
