/* SPDX-License-Identifier: Apache-2.0 */
#include "poll_timer.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "events.h"
#include "io.h"
#include "spool.h"

#define FIRST_NS   UINT64_C(100000000)
#define PENDING_NS UINT64_C(200000000)
#define MIN_NS     UINT64_C(20000000)

_Static_assert(POLL_TIMER_NS + EVENTS_GRACE_NS <= SPOOL_FLUSH_NS, "what a killed sampler may lose");

enum {
	ROUND_EVENTS = 2048, /* events that a round shall handle, about, as they fit the caches */
};

/*
 * The most events, for each CPU, that rounds which a ring asked for may handle: in a second, and in
 * a burst. A CPU that only starts compilers makes 1,200 in a second; a process that maps and unmaps
 * in a loop makes fifty times as many, for as long as it likes. Above this limit a ring waits for
 * the next regular round. Records that find no room are counted, and mappings are read anew.
 */
#define EARLY_PER_S UINT64_C(4000)
#define EARLY_BURST INT64_C(100000)

/* Watches the ring, for one event only, so that a ring that stays full causes no busy loop. */
static int watch_ring(struct poll_timer *r, int op, bool is_armed)
{
	struct epoll_event ring = {.events = EPOLLONESHOT};

	if (is_armed)
		ring.events |= EPOLLIN;
	ring.data.fd = r->ring_fd;
	r->is_armed = is_armed;
	return epoll_ctl(r->epoll_fd, op, r->ring_fd, &ring);
}

/* The descriptors are registered with epoll once, which costs a round less than poll(2) would. */
int poll_timer_open(struct poll_timer *r, int signal_fd, int ring_fd, uint32_t cpu_count,
		    uint64_t now, struct err *err)
{
	struct epoll_event signals = {.events = EPOLLIN, .data.fd = signal_fd};

	*r = (struct poll_timer){
		.signal_fd = signal_fd,
		.ring_fd = ring_fd,
		.epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		.cpu_count = cpu_count,
		.began_ns = now,
		.early_left = EARLY_BURST * cpu_count,
		.early_ns = now,
	};
	if (r->epoll_fd < 0 || epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, signal_fd, &signals) ||
	    (ring_fd >= 0 && watch_ring(r, EPOLL_CTL_ADD, true)))
		return err_sys(err, errno, "waiting for signals and rings");
	return 0;
}

void poll_timer_close(struct poll_timer *r)
{
	closep(&r->epoll_fd);
	r->epoll_fd = -1;
}

/* Returns how long to wait for the next round. */
static uint64_t round_interval(const struct poll_timer *r, const struct poll_round *last)
{
	const uint64_t young_ns = FIRST_NS + 3 * (last->start_ns - r->began_ns);
	uint64_t ns = last->is_pending ? PENDING_NS : last->most_ns;

	if (ns > POLL_TIMER_NS || !ns)
		ns = POLL_TIMER_NS;
	if (ns > young_ns)
		ns = young_ns;
	if (last->handled > ROUND_EVENTS)
		ns = ns * ROUND_EVENTS / last->handled;
	return ns < MIN_NS ? MIN_NS : ns;
}

/* Returns whether a ring may ask for an early round, and accounts for the last round. */
static bool may_be_early(struct poll_timer *r, const struct poll_round *last)
{
	const uint64_t per_event = 1000000000 / EARLY_PER_S / r->cpu_count;
	const uint64_t gained = (last->start_ns - r->early_ns) / per_event;
	const int64_t most = EARLY_BURST * r->cpu_count;

	r->early_ns += gained * per_event;
	r->early_left -= r->is_early ? (int64_t)last->handled : 0;
	r->early_left =
		gained < (uint64_t)(most - r->early_left) ? r->early_left + (int64_t)gained : most;
	r->is_early = false;
	return r->ring_fd >= 0 && r->early_left > 0;
}

bool poll_timer_read_signals(int signal_fd, uint64_t *hangups)
{
	struct signalfd_siginfo info;
	bool is_end = false;

	while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		*hangups += info.ssi_signo == SIGHUP;
		is_end |= info.ssi_signo != SIGCHLD && info.ssi_signo != SIGHUP;
	}
	return is_end;
}

bool poll_timer_wait(struct poll_timer *r, const struct poll_round *last, uint64_t end_ns)
{
	const bool may_ask = may_be_early(r, last);
	uint64_t until = last->start_ns + round_interval(r, last);
	struct epoll_event ready;

	if (may_ask != r->is_armed)
		watch_ring(r, EPOLL_CTL_MOD, may_ask);
	if (end_ns && end_ns < until)
		until = end_ns;
	for (;;) {
		const uint64_t now = io_mono_ns();

		if (end_ns && now >= end_ns)
			return true;
		if (now >= until)
			return false;
		if (epoll_wait(r->epoll_fd, &ready, 1, (int)((until - now + 999999) / 1000000)) <=
		    0)
			continue;
		if (ready.data.fd == r->signal_fd)
			return poll_timer_read_signals(r->signal_fd, &r->hangups);
		r->is_armed = false;
		r->is_early = true;
		if (last->start_ns + MIN_NS < until)
			until = last->start_ns + MIN_NS;
	}
}
