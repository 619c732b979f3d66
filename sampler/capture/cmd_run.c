/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler run: options, and the last line. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "limits.h"
#include "log.h"
#include "sampler_command.h"
#include "session.h"

static const char help[] =
	"usage: rawstack-sampler run --spool DIR [OPTION...]\n"
	"\n"
	"Samples stacks as bare addresses into a spool until SIGTERM or SIGINT comes; SIGHUP does\n"
	"nothing.\n"
	"\n"
	"  --spool DIR          where samples are kept until they are shipped; made if needed; "
	"one\n"
	"                       that everybody may write to is refused, and so is such a DIR of "
	"--out\n"
	"  --hz N               samples a second and CPU, at varying distances, 1 to 10000 [99]\n"
	"  --pid PID[,PID...]   only these processes and what they start\n"
	"  --no-children        with --pid: without what they start\n"
	"  --cgroup PATH        only below this cgroup2 directory; up to 16 times\n"
	"  --all                every process [unless --pid or --cgroup is given]\n"
	"  --comm REGEX         of these, only threads with such a name\n"
	"  --exe REGEX          of these, only programs with such a path\n"
	"  --event WHICH        cpu-clock; cycles, of the processor; auto: cycles where there is\n"
	"                       such a counter [auto]\n"
	"  --services FILE      rules that name services: lines of 'exe|cgroup|unit GLOB NAME'\n"
	"                       [the systemd unit]\n"
	"  --label KEY=VALUE    with every sample; up to 12 times\n"
	"  --duration SECONDS   end after that time\n"
	"  --backend WHICH      bpf; perf: call chains of every process, with CAP_PERFMON alone;\n"
	"                       perf-self: own processes, no privilege; auto: the first of these\n"
	"                       that works here; of those before it, why not [auto]\n"
	"  --maps WHICH         of processes that run already: query, by PROCMAP_QUERY of Linux\n"
	"                       6.11; text, as before; auto: query if there is one [auto]\n"
	"  --ship HOST:PORT     start rawstack-ship beside it, towards this service\n"
	"  --out DIR            where rawstack-ship puts symbolized profiles\n"
	"  --ship-arg ARG       an argument more for rawstack-ship; may be repeated\n"
	"  --spool-size MIB     of all segments together [256]\n"
	"  --segment-size KIB   of one segment [4096]\n"
	"  --spool-age SECONDS  older segments go [604800]\n"
	"  --free-floor MIB     leave so much of the file system free [512]\n"
	"  --stats              print the accounting as JSON when it ends\n"
	"\n"
	"Exit status: 0; 1 when it could not start, or nothing of what was sampled is stored; 2 "
	"for\n"
	"arguments.\n"
	"\n"
	"Needs CAP_BPF and CAP_PERFMON, and CAP_SYSLOG for kernel frames and CAP_SYS_PTRACE for\n"
	"processes of others; gives up everything else. Where kernel.perf_event_paranoid is above "
	"2,\n"
	"as Debian has it, the kernel asks for CAP_SYS_ADMIN too, until all events are open: then\n"
	"user 0 starts it, or a drop-in gives the unit that capability, or the setting is made "
	"2.\n";

enum {
	OPT_SPOOL = 256,
	OPT_HZ,
	OPT_PID,
	OPT_CGROUP,
	OPT_NO_CHILDREN,
	OPT_COMM,
	OPT_EXE,
	OPT_EVENT,
	OPT_SERVICES,
	OPT_LABEL,
	OPT_ALL,
	OPT_DURATION,
	OPT_BACKEND,
	OPT_MAPS,
	OPT_SHIP,
	OPT_OUT,
	OPT_SHIP_ARG,
	OPT_SPOOL_SIZE,
	OPT_SEGMENT_SIZE,
	OPT_SPOOL_AGE,
	OPT_FREE_FLOOR,
	OPT_STATS,
};

static const struct option long_options[] = {
	{"spool", required_argument, NULL, OPT_SPOOL},
	{"hz", required_argument, NULL, OPT_HZ},
	{"pid", required_argument, NULL, OPT_PID},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"no-children", no_argument, NULL, OPT_NO_CHILDREN},
	{"comm", required_argument, NULL, OPT_COMM},
	{"exe", required_argument, NULL, OPT_EXE},
	{"event", required_argument, NULL, OPT_EVENT},
	{"services", required_argument, NULL, OPT_SERVICES},
	{"label", required_argument, NULL, OPT_LABEL},
	{"all", no_argument, NULL, OPT_ALL},
	{"duration", required_argument, NULL, OPT_DURATION},
	{"backend", required_argument, NULL, OPT_BACKEND},
	{"maps", required_argument, NULL, OPT_MAPS},
	{"ship", required_argument, NULL, OPT_SHIP},
	{"out", required_argument, NULL, OPT_OUT},
	{"ship-arg", required_argument, NULL, OPT_SHIP_ARG},
	{"spool-size", required_argument, NULL, OPT_SPOOL_SIZE},
	{"segment-size", required_argument, NULL, OPT_SEGMENT_SIZE},
	{"spool-age", required_argument, NULL, OPT_SPOOL_AGE},
	{"free-floor", required_argument, NULL, OPT_FREE_FLOOR},
	{"stats", no_argument, NULL, OPT_STATS},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct args {
	struct session_options session;
	uint32_t pids[LIMIT_TARGET_PIDS];
	int cgroup_fds[16]; /* as many as the BPF program looks at */
	char labels[4096];  /* with commas between them */
	size_t label_count;
	bool all, stats, help;
};

static int parse_pids(struct args *a, char *list, struct err *err)
{
	size_t *count = &a->session.target.pid_count;

	for (char *at = strtok(list, ","); at; at = strtok(NULL, ",")) {
		uint64_t pid;
		int rc = parse_number("--pid", at, 1, INT32_MAX, &pid, err);

		if (rc)
			return rc;
		if (*count == ARRAY_LEN(a->pids))
			return err_set(err, ERR_USAGE, "--pid: more than %zu processes",
				       ARRAY_LEN(a->pids));
		a->pids[(*count)++] = (uint32_t)pid;
	}
	a->session.target.pids = a->pids;
	return *count ? 0 : err_set(err, ERR_USAGE, "--pid: no process is named");
}

static int parse_duration(struct args *a, const char *text, struct err *err)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0 && seconds < 1e9))
		return err_set(err, ERR_USAGE, "--duration: '%.40s' is not a time in seconds",
			       text);
	a->session.duration_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int parse_backend(struct args *a, const char *text, struct err *err)
{
	for (enum backend_wanted w = BACKEND_WANTED_AUTO; w < BACKEND_WANTED_COUNT; w++) {
		if (strcmp(text, backend_wanted_name(w)))
			continue;
		a->session.backend = w;
		return 0;
	}
	return err_set(err, ERR_USAGE, "--backend: '%.40s' is not auto, bpf, perf or perf-self",
		       text);
}

static int open_cgroup(struct args *a, const char *path, struct err *err)
{
	struct backend_options *t = &a->session.target;
	struct statfs fs;
	int fd;

	if (t->cgroup_count == ARRAY_LEN(a->cgroup_fds))
		return err_set(err, ERR_USAGE, "--cgroup: more than %zu directories",
			       ARRAY_LEN(a->cgroup_fds));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, errno, "--cgroup %s", path);
	if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		close(fd);
		return err_set(err, ERR_USAGE,
			       "--cgroup %s: that is no directory of a cgroup2 file system", path);
	}
	a->cgroup_fds[t->cgroup_count++] = fd;
	t->cgroup_fds = a->cgroup_fds;
	return 0;
}

static int parse_event(struct args *a, const char *text, struct err *err)
{
	static const char *const names[] = {"auto", "cpu-clock", "cycles"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]))
			continue;
		a->session.target.event = (enum backend_event)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "--event: '%.40s' is not auto, cpu-clock or cycles", text);
}

static int add_label(struct args *a, const char *text, struct err *err)
{
	const size_t len = strlen(a->labels), more = strlen(text);
	const char *equals = strchr(text, '=');

	if (!equals || equals == text || strchr(text, ','))
		return err_set(err, ERR_USAGE, "--label: '%.60s' is not KEY=VALUE without a comma",
			       text);
	if (++a->label_count > 12 || len + more + 2 > sizeof(a->labels))
		return err_set(err, ERR_USAGE, "--label: more than 12, or more than 4 KiB");
	snprintf(a->labels + len, sizeof(a->labels) - len, "%s%s", len ? "," : "", text);
	a->session.labels = a->labels;
	return 0;
}

static int parse_one(struct args *a, int option, char *value, struct err *err)
{
	struct session_options *s = &a->session;
	uint64_t n = 0;
	int rc = 0;

	switch (option) {
	case OPT_SPOOL:
		s->spool_dir = value;
		break;
	case OPT_HZ:
		rc = parse_number("--hz", value, 1, 10000, &n, err);
		s->target.hz = (uint32_t)n;
		break;
	case OPT_PID:
		rc = parse_pids(a, value, err);
		break;
	case OPT_CGROUP:
		rc = open_cgroup(a, value, err);
		break;
	case OPT_NO_CHILDREN:
		s->target.with_children = false;
		break;
	case OPT_COMM:
		s->comm = value;
		break;
	case OPT_EXE:
		s->exe = value;
		break;
	case OPT_EVENT:
		rc = parse_event(a, value, err);
		break;
	case OPT_SERVICES:
		s->services = value;
		break;
	case OPT_LABEL:
		rc = add_label(a, value, err);
		break;
	case OPT_ALL:
		a->all = true;
		break;
	case OPT_DURATION:
		rc = parse_duration(a, value, err);
		break;
	case OPT_BACKEND:
		rc = parse_backend(a, value, err);
		break;
	case OPT_MAPS:
		rc = parse_maps(value, &a->session.maps, err);
		break;
	case OPT_SHIP:
		s->ship_server = value;
		break;
	case OPT_OUT:
		s->ship_out = value;
		break;
	case OPT_SHIP_ARG:
		if (s->ship_arg_count == SESSION_SHIP_ARGS)
			return err_set(err, ERR_USAGE, "--ship-arg: more than %d",
				       SESSION_SHIP_ARGS);
		s->ship_args[s->ship_arg_count++] = value;
		break;
	case OPT_SPOOL_SIZE:
		rc = parse_number("--spool-size", value, 1, 1 << 24, &n, err);
		s->limits.total_len = n * MIB;
		break;
	case OPT_SEGMENT_SIZE:
		rc = parse_number("--segment-size", value, 64, 65536, &n, err);
		s->limits.segment_len = n * 1024;
		break;
	case OPT_SPOOL_AGE:
		rc = parse_number("--spool-age", value, 1, 1u << 31, &n, err);
		s->limits.age_ns = n * 1000000000;
		break;
	case OPT_FREE_FLOOR:
		rc = parse_number("--free-floor", value, 1, 1 << 24, &n, err);
		s->limits.free_floor = n * MIB;
		break;
	case OPT_STATS:
		a->stats = true;
		break;
	case 'h':
		a->help = true;
		break;
	default:
		return err_set(err, ERR_USAGE, "see rawstack-sampler run --help");
	}
	return rc;
}

static int check(struct args *a, int rest, struct err *err)
{
	struct session_options *s = &a->session;

	if (rest)
		return err_set(err, ERR_USAGE, "run takes options only");
	if (!s->spool_dir)
		return err_set(err, ERR_USAGE, "--spool DIR is missing");
	if (!s->ship_server != !s->ship_out)
		return err_set(err, ERR_USAGE, "--ship and --out go together");
	if (a->all + (s->target.pid_count > 0) + (s->target.cgroup_count > 0) > 1)
		return err_set(err, ERR_USAGE, "--all, --pid and --cgroup exclude each other");
	return 0;
}

static int parse(struct args *a, int argc, char **argv, struct err *err)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		int rc;

		if (option == '?')
			return err_set(err, ERR_USAGE,
				       "'%.60s' is not understood; see rawstack-sampler run --help",
				       argv[optind - 1]);
		rc = parse_one(a, option, optarg, err);
		if (rc || a->help)
			return rc;
	}
	return check(a, argc - optind, err);
}

static void print_stats(const struct session_stats *s, bool as_json)
{
	const struct backend_stats *b = &s->source;
	char losses[SPOOL_LOSS_COUNT * 48]; /* a name and 20 digits each */
	size_t len = 0;

	if (as_json) {
		printf("{\"backend\":\"%s\",\"runs\":%" PRIu64 ",\"stored\":%" PRIu64
		       ",\"idle\":%" PRIu64 ",\"filtered\":%" PRIu64 ",\"user_frames\":%" PRIu64
		       ",\"losses\":{",
		       s->backend, b->runs, s->stored, b->idle, b->filtered, s->user_frames);
		for (int i = 0; i < SPOOL_LOSS_COUNT; i++)
			printf("%s\"%s\":%" PRIu64, i ? "," : "", spool_loss_name(i), s->losses[i]);
		printf("}}\n");
	}
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

/* Whatever it was lost to. That something was dropped behind it is no failure of the run. */
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

int cmd_run(int argc, char **argv)
{
	struct args a = {
		.session =
			{
				.target = {.hz = 99, .with_children = true},
				.limits = {.age_ns = UINT64_C(604800000000000)},
			},
	};
	struct session_stats stats;
	struct err err;

	if (parse(&a, argc, argv, &err))
		return complain(&err);
	if (a.help) {
		fputs(help, stdout);
		return 0;
	}
	if (session_run(&a.session, &stats, &err))
		return complain(&err);
	print_stats(&stats, a.stats);
	return check_kept(&stats, &err) ? complain(&err) : 0;
}
