/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_RING_H
#define RAWSTACK_PERF_RING_H
/*
 * The ring of one perf event, and its records as struct event (perf_event_open(2)). The records of
 * all our events carry the same identity: thread, time, CPU. One thread.
 */
#include "backend.h"
#include "err.h"
#include "events.h"

struct perf_event_attr;

struct perf_ring {
	void *base;
	size_t page_len, data_len;
	uint8_t *record;             /* one record that wraps around */
	bool has_kernel, has_cgroup; /* of its samples */
	uint64_t last_ns;            /* of the last record that came */
};

struct perf_counts {
	uint64_t lost, throttled;
	uint64_t samples, refused; /* samples delivered, and those the queue did not take */
};

/* An event that reports executable mappings, names, forks, exits. */
void perf_attr_tracking(struct perf_event_attr *attr);

/* An event that samples: by time, every period_ns; by cycles, as often on a busy CPU. */
void perf_attr_sampling(struct perf_event_attr *attr, enum backend_event event, uint64_t period_ns);

/* Returns the event that BACKEND_EVENT_AUTO stands for on this machine, by trial; others are
 * unchanged. */
enum backend_event perf_choose_event(enum backend_event wanted);
const char *perf_event_name(enum backend_event event);

/* How many addresses of a stack the kernel takes at most: kernel.perf_event_max_stack, 127 or less,
 * for that is what our events have room for. */
uint16_t perf_stack_depth(void);

/* perf_event_open(2) of the CPU or thread; the descriptor, or -errno. */
int perf_open(struct perf_event_attr *attr, int32_t pid, int cpu, int group_fd);

/* Gives a clock event another period, which begins now. -errno. */
int perf_set_period(int fd, uint64_t period_ns);

/* Whether an event of a CPU that reports mappings can be opened: 0, or -errno. */
int perf_try_cpu(void);

/* Tries what the kernel can report, and calls say() for each feature: whether it works, and why
 * not. Sampling works without them, but knows less. */
void perf_check_features(void (*say)(void *arg, const char *what, bool ok, const char *why),
			 void *arg);

/* Maps a ring of at most `pages` pages (a power of two), fewer when the kernel's limit on locked
 * memory says so, at least `least`. */
int perf_ring_map(struct perf_ring *r, int fd, size_t pages, size_t least, struct err *err);
void perf_ring_unmap(struct perf_ring *r);

/* Returns a number that grows with each record that was drained. */
uint64_t perf_ring_heard(const struct perf_ring *r);

/* Makes *epoll_fd (-1: creates it) readable when the ring of a CPU's event is half full. -errno. */
int perf_ring_watch(int *epoll_fd, int fd);

/* Adds every record that is in the ring now. */
void perf_ring_drain(struct perf_ring *r, struct events *events, struct perf_counts *counts);

#endif
