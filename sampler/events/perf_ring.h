/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_RING_H
#define RAWSTACK_PERF_RING_H
/*
 * Reads the ring of a perf event (perf_event_open(2)) and turns its records into struct event. The
 * records of all events of the sampler carry the same identity: thread, time, CPU. A ring is for
 * one thread.
 */
#include "backend.h"
#include "err.h"
#include "events.h"

struct perf_event_attr;

struct perf_ring {
	void *base;
	size_t page_len, data_len;
	uint8_t *record;             /* room for a record that wraps around the end */
	bool has_kernel, has_cgroup; /* what its samples contain */
	uint64_t last_ns;            /* time of the last record that came */
};

struct perf_counts {
	uint64_t lost, throttled;
	uint64_t samples, refused; /* samples delivered, and those the queue did not take */
};

/* Sets *attr to an event that reports executable mappings, names, forks and exits. */
void perf_attr_tracking(struct perf_event_attr *attr);

/* Sets *attr to an event that samples every period_ns, or, by cycles, as often on a busy CPU. */
void perf_attr_sampling(struct perf_event_attr *attr, enum backend_event event, uint64_t period_ns);

/* Returns the event that BACKEND_EVENT_AUTO stands for on this machine, by trial; others are
 * unchanged. */
enum backend_event perf_choose_event(enum backend_event wanted);
const char *perf_event_name(enum backend_event event);

/* Returns the most addresses of a stack that the kernel takes, kernel.perf_event_max_stack, but at
 * most 127, for which events have room. */
uint16_t perf_stack_depth(void);

/* Calls perf_event_open(2) for a CPU or a thread. Returns the descriptor, or -errno. */
int perf_open(struct perf_event_attr *attr, int32_t pid, int cpu, int group_fd);

/* Gives a clock event another period, which begins now. Returns 0 or -errno. */
int perf_set_period(int fd, uint64_t period_ns);

/* Tries to open an event of a CPU that reports mappings. Returns 0 or -errno. */
int perf_try_cpu(void);

/* Tries what the kernel can report, and calls say() for each feature with whether it works, and why
 * not. Sampling works without these features, but knows less. */
void perf_check_features(void (*say)(void *arg, const char *what, bool ok, const char *why),
			 void *arg);

/* Maps a ring of `pages` pages (a power of two), or fewer, but at least `least`, if the kernel's
 * limit on locked memory requires that. Returns 0 or an error. */
int perf_ring_map(struct perf_ring *r, int fd, size_t pages, size_t least, struct err *err);
void perf_ring_unmap(struct perf_ring *r);

/* Returns a number that grows with each record that was drained. */
uint64_t perf_ring_heard(const struct perf_ring *r);

/* Makes *epoll_fd, which is created if it is -1, readable when the ring of a CPU's event is half
 * full. Returns 0 or -errno. */
int perf_ring_watch(int *epoll_fd, int fd);

/* Adds every record that is in the ring now to `events`, and counts what was lost. */
void perf_ring_drain(struct perf_ring *r, struct events *events, struct perf_counts *counts);

#endif
