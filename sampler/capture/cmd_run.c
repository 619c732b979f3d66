/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler run: parses options, runs a session, and logs its statistics. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "config.h"
#include "config_check.h"
#include "json.h"
#include "limits.h"
#include "log.h"
#include "number.h"
#include "options.h"
#include "sampler_command.h"
#include "session.h"
#include "stdout_end.h"
#include "targets.h"

/* Most processes named with --pid: the size of the set in the kernel. */
#define LIMIT_TARGET_PIDS LIMIT(1024)

struct args {
	struct session_options session;
	uint32_t pids[LIMIT_TARGET_PIDS];
	int cgroup_fds[16]; /* as many as the BPF program checks */
	char labels[4096];  /* separated by commas */
	size_t label_count;
	bool all, stats;
};

static int add_pids(void *at, const char *option, const char *argument, struct err *err)
{
	struct args *a = at;
	size_t *count = &a->session.target.pid_count;
	const char *p = argument;
	uint64_t pid;

	do {
		if (!number_take(&p, 10, &pid) || (*p && *p != ',') || !pid || pid > INT32_MAX)
			return err_set(err, ERR_USAGE,
				       "%s %.60s is not a number from 1 to %d, or several with "
				       "commas between them",
				       option, argument, INT32_MAX);
		if (*count == ARRAY_LEN(a->pids))
			return err_set(err, ERR_USAGE, "%s: more than %zu processes", option,
				       ARRAY_LEN(a->pids));
		a->pids[(*count)++] = (uint32_t)pid;
	} while (*p++);
	return 0;
}

static int set_duration(void *at, const char *option, const char *argument, struct err *err)
{
	struct args *a = at;
	double seconds;

	if (!number_read_real(argument, &seconds) || !(seconds > 0 && seconds < 1e9))
		return err_set(err, ERR_USAGE, "%s %.40s is not a time in seconds", option,
			       argument);
	a->session.duration_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int open_cgroup(void *at, const char *option, const char *path, struct err *err)
{
	struct args *a = at;
	struct backend_options *t = &a->session.target;
	struct statfs fs;
	int fd;

	if (t->cgroup_count == ARRAY_LEN(a->cgroup_fds))
		return err_set(err, ERR_USAGE, "%s: more than %zu directories", option,
			       ARRAY_LEN(a->cgroup_fds));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "%s %s", option, path);
	if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		close(fd);
		return err_set(err, ERR_USAGE,
			       "%s %s: that is no directory of a cgroup2 file system", option,
			       path);
	}
	a->cgroup_fds[t->cgroup_count++] = fd;
	t->cgroup_fds = a->cgroup_fds;
	return 0;
}

static int add_run_label(void *at, const char *option, const char *text, struct err *err)
{
	struct args *a = at;
	const size_t len = strlen(a->labels), more = strlen(text);
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || strchr(text, ','))
		return err_set(err, ERR_USAGE, "%s %.60s is not KEY=VALUE without a comma", option,
			       text);
	if (++a->label_count > 12 || len + more + 2 > sizeof(a->labels))
		return err_set(err, ERR_USAGE, "%s: more than 12, or more than 4 KiB", option);
	snprintf(a->labels + len, sizeof(a->labels) - len, "%s%s", len ? "," : "", text);
	a->session.labels = a->labels;
	return 0;
}

#define NS_PER_S UINT64_C(1000000000)

static const char *const event_words[] = {"auto", "cpu-clock", "cycles", NULL};

static const struct option_row rows[] = {
	OPTION_TEXT(0, "spool", "DIR", struct args, session.spool_dir,
		    "where samples are kept until they are shipped; made if needed; one that "
		    "everybody may write to is refused, and so is such a DIR of --out"),
	OPTION_NUMBER(0, "hz", "N", struct args, session.target.hz, 1, 10000, 1,
		      "samples a second and CPU, at varying distances, 1 to 10000 [99]"),
	OPTION_CALL(0, "pid", "PID[,PID...]", add_pids, "only these processes and what they start"),
	OPTION_SET(0, "no-children", struct args, session.target.with_children, false,
		   "with --pid: without what they start"),
	OPTION_CALL(0, "cgroup", "PATH", open_cgroup,
		    "only below this cgroup2 directory; up to 16 times"),
	OPTION_FLAG(0, "all", struct args, all,
		    "every process [unless --pid or --cgroup is given]"),
	OPTION_TEXT(0, "comm", "REGEX", struct args, session.comm,
		    "of these, only threads with such a name"),
	OPTION_TEXT(0, "exe", "REGEX", struct args, session.exe,
		    "of these, only programs with such a path"),
	OPTION_WORD(0, "event", "WHICH", struct args, session.target.event, event_words,
		    "cpu-clock; cycles, of the processor; auto: cycles where there is such a "
		    "counter [auto]"),
	OPTION_TEXT(0, "services", "FILE", struct args, session.services,
		    "rules that name services: lines of 'exe|cgroup|unit GLOB NAME' [the systemd "
		    "unit]"),
	OPTION_CALL(0, "label", "KEY=VALUE", add_run_label, "with every sample; up to 12 times"),
	OPTION_CALL(0, "duration", "SECONDS", set_duration, "end after that time"),
	OPTION_WORD(0, "backend", "WHICH", struct args, session.backend, backend_wanted_words,
		    "bpf; perf: call chains of every process, with CAP_PERFMON alone; perf-self: "
		    "own processes, no privilege; auto: the first of these that works here; of "
		    "those before it, why not [auto]"),
	OPTION_WORD(0, "maps", "WHICH", struct args, session.maps, maps_words,
		    "of processes that run already: query, by PROCMAP_QUERY of Linux 6.11; text, "
		    "as before; auto: query if there is one [auto]"),
	OPTION_TEXT(
		0, "ship", "HOST:PORT,...", struct args, session.ship_server,
		"start rawstack-ship beside it, towards this service; several as for its --server"),
	OPTION_TEXT(0, "out", "DIR", struct args, session.ship_out,
		    "where rawstack-ship puts symbolized profiles"),
	OPTION_LIST(0, "ship-arg", "ARG", struct args, session.ship_args, session.ship_arg_count,
		    SESSION_SHIP_ARGS, "an argument more for rawstack-ship; may be repeated"),
	OPTION_NUMBER(0, "spool-size", "MIB", struct args, session.limits.total_len, 1, 1 << 24,
		      MIB, "of all segments together [256]"),
	OPTION_NUMBER(0, "segment-size", "KIB", struct args, session.limits.segment_len, 64, 65536,
		      1024, "of one segment [4096]"),
	OPTION_NUMBER(0, "spool-age", "SECONDS", struct args, session.limits.age_ns, 1, 1u << 31,
		      NS_PER_S, "older segments go [604800]"),
	OPTION_NUMBER(0, "free-floor", "MIB", struct args, session.limits.free_floor, 1, 1 << 24,
		      MIB, "leave so much of the file system free [512]"),
	OPTION_FLAG(0, "stats", struct args, stats, "print the accounting as JSON when it ends"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-sampler run",
	.synopsis = "[--config FILE] [--spool DIR] [OPTION...]",
	.about = "Samples stacks as bare addresses into a spool until SIGTERM or SIGINT comes; "
		 "SIGHUP does nothing.",
	.rows = rows,
	.operands_wanted = "run takes options only",
	.config = &(const struct option_config){.prefix = "RAWSTACK_SAMPLER_"},
	.notes =
		"The unit reads /etc/rawstack/sampler.conf. The variable of the option "
		"--spool-size is "
		"RAWSTACK_SAMPLER_SPOOL_SIZE.\n"
		"\n"
		"Exit status: 0; 1 when it could not start, or nothing of what was sampled is "
		"stored; 2 for arguments.\n"
		"\n"
		"Needs CAP_BPF and CAP_PERFMON, and CAP_SYSLOG for kernel frames and "
		"CAP_SYS_PTRACE for processes of others; gives up everything else. Where "
		"kernel.perf_event_paranoid is above 2, as Debian has it, the kernel asks for "
		"CAP_SYS_ADMIN too, until all events are open: then user 0 starts it, or a drop-in "
		"gives the unit that capability, or the setting is made 2.",
};

/* Checks what the values lead to, so that an error names the line that has the value. */
static int check_run_values(const struct session_options *s, const struct config *c,
			    struct err *err)
{
	const struct config_named spool = {"spool", s->spool_dir}, out = {"out", s->ship_out};
	const struct config_named services = {"services", s->services};
	const struct config_named server = {"ship", s->ship_server};

	if (s->comm && targets_check(s->comm, err))
		return config_blame(c, &usage, "comm", err);
	if (s->exe && targets_check(s->exe, err))
		return config_blame(c, &usage, "exe", err);
	TRY(config_check_dir(c, &usage, &spool, err));
	TRY(config_check_file(c, &usage, &services, err));
	TRY(config_check_servers(c, &usage, &server, err));
	return config_check_dir(c, &usage, &out, err);
}

static int check_args(struct args *a, const struct config *c, struct err *err)
{
	struct session_options *s = &a->session;

	s->target.pids = a->pids;
	if (!s->spool_dir)
		return options_refuse(&usage, err, "--spool DIR is missing");
	if (!s->ship_server != !s->ship_out)
		return options_refuse(&usage, err, "--ship and --out go together");
	if (a->all + (s->target.pid_count > 0) + (s->target.cgroup_count > 0) > 1)
		return options_refuse(&usage, err, "--all, --pid and --cgroup exclude each other");
	return check_run_values(s, c, err);
}

static void print_run_stats(const struct session_stats *s)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(8192);

	json_open(&out, '{');
	json_key_cstr(&out, "backend", s->backend);
	json_key_unsigned(&out, "runs", s->source.runs);
	json_key_unsigned(&out, "stored", s->stored);
	json_key_unsigned(&out, "idle", s->source.idle);
	json_key_unsigned(&out, "filtered", s->source.filtered);
	json_key_unsigned(&out, "user_frames", s->user_frames);
	losses_put_json(&out, "losses", s->losses);
	json_close(&out, '}');
	buf_str(&out, "\n");
	stdout_put(&out);
}

static void log_run_stats(const struct session_stats *s)
{
	const struct backend_stats *b = &s->source;
	char losses[SPOOL_LOSS_COUNT * 48]; /* room for a name and 20 digits each */
	size_t len = 0;

	for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
		if (spool_loss_is_of_samples(i))
			len += (size_t)snprintf(losses + len, sizeof(losses) - len, ", %s %" PRIu64,
						spool_loss_name(i), s->losses[i]);
	log_info("%s: %" PRIu64 " samples stored of %" PRIu64 " ticks, idle %" PRIu64
		 ", filtered %" PRIu64 "%s; records of mappings lost %" PRIu64
		 "; frames without a module %" PRIu64 " (unreadable %" PRIu64 ")",
		 s->backend, s->stored, b->runs, b->idle, b->filtered, losses,
		 s->losses[SPOOL_LOSS_PERF_LOST], s->losses[SPOOL_LOSS_UNRESOLVED],
		 s->losses[SPOOL_LOSS_UNREADABLE]);
}

/* Returns ERR_IO if samples were taken but none is stored, else 0. It is no failure of the run if
 * stored samples were dropped later. */
static int check_kept(const struct session_stats *s, struct err *err)
{
	const struct backend_stats *b = &s->source;
	const uint64_t taken = b->runs - b->idle - b->filtered;
	const char *why = s->why.code ? s->why.message : "see the losses above";

	if (s->losses[SPOOL_LOSS_SPOOL_DROPPED])
		log_warn("%" PRIu64 " samples were stored and dropped again, not shipped, for the "
			 "limits of the "
			 "spool",
			 s->losses[SPOOL_LOSS_SPOOL_DROPPED]);
	if (taken <= s->stored)
		return 0;
	if (!s->stored)
		return err_set(err, ERR_IO, "none of %" PRIu64 " samples is stored: %s", taken,
			       why);
	log_warn("%" PRIu64 " of %" PRIu64 " samples are not stored%s%s", taken - s->stored, taken,
		 s->why.code ? ": " : "", s->why.code ? why : "");
	return 0;
}

static int run_sampling(int argc, char **argv, struct err *err)
{
	struct args a = {
		.session =
			{
				.target = {.hz = 99, .with_children = true},
				.limits = {.segment_len = SPOOL_SEGMENT_LEN,
					   .total_len = SPOOL_TOTAL_LEN,
					   .age_ns = 604800 * NS_PER_S,
					   .free_floor = SPOOL_FREE_FLOOR},
			},
	};
	_cleanup_(config_done) struct config config = {0};
	struct session_stats stats;

	TRY(config_parse(&usage, argc, argv, &a, &config, err));
	TRY(check_args(&a, &config, err));
	TRY(config_answer(&config, &usage, &a, err));
	TRY(session_run(&a.session, &stats, err));
	if (a.stats)
		print_run_stats(&stats);
	log_run_stats(&stats);
	return check_kept(&stats, err);
}

const struct command cmd_run = {
	.usage = &usage,
	.run = run_sampling,
	.summary = "sample this machine into a spool, and ship it",
};
