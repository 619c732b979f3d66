/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `rawstack-ship`: unprivileged, sees the spool, the service and the sink, nothing
 * else. Says one line whenever its state changes (shipping, waiting and why), not more.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "log.h"
#include "ship_back_off.h"
#include "ship_endpoint.h"
#include "ship_options.h"
#include "ship_status.h"
#include "shipper.h"

#define NS_PER_MS    UINT64_C(1000000)
#define POLL_MS      1000 /* how often an empty spool is looked at */
#define SWEEP_MS     600000
#define STOP_MS      9000 /* from SIGTERM on, after the call under way (10 s at most) */
#define STOP_CALL_MS 4000

static volatile sig_atomic_t stopping;

static void on_signal(int signum _unused_)
{
	stopping = 1;
}

/* What was said last. Only a change is worth a line. */
struct state {
	bool waiting;
	int code;
};

static void say_waiting(struct state *state, const struct err *err)
{
	if (!state->waiting || state->code != err->code)
		log_info("waiting: %s", err->message);
	*state = (struct state){true, err->code};
}

static void say_shipping(struct state *state, const char *server)
{
	if (state->waiting)
		log_info("shipping to %s again", server);
	*state = (struct state){0};
}

/* Sleeps until a signal comes. Signals are blocked elsewhere, in the threads of gRPC for good: so
 * none gets lost between a look at `stopping` and the sleep. */
static void pause_ms(uint32_t ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
	sigset_t none;

	sigemptyset(&none);
	ppoll(NULL, 0, &time, &none);
}

static uint64_t now_ms(void)
{
	const struct io *io = io_system();

	return io->mono_ns(io->ctx) / NS_PER_MS;
}

struct ship {
	const struct ship_options *o;
	struct ship_endpoint endpoint;
	struct ship_status status;
	struct shipper *shipper;
	struct sink *sink;
	uint64_t swept_ms; /* when the sink was last looked through; 0: never */
};

static void tell(struct ship *s, const char *state, const char *why)
{
	struct shipper_stats stats;

	if (s->o->once)
		return;
	shipper_stats(s->shipper, &stats);
	ship_status_tell(&s->status, state, why, s->endpoint.server, &stats);
}

/* Old batches go; how many is worth a line. */
static void sweep(struct ship *s)
{
	uint64_t now = now_ms(), removed;
	struct err err;

	if (s->swept_ms && now - s->swept_ms < SWEEP_MS)
		return;
	s->swept_ms = now ? now : 1;
	if (sink_sweep(s->sink, &s->o->keep, &removed, &err))
		log_warn("%s", err.message);
	if (removed)
		log_info("%" PRIu64 " old batches removed from %s", removed, s->o->out);
}

/* How long what was sent takes at the rate that is allowed. */
static uint32_t pace_ms(const struct ship *s, uint64_t sent_before)
{
	uint64_t sent = s->endpoint.sent_bytes - sent_before;

	return s->o->rate_bytes ? (uint32_t)(sent * 1000 / s->o->rate_bytes) : 0;
}

/* Until a signal comes. */
static void ship_on(struct ship *s)
{
	const struct io *io = io_system();
	struct state state = {0};
	unsigned int failures = 0;
	uint32_t random;

	while (!stopping) {
		uint64_t sent = s->endpoint.sent_bytes;
		struct err err = {0};
		int rc = shipper_step(s->shipper, &err);

		if (rc < 0) {
			say_waiting(&state, &err);
			tell(s, "waiting", err.message);
			io->random(io->ctx, &random, sizeof(random));
			pause_ms(ship_back_off_ms(++failures, random));
			continue;
		}
		if (rc > 0 || failures) {
			say_shipping(&state, s->endpoint.server);
			failures = 0;
		}
		tell(s, rc ? "shipping" : "idle", NULL);
		sweep(s);
		pause_ms(rc ? pace_ms(s, sent)
			    : (uint32_t)(shipper_due_ns(s->shipper, POLL_MS * NS_PER_MS) /
						 NS_PER_MS +
					 1));
	}
}

/* Ships what is there now. A failure is tried again until STOP_MS are over; when asked to stop,
 * success has no more time either. */
static int drain(struct shipper *s, struct err *err)
{
	uint64_t until = now_ms() + STOP_MS, left;
	int rc;

	shipper_set_timeout(s, STOP_CALL_MS);
	while ((rc = shipper_step(s, err)) != 0) {
		if (rc < 0 && now_ms() + BACK_OFF_FIRST_MS + STOP_CALL_MS >= until)
			break;
		if (rc > 0 && stopping && now_ms() >= until)
			break;
		pause_ms(rc < 0 ? BACK_OFF_FIRST_MS : 0);
	}
	if (!rc || shipper_backlog(s, &left, NULL) || (rc > 0 && !left))
		return rc < 0 ? rc : 0;
	if (rc > 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "no more time: %" PRIu64 " samples stay in the spool", left);
	return err_prefix(err, "%" PRIu64 " samples stay in the spool", left);
}

/* Behind everything else on the host: nobody waits for a profile. */
static void step_back(int nice_level)
{
	const int who_process = 1, best_effort_last = 2 << 13 | 7;

	if (setpriority(PRIO_PROCESS, 0, nice_level) ||
	    syscall(SYS_ioprio_set, who_process, 0, best_effort_last))
		log_debug("the priority stays as it is");
}

static int run(const struct ship_options *o, struct err *err)
{
	_cleanup_(ship_endpoint_closep) struct ship_endpoint *endpoint = NULL;
	_cleanup_(sink_closep) struct sink *sink = NULL;
	_cleanup_(shipper_closep) struct shipper *shipper = NULL;
	struct ship s = {.o = o,
			 .status = {.io = io_system(), .spool = o->spool, .metrics = o->metrics}};
	int rc = ship_route_init(&s.endpoint.route, o->servers, o->routes, o->cluster, err);

	endpoint = &s.endpoint;
	if (!rc)
		rc = sink_open(&sink, o->out, o->kind, NULL, err);
	if (!rc)
		rc = shipper_open(&shipper,
				  &(struct shipper_options){
					  .spool = o->spool,
					  .sink = sink,
					  .call = ship_endpoint_call,
					  .watch = ship_endpoint_watch,
					  .call_ctx = &s.endpoint,
					  .batch_samples = o->batch_samples,
					  .batch_age_ns = o->batch_age_ns,
				  },
				  err);
	if (rc)
		return rc;
	s.shipper = shipper;
	s.sink = sink;
	step_back(o->nice_level);
	if (!o->once)
		ship_on(&s);
	shipper_set_hurry(shipper);
	rc = drain(shipper, err);
	tell(&s, "stopped", rc ? err->message : NULL);
	if (!rc)
		log_info("%" PRIu64 " samples delivered to %s", shipper_delivered(shipper), o->out);
	return rc;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct ship_options o;
	struct err err = {0};
	sigset_t blocked;
	int rc;

	log_init("rawstack-ship");
	rc = ship_options_parse(argc, argv, &o, &err);
	if (rc > 0)
		return 0;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!rc)
		rc = run(&o, &err);
	if (!rc)
		return 0;
	log_error("%s", err.message);
	return err_exit_status(rc);
}
