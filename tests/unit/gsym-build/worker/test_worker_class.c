/* SPDX-License-Identifier: Apache-2.0 */
/* How far a worker steps back, as the kernel tells it of one that runs (sandbox_probe, limited as
 * the real one is); and that it is let out of the idle class when it gets no processor there. */
#include "limits.h"
#include "table_build.h"
#include "worker_class.h"

#include <dirent.h>
#include <linux/sched.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	IO_CLASS_SHIFT = 13, /* ioprio_set(2) */
	IO_BEST_EFFORT = 2,
	IO_IDLE = 3,
	WORKER_NICE = 10,
	PAUSE_US = 1000,
};

struct seen {
	pid_t pid;
	int nice, policy, io;
};

struct task {
	struct table_request req;
	int rc;
	struct err err;
};

/* Field 4 is the parent, 19 the nice value, 41 the policy (proc(5)). */
static bool read_stat(const char *pid, int *ret_parent, struct seen *ret)
{
	char path[300], text[1024], *at, *save = NULL;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	at = strrchr(text, ')'); /* ends field 2 */
	if (!at)
		return false;
	at = strtok_r(at + 1, " ", &save);
	for (int field = 3; at; field++, at = strtok_r(NULL, " ", &save)) {
		if (field == 4)
			*ret_parent = atoi(at);
		else if (field == 19)
			ret->nice = atoi(at);
		else if (field == 41)
			ret->policy = atoi(at);
	}
	ret->pid = atoi(pid);
	ret->io = (int)syscall(SYS_ioprio_get, 1, ret->pid) >> IO_CLASS_SHIFT;
	return true;
}

static bool find_child(struct seen *ret)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int parent;
	bool found = false;

	assert_non_null(dir);
	while (!found && (e = readdir(dir)))
		found = e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
			read_stat(e->d_name, &parent, ret) && parent == getpid();
	closedir(dir);
	return found;
}

/*
 * The worker, as soon as it has this policy and I/O class; they and its nice value change one after
 * the other, and before that it has what the tests themselves run with. A worker that never has
 * them is waited for until it ends.
 */
static struct seen await_class(int policy, int io)
{
	struct seen seen = {0};
	pid_t pid = 0;

	for (;;) {
		bool found = find_child(&seen);

		if (found && seen.policy == policy && seen.io == io && seen.nice == WORKER_NICE)
			return seen;
		if (!found && pid)
			fail_msg("the worker ended, last with policy %d, nice %d, I/O class %d",
				 seen.policy, seen.nice, seen.io);
		if (found)
			pid = seen.pid;
		usleep(PAUSE_US);
	}
}

static void *build(void *arg)
{
	struct task *t = arg;
	struct build_report report;

	t->rc = table_build(&t->req, &report, &t->err);
	return NULL;
}

static void start(struct task *t, pthread_t *ret, const char *act, uint64_t starved_ms)
{
	*t = (struct task){.req = {
				   .input_fd = memfd_create("input", MFD_CLOEXEC),
				   .executable_fd = -1,
				   .output_fd = memfd_create("output", MFD_CLOEXEC),
				   .input = TABLE_INPUT_KALLSYMS,
				   .worker_path = getenv("SANDBOX_PROBE"),
				   .memory_max = GIB,
				   .wall_ms_max = 300000,
				   .starved_ms = starved_ms,
				   .background = true,
			   }};
	assert_non_null(t->req.worker_path);
	assert_int_equal(build_id_parse(&t->req.id, "0102030405", NULL), 0);
	assert_int_equal(write(t->req.input_fd, act, strlen(act)), (ssize_t)strlen(act));
	assert_int_equal(pthread_create(ret, NULL, build, t), 0);
}

/* It is the child of a thread of ours, which reaps it. */
static void end(struct task *t, pthread_t thread, pid_t pid)
{
	kill(pid, SIGKILL);
	pthread_join(thread, NULL);
	assert_true(t->rc < 0);
	assert_non_null(strstr(t->err.message, "SIGKILL"));
	close(t->req.input_fd);
	close(t->req.output_fd);
}

static void test_begins(void **state _unused_)
{
	bool idle = worker_class_background() == WORKER_CLASS_IDLE;
	struct seen seen;
	struct task t;
	pthread_t thread;

	if (!idle)
		print_message("not allowed to raise a worker: it begins at nice 10\n");
	start(&t, &thread, "sleep", 3600000);
	seen = idle ? await_class(SCHED_IDLE, IO_IDLE) : await_class(SCHED_BATCH, IO_BEST_EFFORT);
	end(&t, thread, seen.pid);
}

/* One that sleeps gets no processor at all. That it begins in the idle class is seen above: here it
 * may have left it before anybody looks. */
static void test_is_raised(void **state _unused_)
{
	struct seen seen;
	struct task t;
	pthread_t thread;

	if (worker_class_background() != WORKER_CLASS_IDLE)
		skip();
	start(&t, &thread, "sleep", 300);
	seen = await_class(SCHED_BATCH, IO_BEST_EFFORT);
	end(&t, thread, seen.pid);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Told by times that are made up: this process stands for the worker, and uses what it uses. */
static void test_enough_is_a_tenth(void **state _unused_)
{
	const uint64_t second = 1000000000;
	struct worker_watch w;
	uint64_t used = cpu_ns();

	worker_watch_begin(&w, getpid(), WORKER_CLASS_IDLE, 1, second);
	assert_int_equal(worker_watch_look(&w, second), 2); /* too early */
	while (cpu_ns() - used < 2000000)
		;
	/* All that it ever used, in at most ten times as long, is enough. */
	used = cpu_ns();
	assert_int_equal(worker_watch_look(&w, second + 9 * used), 2);
	assert_int_equal(w.class, WORKER_CLASS_IDLE);
	/* Since then next to nothing. */
	assert_int_equal(worker_watch_look(&w, second + 9 * used + 3600 * second), INT32_MAX);
	assert_int_equal(w.class, WORKER_CLASS_BATCH);
	assert_int_equal(worker_watch_look(&w, UINT64_MAX), INT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins), cmocka_unit_test(test_is_raised),
		cmocka_unit_test(test_enough_is_a_tenth), /* makes this process step back */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
