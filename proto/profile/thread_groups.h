/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_THREAD_GROUPS_H
#define RAWSTACK_THREAD_GROUPS_H
/*
 * Groups the samples of a profile by thread, for formats that have a track for each. Equal labels
 * "thread", "pid" and "tid" make one group. Groups are in order of first sight, samples in their
 * own order.
 */
#include "profile.h"

struct thread_group {
	struct profile_text name; /* may be empty */
	int64_t pid, tid;         /* -1: not known */
	const uint32_t *samples;
	size_t count;
};

struct thread_groups {
	struct thread_group *groups;
	size_t count;
	uint32_t *samples;
};

/* Makes the groups; names are borrowed from p. Returns ERR_MEMORY, and then there is nothing to
 * release. */
int thread_groups_make(struct thread_groups *g, const struct profile *p,
		       struct err *err) _must_check_;
void thread_groups_done(struct thread_groups *g);

#endif
