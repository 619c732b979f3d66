/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_POLL_TIMER_H
#define RAWSTACK_POLL_TIMER_H
/*
 * Decides when the sampler wakes up to take samples from the rings. Most of the cost of sampling is
 * waking up, so it does so as seldom as SPOOL_FLUSH_NS, a promise of the spool, permits. It wakes
 * up earlier when a ring of mapping records is half full, when more samples come than one round
 * shall handle, and while samples wait for the helper; also in the first second, to read older
 * processes from /proc while they still run. A timer is for one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* The longest time between two rounds. */
#define POLL_TIMER_NS UINT64_C(900000000)

struct poll_timer {
	int signal_fd, ring_fd; /* borrowed from the caller; ring_fd may be -1 */
	int epoll_fd;           /* waits for both */
	uint32_t cpu_count;
	uint64_t began_ns;
	bool is_early; /* a ring asked for this round */
	bool is_armed; /* a ring may ask for the next round */
	int64_t early_left;
	uint64_t early_ns; /* when early_left was last refilled */
	uint64_t hangups;  /* number of SIGHUPs, which are ignored; the caller resets it */
};

#define POLL_TIMER_INIT        \
	{                      \
		.epoll_fd = -1 \
	}

/* The facts about a round that the timer needs. */
struct poll_round {
	uint64_t start_ns;
	uint64_t most_ns; /* longest time until the next round for the backend; 0: any */
	size_t handled;   /* number of events */
	bool is_pending;  /* samples wait for the helper */
};

/*
 * Begins to wait for rounds. signal_fd is a signalfd(2), readable when a child ended or when the
 * sampler shall end. ring_fd is readable when a ring is half full; -1: there is none. Both are
 * borrowed. now_ns is CLOCK_MONOTONIC. Returns 0 or an error.
 */
int poll_timer_open(struct poll_timer *r, int signal_fd, int ring_fd, uint32_t cpu_count,
		    uint64_t now_ns, struct err *err) _must_check_;
void poll_timer_close(struct poll_timer *r);

/* Waits for the time of the next round, a signal, or a ring that fills. Returns true when the
 * sampler shall end, because of a signal or because end_ns has come (0: never). */
bool poll_timer_wait(struct poll_timer *r, const struct poll_round *last, uint64_t end_ns);

/* Reads the pending signals, adds the number of SIGHUPs to *hangups, and returns whether one of the
 * others shall end the sampler. */
bool poll_timer_read_signals(int signal_fd, uint64_t *hangups);

#endif
