/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_class.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"

enum {
	NICE = 10,
	NICE_LOWEST = 20, /* RLIMIT_NICE counts from here, getrlimit(2) */
	IO_PROCESS = 1,   /* of ioprio_set(2), which glibc does not wrap */
	IO_LAST = 2 << 13 | 7,
	IO_IDLE = 3 << 13,
};

static const struct sched_param none = {0};

/* --- whether one can come back --------------------------------------------------------------- */

/* Tries in a thread whether idle priority can be left again: a thread has its own class, so the
 * process is not affected. */
static void *there_and_back(void *ret)
{
	bool *can = ret;

	*can = !sched_setscheduler(0, SCHED_IDLE, &none) &&
	       !sched_setscheduler(0, SCHED_BATCH, &none);
	return NULL;
}

static bool can_raise;

/* This is not read from capabilities: those of another user namespace are visible but do not
 * count. */
static void find_out(void)
{
	struct rlimit l;
	pthread_t thread;

	if (!getrlimit(RLIMIT_NICE, &l) && l.rlim_cur >= NICE_LOWEST - NICE)
		can_raise = true;
	else if (!pthread_create(&thread, NULL, there_and_back, &can_raise))
		pthread_join(thread, NULL);
}

enum worker_class worker_class_background(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_out);
	return can_raise ? WORKER_CLASS_IDLE : WORKER_CLASS_BATCH;
}

/* --- taking one ------------------------------------------------------------------------------ */

static void set_class(pid_t pid, enum worker_class c)
{
	bool idle = c == WORKER_CLASS_IDLE;

	(void)sched_setscheduler(pid, idle ? SCHED_IDLE : SCHED_BATCH, &none);
	(void)syscall(SYS_ioprio_set, IO_PROCESS, pid, idle ? IO_IDLE : IO_LAST);
}

void worker_class_take(enum worker_class c)
{
	if (c == WORKER_CLASS_NORMAL)
		return;
	/* The value is not 19, which would leave only a hundredth of the processor. */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	set_class(0, c);
}

/* --- watching -------------------------------------------------------------------------------- */

static uint64_t cpu_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void worker_watch_begin(struct worker_watch *w, pid_t pid, enum worker_class c, uint64_t starved_ms,
			uint64_t now_ns)
{
	*w = (struct worker_watch){
		.pid = pid, .class = c, .starved_ns = starved_ms * 1000000u, .since_ns = now_ns};
}

int worker_watch_look(struct worker_watch *w, uint64_t now_ns)
{
	uint64_t passed = now_ns - w->since_ns, cpu;

	if (w->class != WORKER_CLASS_IDLE)
		return INT32_MAX;
	if (passed >= w->starved_ns) {
		cpu = cpu_of(w->pid);
		if ((cpu - w->cpu_ns) * LIMIT_WORKER_STARVED_SHARE < passed) {
			w->class = WORKER_CLASS_BATCH;
			set_class(w->pid, w->class);
			return INT32_MAX;
		}
		w->cpu_ns = cpu;
		w->since_ns = now_ns;
		passed = 0;
	}
	return (int)((w->starved_ns - passed) / 1000000u + 1);
}
