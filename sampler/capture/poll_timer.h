/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_POLL_TIMER_H
#define RAWSTACK_POLL_TIMER_H
/*
 * When the sampler wakes up to take what was sampled. Most of what sampling costs is waking up: so
 * as seldom as SPOOL_FLUSH_NS permits, which the spool promises. Earlier when a ring of mapping
 * records is half full, when more samples come than one round shall handle, and while samples wait
 * for the helper. And in the first second: what runs then is older than the sampler, and is looked
 * at in /proc while it is there. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* The longest time between two rounds. */
#define POLL_TIMER_NS UINT64_C(900000000)

struct poll_timer {
	int signal_fd, ring_fd; /* of the caller; ring_fd may be -1 */
	int epoll_fd;           /* of both */
	uint32_t cpu_count;
	uint64_t began_ns;
	bool is_early; /* a ring asked for this round */
	bool is_armed; /* it may ask for the next */
	int64_t early_left;
	uint64_t early_ns; /* when that was last filled up */
	uint64_t hangups;  /* SIGHUPs, which end nothing; the caller's to reset */
};

#define POLL_TIMER_INIT        \
	{                      \
		.epoll_fd = -1 \
	}

/* What a round, begun at start_ns, was like. */
struct poll_round {
	uint64_t start_ns;
	uint64_t most_ns; /* the backend's longest time until the next; 0: it has none */
	size_t handled;   /* events */
	bool is_pending;  /* samples wait for the helper */
};

/*
 * signal_fd: a signalfd(2), readable when a process of ours ended or it is time to end; ring_fd:
 * what is readable when a ring is half full, or -1. Both are only borrowed. now_ns:
 * CLOCK_MONOTONIC.
 */
int poll_timer_open(struct poll_timer *r, int signal_fd, int ring_fd, uint32_t cpu_count,
		    uint64_t now_ns, struct err *err) _must_check_;
void poll_timer_close(struct poll_timer *r);

/* Waits for the time of the next round, a signal, or a ring that fills; true when it is time to
 * end, by a signal or because it is end_ns (0: never). */
bool poll_timer_wait(struct poll_timer *r, const struct poll_round *last, uint64_t end_ns);

/* Reads what signals there are; whether one of them is to end. Adds SIGHUPs to *hangups. */
bool poll_timer_read_signals(int signal_fd, uint64_t *hangups);

#endif
