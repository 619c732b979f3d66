/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PENDING_SAMPLES_H
#define RAWSTACK_PENDING_SAMPLES_H
/*
 * Lists the samples that wait for the id of a file, in order of arrival, each with a copy of its
 * process. A list is for one thread.
 */
#include "limits.h"
#include "procs.h"

/* Most samples that wait; each takes 2 KiB at most. */
#define LIMIT_PENDING_SAMPLES LIMIT(2048)

struct pending_sample {
	struct pending_sample *next;
	uint64_t until_ns;   /* when it is written even without the id */
	struct event sample; /* its data are pcs[] */
	bool has_proc;
	struct proc proc; /* a copy with references of its own to maps, exe and jit */
	uint64_t pcs[];
};

struct pending_samples {
	struct pending_sample *first, **end;
	size_t count;
};

void pending_samples_init(struct pending_samples *l);
void pending_samples_done(struct pending_samples *l);

/* Adds a copy of the sample; p may be NULL. Returns false above LIMIT_PENDING_SAMPLES or if memory
 * is short. */
bool pending_samples_add(struct pending_samples *l, const struct event *sample,
			 const struct proc *p, uint64_t until_ns);

/* Takes the sample at *at out of the list and frees it; *at is then the next one. */
void pending_samples_remove(struct pending_samples *l, struct pending_sample **at);

#endif
