/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler doctor: everything by trial, for versions and configurations lie. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "capabilities.h"
#include "cgroups.h"
#include "doctor_report.h"
#include "io.h"
#include "kernel_map.h"
#include "log.h"
#include "perf_ring.h"
#include "procscan.h"
#include "sampler_command.h"
#include "session.h"

static const char help[] =
	"usage: rawstack-sampler doctor [--seconds N]\n"
	"\n"
	"Says what can be sampled on this machine, tries it for N seconds [5] into a spool that "
	"is\n"
	"removed again, and lists the binaries that cut stacks short, with their share of "
	"samples:\n"
	"these were compiled without frame pointers (-fno-omit-frame-pointer keeps them).\n"
	"\n"
	"Exit status: 0 every process can be sampled; 1 it cannot; 2 usage.\n";

enum {
	ROWS_MAX = 20
};

static void print_check(const char *what, bool ok, const char *why)
{
	printf("%-44s %s%s%s\n", what, ok ? "yes" : "no", *why ? ": " : "", why);
}

/* --- the kernel ------------------------------------------------------------------------------ */

static void check_capabilities(void)
{
	static const struct {
		int capability;
		const char *name, *why;
	} rows[] = {
		{CAP_BPF, "CAP_BPF", "else no backend bpf"},
		{CAP_PERFMON, "CAP_PERFMON", "else own processes only"},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
		 "else files of others without a build id stay unresolved"},
		{CAP_SYSLOG, "CAP_SYSLOG", "else kernel frames stay unresolved"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const bool have = capabilities_have(rows[i].capability);

		print_check(rows[i].name, have, have ? "" : rows[i].why);
	}
}

static void print_setting(const char *path)
{
	_cleanup_(freep) uint8_t *text = NULL;
	size_t len;

	if (io_read_file(path, 256, &text, &len, NULL))
		printf("%-44s not there\n", path + strlen("/proc/sys/"));
	else
		printf("%-44s %.*s\n", path + strlen("/proc/sys/"),
		       (int)strcspn((const char *)text, "\n"), (const char *)text);
}

static void check_procmap(void)
{
	struct modules modules;
	struct procscan found = {.maps = NULL};
	int rc;

	modules_init(&modules);
	rc = procscan_read((uint32_t)getpid(), PROCSCAN_IOCTL, &modules, &found);
	print_check("build ids of running processes", !rc,
		    rc ? "no PROCMAP_QUERY (Linux 6.11): their files are read instead" : "");
	if (!rc) {
		mappings_unref(found.maps);
		module_unref(found.exe);
	}
	modules_done(&modules);
}

static void check_kernel(void)
{
	struct kernel_map *k = calloc(1, sizeof(*k));
	struct cgroups *c = calloc(1, sizeof(*c));
	struct err err = {.message = ""};
	int rc;

	if (k && c) {
		rc = kernel_map_init(k, 0, 0, 0, &err);
		print_check("kernel frames", !rc, rc ? err.message : "");
		cgroups_init(c, 0);
		print_check("names of cgroups", c->count,
			    c->count ? "" : "no cgroup2 file system is mounted");
		kernel_map_done(k);
		cgroups_done(c);
	}
	free(k);
	free(c);
}

/* Whether a backend works; a pid, so that what is only for children is tried too. */
static bool check_backend(const struct backend *b, uint32_t pid)
{
	const struct backend_options options = {
		.hz = 99,
		.pids = &pid,
		.pid_count = pid != 0,
		.with_children = true,
	};
	struct err err = {.message = ""};
	char what[64];
	void *self;
	int rc = b->open(&self, &options, &err);

	if (!rc) {
		rc = b->start(self, &err);
		b->stop(self);
		b->close(self);
	}
	snprintf(what, sizeof(what), "backend %s%s", b->name, pid ? ", one process" : "");
	print_check(what, !rc, rc ? err.message : "");
	return !rc;
}

/* --- samples --------------------------------------------------------------------------------- */

static void print_path(const char *path)
{
	for (; *path; path++)
		putchar((unsigned char)*path < 0x20 || *path == 0x7f ? '?' : *path);
}

static void print_report(const struct doctor_report *r)
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
		printf("%6.1f %%  %6.1f %%  %6.1f %%  ",
		       100.0 * (double)row->samples / (double)r->samples,
		       100.0 * (double)row->cut / (double)r->samples,
		       100.0 * (double)row->alone / (double)r->samples);
		print_path(row->path);
		printf("\n");
	}
	if (!shown && r->samples)
		printf("no binary cuts stacks short\n");
}

/* A spool has no directories. */
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

static int sample(uint64_t duration_ns, struct err *err)
{
	char dir[] = "/tmp/rawstack-doctor-XXXXXX";
	const struct session_options options = {
		.spool_dir = dir,
		.limits = {.free_floor = 1},
		.target = {.hz = 99},
		.duration_ns = duration_ns,
	};
	struct session_stats stats;
	struct doctor_report report = {.count = 0};
	int rc;

	if (!mkdtemp(dir))
		return err_sys(err, errno, "%s", dir);
	rc = session_run(&options, &stats, err);
	if (!rc) {
		printf("%-44s %s\n", "backend chosen", stats.backend);
		rc = doctor_report_read(&report, dir, err);
	}
	if (!rc)
		print_report(&report);
	doctor_report_done(&report);
	remove_spool(dir);
	return rc;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	uint64_t seconds = 5;
	struct utsname u;
	struct err err;
	int option, rc = 0;
	bool works;

	opterr = 0;
	while (!rc && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return 0;
		}
		rc = option == 's' ? parse_number("--seconds", optarg, 1, 3600, &seconds, &err)
				   : err_set(&err, ERR_USAGE,
					     "'%.60s' is not understood; see rawstack-sampler "
					     "doctor --help",
					     argv[optind - 1]);
	}
	if (!rc && optind < argc)
		rc = err_set(&err, ERR_USAGE, "doctor takes options only");
	if (rc)
		return complain(&err);
	uname(&u);
	printf("%-44s %s %s\n", "kernel", u.release, u.machine);
	print_setting("/proc/sys/kernel/perf_event_paranoid");
	print_setting("/proc/sys/kernel/perf_event_max_stack");
	print_setting("/proc/sys/kernel/kptr_restrict");
	print_setting("/proc/sys/kernel/unprivileged_bpf_disabled");
	check_capabilities();
	perf_check_features(print_check);
	check_procmap();
	check_kernel();
	works = check_backend(&backend_bpf, 0);
	check_backend(&backend_bpf, (uint32_t)getpid());
	works |= check_backend(&backend_perf_all, 0);
	check_backend(&backend_perf_self, (uint32_t)getpid());
	fflush(stdout);
	if (!works)
		return 1;
	rc = sample(seconds * 1000000000, &err);
	return rc ? complain(&err) : 0;
}
