/* SPDX-License-Identifier: Apache-2.0 */
#include "watchdog.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "unit_notify.h"

enum {
	LOOK_MS = 250
};

struct watchdog {
	struct watchdog_config config;
	/* Held while `changed` is called, so a stuck thread may hold it for ever. */
	pthread_mutex_t lock;
	sem_t asked; /* a signal came */
	atomic_bool is_ending;
	struct busy_stuck stuck;
	struct unit_watchdog unit;
	bool is_ready, is_well, is_quiet;
};

/* --- looking --------------------------------------------------------------------------------- */

static void tell_stuck(const char *name, const char *what, uint64_t ns)
{
	log_error("a thread (%s) is stuck: it has been at %s for %llu s", name, what,
		  (unsigned long long)(ns / 1000000000));
}

static void look_at_service(struct watchdog *w)
{
	struct busy_stuck stuck;
	uint64_t now = io_mono_ns();
	bool changed, is_well;

	busy_look(w->config.patience_ns, tell_stuck, &stuck);
	is_well = !stuck.groups;
	pthread_mutex_lock(&w->lock);
	w->stuck = stuck;
	changed = w->is_ready && !w->is_quiet && is_well != w->is_well;
	if (w->is_ready)
		w->is_well = is_well;
	if (is_well)
		unit_watchdog_feed(&w->unit, now);
	/* `changed` is called under the lock, so that it has returned after watchdog_quiet(). */
	if (changed) {
		log_warn(is_well ? "threads for all kinds of work are available again: serving"
				 : "all threads of a kind are stuck: not serving");
		w->config.changed(w->config.ctx, is_well);
	}
	pthread_mutex_unlock(&w->lock);
}

/* Ends the process even if the disk, the transport or a stranger's bytes block a thread. What is
 * durable stays durable. */
static void end_process(const struct watchdog *w)
{
	struct busy_stuck stuck;

	busy_look(0, NULL, &stuck);
	log_warn("ended with %u threads at work", stuck.threads);
	_exit(atomic_load(w->config.failed) ? 1 : 0);
}

static void *run_watchdog(void *arg)
{
	struct watchdog *w = arg;

	for (;;) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000000}, NULL);
		look_at_service(w);
	}
	return NULL;
}

/* Lists the signals that the watchdog waits for. SIGHUP is one of them, so that neither a terminal
 * that closes nor somebody who wants a reload ends the daemon. */
static void fill_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGHUP);
}

/* Waits for signals, and ends the process end_ms after SIGTERM or SIGINT. Takes no lock that others
 * hold. */
static void *await_signal(void *arg)
{
	struct watchdog *w = arg;
	sigset_t signals;
	struct timespec rest = {.tv_sec = w->config.end_ms / 1000,
				.tv_nsec = w->config.end_ms % 1000 * 1000000L};
	int sig = 0;

	fill_signals(&signals);
	while (sigwait(&signals, &sig) || sig == SIGHUP)
		if (sig == SIGHUP)
			sem_post(&w->asked);
	atomic_store(&w->is_ending, true);
	unit_notify(UNIT_STOPPING);
	sem_post(&w->asked);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest))
		;
	end_process(w);
	return NULL;
}

/* --- open and stop --------------------------------------------------------------------------- */

int watchdog_open(struct watchdog **ret, const struct watchdog_config *config, struct err *err)
{
	struct watchdog *w = calloc(1, sizeof(*w));
	pthread_t thread;
	sigset_t signals;
	int rc;

	if (!w)
		return err_no_memory(err);
	fill_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	w->config = *config;
	unit_watchdog_init(&w->unit);
	w->is_well = true;
	pthread_mutex_init(&w->lock, NULL);
	sem_init(&w->asked, 0, 0);
	/* Both threads last as long as the process, and so does what they use. */
	rc = pthread_create(&thread, NULL, await_signal, w);
	if (!rc) {
		pthread_detach(thread);
		rc = pthread_create(&thread, NULL, run_watchdog, w);
	}
	if (rc)
		return err_sys(err, rc, "watchdog thread");
	pthread_detach(thread);
	*ret = w;
	return 0;
}

void watchdog_ready(struct watchdog *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_ready = true;
	pthread_mutex_unlock(&w->lock);
	unit_notify(UNIT_READY);
}

bool watchdog_wait(struct watchdog *w)
{
	while (sem_wait(&w->asked))
		;
	while (!sem_trywait(&w->asked))
		;
	return !atomic_load(&w->is_ending);
}

void watchdog_quiet(struct watchdog *w)
{
	pthread_mutex_lock(&w->lock);
	w->is_quiet = true;
	pthread_mutex_unlock(&w->lock);
}

void watchdog_stat(struct watchdog *w, struct busy_stuck *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = w->stuck;
	pthread_mutex_unlock(&w->lock);
}
