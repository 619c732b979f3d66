/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "capabilities.h"
#include "child_ship.h"
#include "descriptors.h"
#include "heap.h"
#include "io.h"
#include "limits.h"
#include "log.h"
#include "normalise.h"
#include "poll_timer.h"
#include "procscan.h"
#include "run_log.h"
#include "spool_zstd.h"
#include "thread_clock.h"
#include "unit_notify.h"

/* Most processes that are named or were started by these before the session. */
#define LIMIT_CHILDREN LIMIT(8192)

#define SHIP_FINISH_NS UINT64_C(30000000000)

/* The heap's rooms: bytes for each tick in a second, and at most. The first is what tables take on
 * a host that does little besides the sampled work, the second after minutes on a busy one. */
#define HEAP_QUIET_HZ_LEN LIMIT(8192)
#define HEAP_QUIET_LEN    (2 * MIB)
#define HEAP_BUSY_HZ_LEN  LIMIT(65536)
#define HEAP_BUSY_LEN     (16 * MIB)

struct session {
	const struct session_options *options;
	const struct io *io;
	const struct backend *backend;
	void *source;
	struct spool_writer *spool;
	struct events events;
	struct normaliser normaliser;
	struct heap heap;
	struct child_ship ship;
	int signal_fd;
	struct poll_timer poll_timer;
	struct run_log log;
	size_t handled; /* events of the last round */
	uint32_t cpu_count;
};

/* --- where the samples come from ------------------------------------------------------------- */

static void read_kernel_id(const char *path, uint8_t id[static 16])
{
	if (!io_read_id(path, id))
		io_system()->random(NULL, id, 16);
}

static void fill_origin(struct spool_origin *o, const struct session *s)
{
	*o = (struct spool_origin){
		.period_ns = s->backend->period ? s->backend->period(s->source)
						: 1000000000 / s->options->target.hz,
		.cpu_count = (uint32_t)get_nprocs(),
	};
	read_kernel_id("/etc/machine-id", o->host_id);
	read_kernel_id(IO_BOOT_ID, o->boot_id);
	if (gethostname(o->host_name, sizeof(o->host_name) - 1))
		strcpy(o->host_name, "unknown");
	snprintf(o->event, sizeof(o->event), "%s", s->backend->event(s->source));
	snprintf(o->backend, sizeof(o->backend), "%s", s->backend->name);
}

static void say_backend(const char *line)
{
	log_warn("backend %s", line);
}

static int open_backend(struct session *s, struct err *err)
{
	const struct session_options *o = s->options;

	return backend_choose(&s->backend, &s->source, o->backend, &o->target, say_backend, err);
}

static int scan_process(void *arg, uint32_t pid, struct modules *modules, size_t most,
			struct procscan *ret)
{
	const struct session_options *o = arg;

	return procscan_read(pid, o->maps, modules, most, ret);
}

static int ask_id(void *arg, uint32_t tid, const struct mapping *m, uint64_t pc,
		  struct build_id *ret)
{
	const struct session_options *o = arg;

	return procscan_id(tid, o->maps, m, pc, ret);
}

static int check_mappings(void *arg, uint32_t tid, const struct mappings *maps)
{
	const struct session_options *o = arg;

	return procscan_check(tid, o->maps, maps);
}

static int find_mapping(void *arg, uint32_t tid, struct modules *modules, struct mappings **maps,
			const uint64_t *pcs, size_t count)
{
	const struct session_options *o = arg;

	return procscan_find(tid, o->maps, modules, maps, pcs, count);
}

static uint64_t session_cpu_ns(void *arg _unused_)
{
	return thread_cpu_ns();
}

static uint64_t session_now_ns(void *arg _unused_)
{
	return io_mono_ns();
}

/* Adds children that started before the kernel was asked to report them. */
static void add_children(struct session *s)
{
	const struct backend_options *t = &s->options->target;
	_cleanup_(freep) uint32_t *pids = NULL;
	size_t count;

	if (!t->with_children || !t->pid_count || !s->backend->add_pid)
		return;
	pids = calloc(LIMIT_CHILDREN, sizeof(*pids));
	if (!pids)
		return;
	memcpy(pids, t->pids, t->pid_count * sizeof(*pids));
	count = targets_add_children(pids, t->pid_count, LIMIT_CHILDREN);
	for (size_t i = t->pid_count; i < count; i++)
		s->backend->add_pid(s->source, pids[i]);
}

/* --- the loop -------------------------------------------------------------------------------- */

static void state_losses(struct session *s)
{
	struct backend_stats b;

	s->backend->stats(s->source, &b);
	spool_writer_loss(s->spool, SPOOL_LOSS_RING_FULL, b.ring_full);
	spool_writer_loss(s->spool, SPOOL_LOSS_STACK_FAULT, b.stack_fault);
	spool_writer_loss(s->spool, SPOOL_LOSS_PERF_LOST, b.perf_lost);
	spool_writer_loss(s->spool, SPOOL_LOSS_THROTTLED, b.throttled);
	spool_writer_loss(s->spool, SPOOL_LOSS_UNRESOLVED, s->normaliser.unresolved);
	spool_writer_loss(s->spool, SPOOL_LOSS_MISSED, b.missed);
	spool_writer_loss(s->spool, SPOOL_LOSS_UNREADABLE, s->normaliser.unreadable);
}

static void poll_once(struct session *s, bool is_last)
{
	const struct event *e;
	uint64_t now = s->io->mono_ns(s->io->ctx), dropped;
	enum spool_drop_reason reason;
	struct err err;

	s->handled = 0;
	s->backend->poll(s->source, &s->events);
	state_losses(s);
	normalise_begin(&s->normaliser, now);
	while ((e = events_next(&s->events, is_last ? UINT64_MAX : now - EVENTS_GRACE_NS))) {
		normalise_event(&s->normaliser, e);
		s->handled++;
	}
	events_compact(&s->events);
	normalise_poll(&s->normaliser, now, is_last);
	procs_poll(&s->normaliser.procs, now);
	if (spool_writer_flush(s->spool, &err))
		log_warn("%s; sampling goes on, what cannot be stored is counted", err.message);
	dropped = spool_writer_dropped(s->spool, &reason);
	run_log_dropped(&s->log, dropped, reason, now);
	heap_poll(&s->heap);
}

static void poll_ship(struct session *s)
{
	const uint64_t now = s->io->mono_ns(s->io->ctx);
	struct err err;
	int status, rc;

	if (!s->options->ship_server)
		return;
	rc = child_ship_poll(&s->ship, now, &status, &err);
	if (rc < 0)
		log_warn("%s", err.message);
	if (rc <= 0)
		return;
	spool_writer_ship_ended(s->spool, status);
	run_log_ship_ended(&s->log, status, now);
}

/* Logs ignored SIGHUPs. A closing terminal, or a SIGHUP meant as a reload, ends no daemon. */
static void tell_hangups(struct session *s)
{
	if (s->poll_timer.hangups)
		log_info("SIGHUP is ignored: options take a restart");
	s->poll_timer.hangups = 0;
}

static void capture_loop(struct session *s)
{
	uint64_t now = s->io->mono_ns(s->io->ctx);
	uint64_t end = s->options->duration_ns ? now + s->options->duration_ns : 0;
	struct poll_round round = {.most_ns = s->backend->poll_ns};
	struct unit_watchdog watchdog;

	unit_watchdog_init(&watchdog);
	do {
		round.start_ns = s->io->mono_ns(s->io->ctx);
		unit_watchdog_feed(&watchdog, round.start_ns);
		poll_once(s, false);
		poll_ship(s);
		/* Ticks are lost during rest(), so it is not called while this process works, which
		 * would hide that work. */
		if (s->backend->rest)
			s->backend->rest(s->source);
		round.handled = s->handled;
		round.is_pending = normalise_is_waiting(&s->normaliser);
		tell_hangups(s);
	} while (!poll_timer_wait(&s->poll_timer, &round, end));
}

/* --- start and stop -------------------------------------------------------------------------- */

/* Creates the shipper's output directory, because the shipper has no capabilities to do so. Returns
 * 0 or an error, also if the directory is not safe. */
static int make_out_dir(const char *dir, struct err *err)
{
	if (mkdir(dir, 0755) && errno != EEXIST)
		return err_sys(err, errno, "--out %s", dir);
	return io_check_dir(dir, err) ? err_prefix(err, "--out") : 0;
}

/* Opens the spool, but refuses a directory that everybody may write to: others could put segments
 * there, which would be shipped as this host's, or hold the lock. Returns 0 or an error. */
static int open_session_spool(struct session *s, const struct spool_origin *origin, struct err *err)
{
	const struct session_options *o = s->options;

	if (io_check_dir(o->spool_dir, err))
		return err_prefix(err, "--spool");
	return spool_writer_open(&s->spool, o->spool_dir, &o->limits, origin, NULL, err);
}

static int check_targets(const struct backend_options *t, struct err *err)
{
	for (size_t i = 0; i < t->pid_count; i++)
		if (kill((pid_t)t->pids[i], 0) && errno == ESRCH)
			return err_set(err, ERR_NOT_FOUND, "process %u is not running", t->pids[i]);
	return 0;
}

static int init_kernel(struct session *s, struct err *err)
{
	uint64_t text = 0, etext = 0;

	if (!s->backend->find_text || s->backend->find_text(s->source, &text, &etext))
		text = etext = 0;
	return kernel_map_init(&s->normaliser.kernel, text, etext, s->io->mono_ns(s->io->ctx), err);
}

static void settle_heap(struct session *s)
{
	const uint64_t hz = s->options->target.hz;
	const uint64_t quiet = hz * HEAP_QUIET_HZ_LEN, busy = hz * HEAP_BUSY_HZ_LEN;

	heap_prefault(&s->heap, quiet < HEAP_QUIET_LEN ? quiet : HEAP_QUIET_LEN,
		      busy < HEAP_BUSY_LEN ? busy : HEAP_BUSY_LEN);
}

static int prepare_session(struct session *s, struct err *err)
{
	const struct session_options *o = s->options;
	struct spool_origin origin;
	struct err warning;

	TRY(check_targets(&o->target, err));
	TRY(targets_init(&s->normaliser.targets, o->comm, o->exe, err));
	TRY(services_init(&s->normaliser.services, o->services, err));
	settle_heap(s);
	spool_packer_settle();
	TRY(open_backend(s, err));
	fill_origin(&origin, s);
	s->cpu_count = origin.cpu_count ? origin.cpu_count : 1;
	TRY(open_session_spool(s, &origin, err));
	if (o->ship_server) {
		TRY(make_out_dir(o->ship_out, err));
		TRY(child_ship_init(&s->ship, o->spool_dir, o->ship_server, o->ship_out,
				    o->ship_args, err));
	}
	s->normaliser.spool = s->spool;
	if (s->backend->has_kernel && init_kernel(s, &warning))
		log_warn("%s", warning.message);
	s->normaliser.labels = o->labels;
	cgroups_init(&s->normaliser.cgroups, s->io->mono_ns(s->io->ctx));
	add_children(s);
	/* The other capabilities can go now: the spool is open, BPF is loaded, and all events are
	 * open, for which kernel.perf_event_paranoid may ask for CAP_SYS_ADMIN. */
	TRY(capabilities_keep_sampling(err));
	return spool_writer_detach(s->spool, err);
}

static void fill_stats(struct session *s, struct session_stats *ret)
{
	*ret = (struct session_stats){
		.backend = s->backend->name,
		.user_frames = s->normaliser.user_frames,
		.unresolved = s->normaliser.unresolved,
	};
	s->backend->stats(s->source, &ret->source);
	ret->source.filtered += s->normaliser.filtered;
	ret->source.stored -= s->normaliser.filtered;
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		ret->losses[i] = spool_writer_lost(s->spool, i);
	ret->stored = s->normaliser.samples - ret->losses[SPOOL_LOSS_SPOOL_ERROR];
}

static void finish_session(struct session *s, struct session_stats *ret)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	struct err err;

	s->backend->stop(s->source);
	normalise_end(&s->normaliser);
	poll_once(s, false);
	/* Wait for answers of the helper to late requests, at most as long as a sample waits. */
	for (int i = 0; i < 40 && (normalise_is_waiting(&s->normaliser) ||
				   wanted_segments_are_asked(&s->normaliser.wanted));
	     i++) {
		nanosleep(&moment, NULL);
		poll_once(s, false);
	}
	poll_once(s, true);
	spool_writer_end(s->spool);
	fill_stats(s, ret);
	(void)spool_writer_why(s->spool, &ret->why);
	spool_writer_close(TAKE_PTR(s->spool));
	if (!s->options->ship_server)
		return;
	if (child_ship_finish(&s->ship, SHIP_FINISH_NS, &err))
		log_warn("%s", err.message);
	child_ship_done(&s->ship);
}

/* Drops pending signals, which were meant for this run. */
static void drop_signals(struct session *s)
{
	poll_timer_read_signals(s->signal_fd, &s->poll_timer.hangups);
	poll_timer_close(&s->poll_timer);
	closep(&s->signal_fd);
}

/* Starts the helper process (file_ids_init()) first, while there is little that it inherits: each
 * page that it shares is copied when one of the two writes to it. */
static void init_session(struct session *s)
{
	struct procs_source source = {
		.scan = scan_process,
		.id = ask_id,
		.check = check_mappings,
		.find = find_mapping,
		.cpu_ns = session_cpu_ns,
		.now_ns = session_now_ns,
		.ctx = (void *)(uintptr_t)s->options,
	};
	struct file_ids ids;
	struct err warning;

	if (file_ids_init(&ids, s->io->mono_ns(s->io->ctx), &warning))
		log_warn("%s", warning.message);
	events_init(&s->events);
	normalise_init(&s->normaliser, NULL, &source, &s->events);
	s->normaliser.ids = ids;
}

static int begin_rounds(struct session *s, struct err *err)
{
	const int ring_fd = s->backend->wait_fd ? s->backend->wait_fd(s->source) : -1;

	return poll_timer_open(&s->poll_timer, s->signal_fd, ring_fd, s->cpu_count,
			       s->io->mono_ns(s->io->ctx), err);
}

static int run_session(struct session *s, struct session_stats *ret, struct err *err)
{
	TRY(prepare_session(s, err));
	TRY(begin_rounds(s, err));
	TRY(s->backend->start(s->source, err));
	unit_notify(UNIT_READY);
	capture_loop(s);
	unit_notify(UNIT_STOPPING);
	finish_session(s, ret);
	return 0;
}

static void done_session(struct session *s)
{
	spool_writer_close(s->spool);
	normalise_done(&s->normaliser);
	if (s->source)
		s->backend->close(s->source);
	events_done(&s->events);
}

int session_run(const struct session_options *options, struct session_stats *ret, struct err *err)
{
	/* The session is large, and calloc() leaves its pages untouched. */
	_cleanup_(freep) struct session *s = calloc(1, sizeof(*s));
	sigset_t ends, before;
	int rc;

	if (!s)
		return err_no_memory(err);
	s->options = options;
	s->io = io_system();
	s->poll_timer = (struct poll_timer)POLL_TIMER_INIT;
	/* Signals are blocked from the start, so that an early one ends the first wait. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGCHLD);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	s->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0) {
		rc = err_sys(err, errno, "waiting for signals");
	} else {
		descriptors_raise();
		init_session(s);
		rc = run_session(s, ret, err);
		done_session(s);
		drop_signals(s);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}
