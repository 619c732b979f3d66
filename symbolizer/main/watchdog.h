/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WATCHDOG_H
#define RAWSTACK_WATCHDOG_H
/*
 * Looks after the threads of the service from one of its own: names one that is stuck in the log,
 * says when all that can do the same work are, and tells systemd's watchdog (sd_notify(3), by its
 * datagrams) that the service lives only as long as that is not so. And sees to it that SIGTERM
 * ends the process, whatever the threads do.
 */
#include "base.h"
#include "busy.h"
#include "err.h"

struct watchdog;

struct watchdog_config {
	uint64_t patience_ns; /* after which a thread is stuck */
	/* On a change: whether there are threads for each kind of work. */
	void (*changed)(void *ctx, bool is_well);
	void *ctx;
	/* From a signal on, until the process ends by _exit() if it has not by itself: with 1 if
	 * *failed is set, else 0. */
	unsigned int end_ms;
	const atomic_bool *failed;
};

/*
 * Before any other thread is started: SIGTERM, SIGINT and SIGHUP are the watchdog's from now on.
 * The last is told in the log, and no more.
 */
int watchdog_open(struct watchdog **ret, const struct watchdog_config *config,
		  struct err *err) _must_check_;

/* The service listens: systemd is told so, and `changed` may be called. */
void watchdog_ready(struct watchdog *w);

/* Returns when SIGTERM or SIGINT came. */
void watchdog_wait(struct watchdog *w);

/* `changed` is not called any more. */
void watchdog_quiet(struct watchdog *w);

/* What the last look found. */
void watchdog_stat(struct watchdog *w, struct busy_stuck *ret);

#endif
