/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PENDING_SAMPLES_H
#define RAWSTACK_PENDING_SAMPLES_H
/*
 * Samples that wait for the id of a file, each with a copy of its process. They are in order of
 * arrival, at most LIMIT_PENDING_SAMPLES. One thread.
 */
#include "limits.h"
#include "procs.h"

/* Samples that wait for the id of a file: each takes 2 KiB at most. */
#define LIMIT_PENDING_SAMPLES LIMIT(2048)

struct pending_sample {
	struct pending_sample *next;
	uint64_t until_ns;   /* then it is written as it is */
	struct event sample; /* data: pcs */
	bool has_proc;
	struct proc proc; /* with references of its own to maps and exe; nothing else holds it */
	uint64_t pcs[];
};

struct pending_samples {
	struct pending_sample *first, **end;
	size_t count;
};

void pending_samples_init(struct pending_samples *l);
void pending_samples_done(struct pending_samples *l);

/* Copies the sample; p may be NULL. False above LIMIT_PENDING_SAMPLES or without memory. */
bool pending_samples_add(struct pending_samples *l, const struct event *sample,
			 const struct proc *p, uint64_t until_ns);

/* Takes the sample at *at out of the list and frees it; *at is then the one behind. */
void pending_samples_remove(struct pending_samples *l, struct pending_sample **at);

#endif
