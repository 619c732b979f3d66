/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler doctor. It finds out everything by trial, because versions and configurations do
 * not tell what works. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "buf.h"
#include "capabilities.h"
#include "cgroups.h"
#include "doctor_report.h"
#include "io.h"
#include "json.h"
#include "kernel_map.h"
#include "limits.h"
#include "log.h"
#include "options.h"
#include "perf_rights.h"
#include "perf_ring.h"
#include "procscan.h"
#include "sampler_command.h"
#include "session.h"
#include "stdout_end.h"
#include "utf8.h"

enum {
	ROWS_MAX = 20
};

/* The options, and the result: it is printed as text at once, or as one JSON object at the end. */
struct doctor {
	bool as_json;
	enum procscan_way maps;
	uint64_t duration_ns;
	struct buf json;
};

static const struct option_row option_rows[] = {
	OPTION_NUMBER(0, "seconds", "N", struct doctor, duration_ns, 1, 3600, 1000000000,
		      "how long to sample [5]"),
	OPTION_FLAG(0, "json", struct doctor, as_json, "one object"),
	OPTION_WORD(0, "maps", "WHICH", struct doctor, maps, maps_words,
		    "as of `rawstack-sampler run`"),
	OPTION_END,
};

static const struct option_usage usage = {
	.name = "rawstack-sampler doctor",
	.synopsis = "[--seconds N] [--json] [--maps WHICH]",
	.about =
		"Says what can be sampled on this machine, and what is in the way: of a "
		"kernel.perf_event_paranoid that is above 2 also the two ways out. Tries it into a "
		"spool that is removed again, says which backend `run` takes, and lists the "
		"binaries that cut stacks short, with their share of samples: these were compiled "
		"without frame pointers (-fno-omit-frame-pointer keeps them).",
	.rows = option_rows,
	.operands_wanted = "doctor takes options only",
	.notes = "Exit status: 0 every process can be sampled; 1 it cannot; 2 usage.",
};

static void tell_text(struct doctor *d, const char *key, const char *label, const char *value)
{
	if (d->as_json)
		json_key_cstr(&d->json, key, value);
	else
		printf("%-44s %s\n", label, value);
}

static void tell_check(void *arg, const char *what, bool ok, const char *why)
{
	struct doctor *d = arg;

	if (!d->as_json) {
		printf("%-44s %s%s%s\n", what, ok ? "yes" : "no", *why ? ": " : "", why);
		return;
	}
	json_open(&d->json, '{');
	json_key_cstr(&d->json, "what", what);
	json_key_bool(&d->json, "ok", ok);
	if (*why)
		json_key_cstr(&d->json, "why", why);
	json_close(&d->json, '}');
}

/* --- the kernel ------------------------------------------------------------------------------ */

static void check_capabilities(struct doctor *d)
{
	static const struct {
		int capability;
		const char *name, *why;
	} rows[] = {
		{CAP_BPF, "CAP_BPF", "without it no backend bpf"},
		{CAP_PERFMON, "CAP_PERFMON", "without it own processes only"},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
		 "without it files of others without a build id stay unresolved, and on older "
		 "kernels all that others had mapped before sampling began"},
		{CAP_SYSLOG, "CAP_SYSLOG", "without it kernel frames stay unresolved"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const bool have = capabilities_have(rows[i].capability);

		tell_check(d, rows[i].name, have, have ? "" : rows[i].why);
	}
}

static void tell_settings(struct doctor *d)
{
	static const char *const names[] = {"perf_event_paranoid", "perf_event_max_stack",
					    "kptr_restrict", "unprivileged_bpf_disabled"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(freep) uint8_t *text = NULL;
		char path[80];
		size_t len;

		snprintf(path, sizeof(path), "/proc/sys/kernel/%s", names[i]);
		if (io_read_file(path, 256, &text, &len, NULL) == 0)
			text[strcspn((const char *)text, "\n")] = 0;
		tell_text(d, names[i], path + strlen("/proc/sys/"),
			  text ? (const char *)text : "not there");
	}
}

static void check_procmap(struct doctor *d)
{
	struct modules modules;
	struct procscan found = {.maps = NULL};
	static const char what[] = "build ids of running processes";

	if (d->maps == PROCSCAN_TEXT) {
		tell_check(d, what, false, "--maps text: their files are read instead");
		return;
	}
	modules_init(&modules);
	if (procscan_read((uint32_t)getpid(), PROCSCAN_IOCTL, &modules, LIMIT_PROC_MAPPINGS,
			  &found)) {
		tell_check(d, what, false,
			   "no PROCMAP_QUERY (Linux 6.11): their files are read instead");
	} else {
		tell_check(d, what, true, "");
		mappings_unref(found.maps);
		module_unref(found.exe);
	}
	modules_done(&modules);
}

static void check_kernel(struct doctor *d)
{
	struct kernel_map *k = calloc(1, sizeof(*k));
	struct cgroups *c = calloc(1, sizeof(*c));
	struct err err = {.message = ""};
	int rc;

	if (k && c) {
		rc = kernel_map_init(k, 0, 0, 0, &err);
		tell_check(d, "kernel frames", !rc, rc ? err.message : "");
		cgroups_init(c, 0);
		tell_check(d, "names of cgroups", c->count,
			   c->count ? "" : "no cgroup2 file system is mounted");
		kernel_map_done(k);
		cgroups_done(c);
	}
	free(k);
	free(c);
}

/* Tries to open an event with the four capabilities that the unit has, in a child process that
 * gives up all others. Returns 0 or a negative errno. */
static int try_as_unit(void)
{
	struct err err;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(capabilities_keep_sampling(&err) ? EPERM : -perf_try_cpu());
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECANCELED;
}

/* Checks what kernel.perf_event_paranoid permits. It tries without CAP_SYS_ADMIN, which opens every
 * event and which the unit does not have. */
static void check_paranoid(struct doctor *d)
{
	const char *what = "events without CAP_SYS_ADMIN, as in the unit";
	char why[320];
	int rc, level;

	rc = capabilities_have(CAP_SYS_ADMIN) ? try_as_unit() : perf_try_cpu();
	if (!rc) {
		tell_check(d, what, true, "");
	} else if ((rc == -EACCES || rc == -EPERM) && perf_rights_paranoid(&level) && level > 2) {
		snprintf(why, sizeof(why),
			 "kernel.perf_event_paranoid is %d: set it to 2 (sysctl.d), or give the "
			 "unit CAP_SYS_ADMIN by a drop-in",
			 level);
		tell_check(d, what, false, why);
	} else {
		tell_check(d, what, false, strerror(-rc));
	}
}

static int try_backend(const struct backend *b, const struct backend_options *options,
		       struct err *err)
{
	void *self;
	int rc;

	TRY(b->open(&self, options, err));
	rc = b->start(self, err);
	b->stop(self);
	b->close(self);
	return rc;
}

/* Returns whether a backend works. With a pid, it also tries what is only for children; 0: none. */
static bool check_backend(struct doctor *d, const struct backend *b, uint32_t pid)
{
	const struct backend_options options = {
		.hz = 99,
		.pids = &pid,
		.pid_count = pid != 0,
		.with_children = true,
	};
	struct err err = {.message = ""};
	char what[64];
	int rc = try_backend(b, &options, &err);

	snprintf(what, sizeof(what), "backend %s%s", b->name, pid ? ", one process" : "");
	tell_check(d, what, !rc, rc ? err.message : "");
	return !rc;
}

/* --- samples --------------------------------------------------------------------------------- */

static void print_doctor_report(const struct doctor_report *r)
{
	size_t shown = 0;

	printf("\n%" PRIu64 " samples with a user part\n", r->samples);
	for (size_t i = 0; i < r->count && shown < ROWS_MAX; i++) {
		const struct doctor_row *row = &r->rows[i];

		if (!(row->cut + row->alone))
			break;
		if (!shown++)
			printf("binaries that cut stacks short: share of samples they are in, of "
			       "stacks they\nended with a caller that is none, of stacks of their "
			       "frame alone\n");
		utf8_mask(row->path, strlen(row->path));
		printf("%6.1f %%  %6.1f %%  %6.1f %%  %s\n",
		       100.0 * (double)row->samples / (double)r->samples,
		       100.0 * (double)row->cut / (double)r->samples,
		       100.0 * (double)row->alone / (double)r->samples, row->path);
	}
	if (!shown && r->samples)
		printf("no binary cuts stacks short\n");
}

/* The report has all rows, so that the reader can choose. */
static void put_report(const struct doctor_report *r, struct buf *out)
{
	json_key_number(out, "samples", (int64_t)r->samples);
	json_key(out, "binaries");
	json_open(out, '[');
	for (size_t i = 0; i < r->count; i++) {
		const struct doctor_row *row = &r->rows[i];
		char hex[BUILD_ID_HEX_MAX];

		json_open(out, '{');
		json_key_cstr(out, "path", row->path);
		json_key_cstr(out, "build_id", build_id_hex(&row->id, hex));
		json_key_number(out, "samples", (int64_t)row->samples);
		json_key_number(out, "cut", (int64_t)row->cut);
		json_key_number(out, "alone", (int64_t)row->alone);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* Removes a spool, which has no subdirectories. */
static void remove_spool(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		if (entry->d_type == DT_REG)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* Samples into a spool in `dir` and tells what is in it. */
static int sample_into(struct doctor *d, const char *dir, struct err *err)
{
	_cleanup_(doctor_report_done) struct doctor_report report = {.count = 0};
	const struct session_options options = {
		.spool_dir = dir,
		.limits = {.free_floor = 1},
		.maps = d->maps,
		.target = {.hz = 99},
		.duration_ns = d->duration_ns,
	};
	struct session_stats stats;

	TRY(session_run(&options, &stats, err));
	tell_text(d, "backend", "backend chosen", stats.backend);
	TRY(doctor_report_read(&report, dir, err));
	if (d->as_json)
		put_report(&report, &d->json);
	else
		print_doctor_report(&report);
	return 0;
}

static int sample_briefly(struct doctor *d, struct err *err)
{
	char dir[] = "/tmp/rawstack-doctor-XXXXXX";
	int rc;

	if (!mkdtemp(dir))
		return err_sys(err, errno, "%s", dir);
	rc = sample_into(d, dir, err);
	remove_spool(dir);
	return rc;
}

/* Reports what the host has, and returns whether every process can be sampled. */
static bool examine_host(struct doctor *d)
{
	struct utsname u;
	bool works, with_cgroup, with_pid[2];

	uname(&u);
	json_open(&d->json, '{');
	tell_text(d, "kernel", "kernel", u.release);
	tell_text(d, "machine", "machine", u.machine);
	tell_settings(d);
	json_key(&d->json, "checks");
	json_open(&d->json, '[');
	check_capabilities(d);
	perf_check_features(tell_check, d);
	check_procmap(d);
	check_kernel(d);
	check_paranoid(d);
	works = with_cgroup = check_backend(d, &backend_bpf, 0);
	with_pid[0] = check_backend(d, &backend_bpf, (uint32_t)getpid());
	works |= check_backend(d, &backend_perf_all, 0);
	with_pid[1] = check_backend(d, &backend_perf_self, (uint32_t)getpid());
	json_close(&d->json, ']');
	tell_text(d, "backend_pid", "backend with --pid",
		  with_pid[0]   ? "bpf"
		  : with_pid[1] ? "perf-self"
				: "none");
	tell_text(d, "backend_cgroup", "backend with --cgroup", with_cgroup ? "bpf" : "none");
	if (!works)
		tell_text(d, "backend", "backend chosen",
			  "none for every process; see above what is missing");
	return works;
}

static int examine_and_sample(struct doctor *d, struct err *err)
{
	int rc;

	if (!examine_host(d)) {
		rc = err_set(err, ERR_UNSUPPORTED, "%s", ""); /* it is printed above */
	} else {
		fflush(stdout);
		rc = sample_briefly(d, err);
	}
	if (!d->as_json)
		return rc;
	json_close(&d->json, '}');
	buf_str(&d->json, "\n");
	if (d->json.failed)
		return err_no_memory(err);
	stdout_put(&d->json);
	return rc;
}

static int run_doctor(int argc, char **argv, struct err *err)
{
	struct doctor d = {.duration_ns = UINT64_C(5000000000), .json = BUF_INIT(64 * MIB)};
	int rc = options_parse(&usage, argc, argv, &d, NULL, err);

	if (!rc)
		rc = examine_and_sample(&d, err);
	buf_done(&d.json);
	return rc;
}

const struct command cmd_doctor = {
	.usage = &usage,
	.run = run_doctor,
	.summary = "what can be sampled here, and which binaries have no frame pointers",
};
