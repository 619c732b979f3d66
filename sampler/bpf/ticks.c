/* SPDX-License-Identifier: Apache-2.0 */
#include "ticks.h"

#include <string.h>

#include "bisect.h"
#include "io.h"
#include "limits.h"
#include "number.h"

/* /proc/stat has a line for each CPU and a number for each interrupt: 60 KB on the largest
 * machines. */
#define LIMIT_PROC_STAT_LEN MIB

#define STEP_NS UINT64_C(10000000) /* unit of /proc/stat: USER_HZ is 100 on supported machines */

uint64_t ticks_absent(const struct ticks_seen *seen)
{
	return seen->runs && seen->due > seen->runs ? seen->due - seen->runs : 0;
}

/* Returns the square root, rounded up. */
static uint64_t square_root(uint64_t n)
{
	return BISECT(UINT64_C(1) << 32, root, root * root < n);
}

/* Returns by how much a gap at either end is longer than a period, as the CPU was idle then. */
static uint64_t ticks_beyond(uint64_t from_ns, uint64_t to_ns, uint64_t period_ns)
{
	return to_ns > from_ns && to_ns - from_ns > period_ns ? to_ns - from_ns - period_ns : 0;
}

uint64_t ticks_missed(const struct ticks_seen *seen, uint64_t period_ns, uint64_t began_ns,
		      uint64_t now_ns, uint64_t idle_ns)
{
	const uint64_t absent = ticks_absent(seen);
	const uint64_t outside_ns = ticks_beyond(began_ns, seen->first_ns, period_ns) +
				    ticks_beyond(seen->last_ns, now_ns, period_ns);
	uint64_t due, quiet;

	if (!absent || idle_ns <= outside_ns)
		return absent;
	due = (idle_ns - outside_ns) / period_ns;
	quiet = due > seen->idle ? due - seen->idle : 0;
	/* A CPU that is idle at times gets or misses ticks at random. If most of its idle ticks are
	 * absent, allow for three standard deviations and for the rounding at both ends; if most
	 * come, that would hide real losses. */
	if (seen->idle < due / 2 || due < 2)
		quiet += 3 * square_root(due) + 2 * STEP_NS / period_ns + 1;
	return absent > quiet ? absent - quiet : 0;
}

void ticks_read_idle(const char *text, void (*take)(void *arg, size_t cpu, uint64_t idle_ns),
		     void *arg)
{
	/* The lines "cpu0 user nice system idle iowait ..." come first, after the sum, "cpu ". */
	for (const char *line = text; !strncmp(line, "cpu", 3); line++) {
		const char *at = line + 3;
		uint64_t cpu = UINT64_MAX, values[5] = {0};

		if (*at >= '0' && *at <= '9') {
			(void)number_take(&at, 10, &cpu); /* above 64 bits cpu stays invalid */
			for (size_t i = 0; i < ARRAY_LEN(values); i++)
				if (!number_take_next(&at, 10, &values[i]))
					break;
			take(arg, cpu, (values[3] + values[4]) * STEP_NS);
		}
		line = strchr(line, '\n');
		if (!line)
			break;
	}
}

static void look_at_cpus(void (*take)(void *arg, size_t cpu, uint64_t idle_ns), void *arg)
{
	_cleanup_(freep) uint8_t *text = NULL;
	struct err err;
	size_t len;

	if (!io_read_file("/proc/stat", LIMIT_PROC_STAT_LEN, &text, &len, &err))
		ticks_read_idle((const char *)text, take, arg);
}

static void take_began(void *arg, size_t cpu, uint64_t idle_ns)
{
	struct ticks *t = arg;

	if (cpu >= t->count || t->cpus[cpu].has_idle)
		return;
	t->cpus[cpu].idle_began_ns = idle_ns;
	t->cpus[cpu].has_idle = true;
}

void ticks_begin(struct ticks *t, size_t cpu_count, uint64_t period_ns, uint64_t now_ns)
{
	*t = (struct ticks){
		.cpus = calloc(cpu_count, sizeof(*t->cpus)),
		.period_ns = period_ns,
		.looked_ns = now_ns,
	};
	if (!t->cpus)
		return;
	t->count = cpu_count;
	for (size_t i = 0; i < cpu_count; i++)
		t->cpus[i].began_ns = now_ns;
	look_at_cpus(take_began, t);
}

void ticks_begin_cpu(struct ticks *t, size_t cpu, const struct ticks_seen *seen, bool is_dark,
		     uint64_t now_ns)
{
	if (cpu >= t->count)
		return;
	t->cpus[cpu] = (struct ticks_cpu){
		.is_dark = is_dark,
		.began_ns = now_ns,
		.runs_before = seen->runs,
		.idle_before = seen->idle,
	};
	look_at_cpus(take_began, t);
}

void ticks_done(struct ticks *t)
{
	free(t->cpus);
	*t = (struct ticks){0};
}

/* Subtracts what was seen before the CPU began anew. */
static struct ticks_seen ticks_since_start(const struct ticks_cpu *c, const struct ticks_seen *seen)
{
	struct ticks_seen ret = *seen;

	ret.runs -= c->runs_before;
	ret.idle -= c->idle_before;
	return ret;
}

/* Returns the ticks that a CPU without a clock should have had. */
static uint64_t due_in_the_dark(const struct ticks *t, const struct ticks_cpu *c, uint64_t idle_ns)
{
	const uint64_t passed = t->looked_ns - c->began_ns;

	return passed > idle_ns ? (passed - idle_ns) / t->period_ns : 0;
}

struct look {
	struct ticks *ticks;
	const struct ticks_seen *seen;
};

static void raise_to(struct ticks *t, struct ticks_cpu *c, uint64_t missed)
{
	if (missed <= c->missed)
		return;
	t->missed += missed - c->missed;
	c->missed = missed;
}

static void take_now(void *arg, size_t cpu, uint64_t idle_ns)
{
	const struct look *l = arg;
	struct ticks *t = l->ticks;
	struct ticks_cpu *c = cpu < t->count ? &t->cpus[cpu] : NULL;
	struct ticks_seen seen;

	if (!c || !c->has_idle)
		return;
	idle_ns = idle_ns > c->idle_began_ns ? idle_ns - c->idle_began_ns : 0;
	seen = ticks_since_start(c, &l->seen[cpu]);
	raise_to(t, c,
		 c->is_dark
			 ? due_in_the_dark(t, c, idle_ns)
			 : ticks_missed(&seen, t->period_ns, c->began_ns, t->looked_ns, idle_ns));
}

void ticks_poll(struct ticks *t, const struct ticks_seen *seen, uint64_t now_ns, bool is_last)
{
	uint64_t absent = 0;
	bool any_dark = false;

	if (t->is_over || (!is_last && now_ns - t->looked_ns < TICKS_LOOK_NS))
		return;
	t->is_over = is_last;
	for (size_t i = 0; i < t->count; i++) {
		const struct ticks_seen of = ticks_since_start(&t->cpus[i], &seen[i]);

		absent += ticks_absent(&of);
		any_dark |= t->cpus[i].is_dark;
	}
	if (absent == t->absent && !any_dark && !is_last)
		return;
	t->absent = absent;
	t->looked_ns = now_ns;
	look_at_cpus(take_now, &(struct look){t, seen});
	/* A CPU that /proc/stat does not list has no idle time to explain absent ticks. */
	for (size_t i = 0; i < t->count; i++) {
		const struct ticks_seen of = ticks_since_start(&t->cpus[i], &seen[i]);

		if (!t->cpus[i].has_idle)
			raise_to(t, &t->cpus[i], ticks_absent(&of));
	}
}
