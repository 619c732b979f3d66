/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_WATCHDOG_H
#define RAWSTACK_WATCHDOG_H
/*
 * Watches the threads of the service from one of its own. It logs the name of a stuck thread,
 * reports when all threads for one kind of work are stuck, and feeds systemd's watchdog
 * (sd_notify(3), by its datagrams) only while that is not so. It also makes SIGTERM end the
 * process, whatever the threads do.
 */
#include "base.h"
#include "busy.h"
#include "err.h"

struct watchdog;

struct watchdog_config {
	uint64_t patience_ns; /* a thread is stuck after so long */
	/* Called on every change. is_well: each kind of work has threads that are not stuck. */
	void (*changed)(void *ctx, bool is_well);
	void *ctx;
	/* The time that the process has to end by itself after a signal. Then _exit() ends it, with
	 * 1 if *failed is set, else 0. */
	unsigned int end_ms;
	const atomic_bool *failed;
};

/* Call it before any other thread starts: from then on SIGTERM, SIGINT and SIGHUP are the
 * watchdog's. */
int watchdog_open(struct watchdog **ret, const struct watchdog_config *config,
		  struct err *err) _must_check_;

/* Tells systemd that the service listens. From then on `changed` may be called. */
void watchdog_ready(struct watchdog *w);

/* Waits for a signal. Returns true if SIGHUP came, once or several times since the last call, or
 * false if SIGTERM or SIGINT did. */
bool watchdog_wait(struct watchdog *w) _must_check_;

/* From then on `changed` is not called any more. */
void watchdog_quiet(struct watchdog *w);

/* Fills *ret with what the last look found. */
void watchdog_stat(struct watchdog *w, struct busy_stuck *ret);

#endif
