/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program `rawstack-ship`. It is unprivileged and sees the spool, the service and the sink,
 * nothing else. It logs a line when its state changes (shipping, waiting and why).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io.h"
#include "log.h"
#include "ship_back_off.h"
#include "ship_endpoints.h"
#include "ship_options.h"
#include "ship_pause.h"
#include "ship_status.h"
#include "shipper.h"
#include "sighup.h"
#include "stdout_end.h"
#include "unit_notify.h"

#define NS_PER_MS    UINT64_C(1000000)
#define POLL_MS      1000   /* how often an empty spool is looked at */
#define SWEEP_MS     600000 /* time between two removals of old batches from the sink */
#define LOOK_MS      500    /* most time that a signal waits while a connection is awaited */
#define RECONNECT_MS 3000   /* a connection is tried at least this often */
#define STOP_MS      9000   /* time to end after SIGTERM and the call under way (20 s at most) */
#define STOP_CALL_MS 4000

static volatile sig_atomic_t stopping, hung_up;

static void on_signal(int signum)
{
	if (signum == SIGHUP)
		hung_up = 1;
	else
		stopping = 1;
}

/* The last state that was logged: only a change is logged. */
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

static uint64_t mono_now_ms(void)
{
	return io_mono_ns() / NS_PER_MS;
}

/* The arguments of this process, to start it anew. */
struct ship_start {
	int argc;
	char **argv;
	bool has_file; /* it has a file of --config */
};

struct ship {
	const struct ship_options *o;
	const struct ship_start *start;
	bool is_reloading;
	struct ship_endpoints endpoints;
	struct ship_status status;
	struct shipper *shipper;
	struct sink *sink;
	uint64_t swept_ms;     /* when the sink was last swept; 0: never */
	uint64_t skipped_last; /* last segment of another format that was warned of */
};

/* Warns once of segments that the shipper leaves behind. */
static void warn_left_segments(struct ship *s)
{
	struct spool_skipped skipped;

	shipper_skipped(s->shipper, &skipped);
	if (skipped.count && skipped.last != s->skipped_last)
		log_warn("%" PRIu64
			 " segments of another format are not shipped, and stay until limits drop "
			 "them; %s",
			 skipped.count, skipped.why.message);
	s->skipped_last = skipped.last;
}

/* Copies the server of the first lane, which stands for all of them in messages, and returns it. */
static const char *server_of(struct ship *s, char server[static SHIP_ROUTE_SERVER_LEN])
{
	ship_endpoint_server(&s->endpoints.list[0], server);
	return server;
}

static void tell_systemd(struct ship *s, const char *state, const char *why)
{
	char server[SHIP_ROUTE_SERVER_LEN];
	struct shipper_stats stats = {0};

	if (s->shipper)
		shipper_stats(s->shipper, &stats);
	ship_status_tell(&s->status, state, why, server_of(s, server), &stats);
}

/* Removes old batches every SWEEP_MS and logs how many. */
static void sweep_sink(struct ship *s)
{
	uint64_t now = mono_now_ms(), removed;
	struct err err;

	if (s->swept_ms && now - s->swept_ms < SWEEP_MS)
		return;
	s->swept_ms = now ? now : 1;
	if (sink_sweep(s->sink, &s->o->keep, &removed, &err))
		log_warn("%s", err.message);
	if (removed)
		log_info("%" PRIu64 " old batches removed from %s", removed, s->o->out);
}

/* Returns how many ms the bytes sent since sent_before take at the allowed rate, or 0 if there is
 * no limit. */
static uint32_t pace_ms(const struct ship *s, uint64_t sent_before)
{
	uint64_t sent = ship_endpoints_sent_bytes(&s->endpoints) - sent_before;

	return s->o->rate_bytes ? (uint32_t)(sent * 1000 / s->o->rate_bytes) : 0;
}

/* Waits after a failure, or until a service that could not be reached accepts a connection. A
 * service that was reached and failed gets the whole wait. */
static void wait_out(struct ship *s, uint32_t ms, uint32_t random)
{
	struct ship_endpoint *e = ship_endpoints_unreachable(&s->endpoints);
	const uint64_t until = mono_now_ms() + ms;
	bool is_back = false;

	if (!e) {
		ship_pause(ms);
		return;
	}
	for (uint64_t now = mono_now_ms(); !stopping && !hung_up && now < until;
	     now = mono_now_ms()) {
		const uint32_t left = until - now < LOOK_MS ? (uint32_t)(until - now) : LOOK_MS;

		is_back = ship_endpoint_await(e, left);
		/* Signals are delivered only in a pause. */
		if (is_back || ship_endpoint_is_unreachable(e))
			ship_pause(is_back ? random % BACK_OFF_SPREAD_MS : 0);
		else
			ship_pause(left); /* memory was short, so nothing is being tried */
		if (is_back)
			break;
	}
	/* The other endpoints retry at times of their own; until then, a call would only report the
	 * last failure once more. */
	if (is_back)
		ship_endpoints_await(&s->endpoints, RECONNECT_MS);
}

static int open_identity(struct rpc_identity **ret, const struct ship_options *o, struct err *err)
{
	const struct rpc_client_files files = {
		.tls = {o->service.cert, o->service.key, o->service.ca},
		.token_file = o->service.token_file};

	return rpc_identity_new(ret, &files, err);
}

/* Opens what a new configuration names, as run_ship() will, to find its errors. Returns 0 or an
 * error. */
static int check_options(const struct ship_options *o, struct err *err)
{
	_cleanup_(rpc_identity_unrefp) struct rpc_identity *identity = NULL;
	_cleanup_(sink_closep) struct sink *sink = NULL;
	struct ship_route route;

	if (o->once)
		return err_set(err, ERR_USAGE, "once is for a command line");
	TRY(ship_route_init(&route, o->service.server, o->routes, o->cluster, err));
	TRY(open_identity(&identity, o, err));
	TRY(io_check_dir(o->spool, err));
	return sink_open(&sink, o->out, o->kind, NULL, err);
}

/* Returns whether SIGHUP came and there is a valid configuration to start anew with. */
static bool is_reload_due(struct ship *s)
{
	_cleanup_(config_done) struct config config = {0};
	struct ship_options o;
	struct err err;

	if (!hung_up)
		return false;
	hung_up = 0;
	if (!s->start->has_file) {
		log_info("SIGHUP is ignored: there is no file of --config; a routing file is read "
			 "when it changes");
		return false;
	}
	if (ship_options_parse(s->start->argc, s->start->argv, &o, &config, &err) ||
	    check_options(&o, &err)) {
		log_error("%s: nothing is changed", err.message);
		return false;
	}
	log_info("%s was read again", config.path);
	s->is_reloading = true;
	return true;
}

/* Ships batches until a signal comes. */
static void ship_on(struct ship *s)
{
	const struct io *io = io_system();
	struct state state = {0};
	unsigned int failures = 0;
	uint32_t random;

	while (!stopping && !is_reload_due(s)) {
		char server[SHIP_ROUTE_SERVER_LEN];
		uint64_t sent = ship_endpoints_sent_bytes(&s->endpoints);
		struct err err = {0};
		int rc = shipper_step(s->shipper, &err);

		warn_left_segments(s);
		if (rc < 0) {
			/* Nothing is under way now. If the sink cannot be opened, that is the
			 * error to report. */
			(void)sink_reopen(s->sink, &err);
			say_waiting(&state, &err);
			tell_systemd(s, "waiting", err.message);
			sweep_sink(s);
			io->random(io->ctx, &random, sizeof(random));
			wait_out(s,
				 ship_back_off_asked_ms(ship_back_off_ms(++failures, random),
							ship_endpoints_retry_ms(&s->endpoints),
							random),
				 random);
			continue;
		}
		if (rc > 0 || failures) {
			say_shipping(&state, server_of(s, server));
			failures = 0;
		}
		tell_systemd(s, rc ? "shipping" : "idle", NULL);
		sweep_sink(s);
		ship_pause(rc ? pace_ms(s, sent)
			      : (uint32_t)(shipper_due_ns(s->shipper, POLL_MS * NS_PER_MS) /
						   NS_PER_MS +
					   1));
	}
}

/* Ships what is in the spool now. It retries failures until STOP_MS are over, and after a signal it
 * ends then even if all goes well. Returns 0, or an error if samples stay in the spool. */
static int drain_spool(struct ship *s, struct err *err)
{
	uint64_t until = mono_now_ms() + STOP_MS, left;
	int rc;

	shipper_set_timeout(s->shipper, STOP_CALL_MS);
	while ((rc = shipper_step(s->shipper, err)) != 0) {
		tell_systemd(s, rc < 0 ? "waiting" : "shipping", rc < 0 ? err->message : NULL);
		if (rc < 0 && mono_now_ms() + BACK_OFF_FIRST_MS + STOP_CALL_MS >= until)
			break;
		if (rc > 0 && stopping && mono_now_ms() >= until)
			break;
		ship_pause(rc < 0 ? BACK_OFF_FIRST_MS : 0);
	}
	if (!rc || shipper_backlog(s->shipper, &left, NULL) || (rc > 0 && !left))
		return rc < 0 ? rc : 0;
	if (rc > 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "no more time: %" PRIu64 " samples stay in the spool", left);
	return err_prefix(err, "%" PRIu64 " samples stay in the spool", left);
}

/* Gives way to everything else on the host, for nobody waits for a profile. */
static void step_back(int nice_level)
{
	const int who_process = 1, best_effort_last = 2 << 13 | 7;

	if (setpriority(PRIO_PROCESS, 0, nice_level) ||
	    syscall(SYS_ioprio_set, who_process, 0, best_effort_last))
		log_warn("the priority stays as it is");
}

static int open_shipper(struct ship *s, struct err *err)
{
	const struct ship_options *o = s->o;
	void *lanes[SHIP_LANES_MAX];

	for (unsigned int i = 0; i < o->in_flight; i++)
		lanes[i] = &s->endpoints.list[i];
	return shipper_open(&s->shipper,
			    &(struct shipper_options){
				    .spool = o->spool,
				    .sink = s->sink,
				    .call = ship_endpoint_call,
				    .watch = ship_endpoint_watch,
				    .call_ctx = &s->endpoints.list[0],
				    .lane_ctxs = lanes,
				    .lane_count = o->in_flight,
				    .batch_samples = o->batch_samples,
				    .batch_age_ns = o->batch_age_ns,
			    },
			    err);
}

/*
 * Locks the spool, because two shippers would deliver the same samples, each in batches of its own.
 * The lock is on the spool's directory, so it ends with the process. Without --once the shipper
 * waits for another one, which an ended sampler may have left to deliver the rest. Returns 0, also
 * if there is no spool yet, 1 if a signal came first, or an error.
 */
static int take_spool(const struct ship_options *o, int *ret_fd, struct err *err)
{
	_cleanup_(closep) int fd = open(o->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool told = false;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, errno, "%s", o->spool);
	/* If anybody could write there, their samples would be delivered as this host's. */
	if (io_check_writers(fd, o->spool, err))
		return err_prefix(err, "--spool");
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK)
			return err_sys(err, errno, "%s", o->spool);
		if (o->once)
			return err_set(err, ERR_EXISTS,
				       "%s: another shipper delivers from this spool", o->spool);
		if (!told) {
			log_info("waiting: another shipper delivers from this spool");
			unit_notify(UNIT_READY);
		}
		told = true;
		if (stopping)
			return 1;
		ship_pause(POLL_MS);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Ships until it is told to end. Returns 0, 1 if the program is to start anew, or an error. */
static int ship_until_end(struct ship *s, struct err *err)
{
	int rc;

	step_back(s->o->nice_level);
	if (!s->o->once) {
		ship_on(s);
		if (s->is_reloading)
			return 1;
		unit_notify(UNIT_STOPPING);
	}
	shipper_set_hurry(s->shipper);
	rc = drain_spool(s, err);
	warn_left_segments(s);
	if (s->o->once)
		sweep_sink(s);
	if (!rc)
		log_info("%" PRIu64 " samples delivered to %s", shipper_delivered(s->shipper),
			 s->o->out);
	return rc;
}

static int open_and_ship(struct ship *s, struct err *err)
{
	TRY(sink_open(&s->sink, s->o->out, s->o->kind, NULL, err));
	TRY(open_shipper(s, err));
	unit_notify(UNIT_READY);
	return ship_until_end(s, err);
}

/* Opens everything and ships. Returns 0, 1 if the program is to start anew, or an error. */
static int run_ship(const struct ship_options *o, const struct ship_start *start, struct err *err)
{
	struct ship s = {.o = o,
			 .start = start,
			 .status = {.io = io_system(), .spool = o->spool, .metrics = o->metrics}};
	_cleanup_(closep) int spool_fd = -1;
	_cleanup_(rpc_identity_unrefp) struct rpc_identity *identity = NULL;
	struct ship_route route;
	int rc;

	TRY(ship_route_init(&route, o->service.server, o->routes, o->cluster, err));
	TRY(open_identity(&identity, o, err));
	rc = take_spool(o, &spool_fd, err);
	if (rc)
		return rc < 0 ? rc : 0;
	ship_endpoints_init(&s.endpoints, o->in_flight, &route, identity);
	rc = open_and_ship(&s, err);
	if (rc <= 0)
		tell_systemd(&s, "stopped", rc ? err->message : NULL);
	shipper_close(s.shipper);
	sink_close(s.sink);
	ship_endpoints_close(&s.endpoints);
	return rc;
}

/* Makes malloc() give the memory of a delivered batch back to the kernel: large blocks are mappings
 * of their own, and the threads share one heap, whose free end is trimmed. */
static void bound_heap(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct ship_start start = {argc, argv, false};
	_cleanup_(config_done) struct config config = {0};
	struct ship_options o;
	struct err err = {0};
	sigset_t blocked;
	int rc;

	sighup_block();
	log_init("rawstack-ship");
	bound_heap();
	rc = ship_options_parse(argc, argv, &o, &config, &err);
	if (rc > 0)
		return stdout_end(0, &err);
	start.has_file = config.path;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!rc)
		rc = run_ship(&o, &start, &err);
	if (!rc)
		return 0;
	/* Batches that were under way are delivered again, as the spool has no acknowledgement. */
	if (rc > 0) {
		execv("/proc/self/exe", argv);
		rc = err_sys(&err, errno, "cannot start anew");
	}
	log_error("%s", err.message);
	return err_exit_status(rc);
}
