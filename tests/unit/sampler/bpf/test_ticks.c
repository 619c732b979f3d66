/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of a clock that did not come: those of an idle CPU are no loss, all others are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ticks.h"

enum {
	HZ = 99
};
#define PERIOD_NS (UINT64_C(1000000000) / HZ)
#define SECOND_NS UINT64_C(1000000000)
#define STEP_NS   UINT64_C(10000000)

/* As of a clock with one period. */
static void tick_until(struct ticks_seen *seen, uint64_t last_ns)
{
	seen->last_ns = last_ns;
	seen->due = (last_ns - seen->first_ns + PERIOD_NS / 2) / PERIOD_NS + 1;
}

/* A CPU that was looked at from one period before its first tick to its last. */
static uint64_t missed(uint64_t runs, uint64_t idle, uint64_t absent, uint64_t idle_steps)
{
	struct ticks_seen seen = {.runs = runs, .idle = idle, .first_ns = SECOND_NS};

	tick_until(&seen, seen.first_ns + (runs + absent - 1) * PERIOD_NS);
	assert_int_equal(ticks_absent(&seen), absent);
	return ticks_missed(&seen, PERIOD_NS, seen.first_ns - PERIOD_NS, seen.last_ns,
			    idle_steps * STEP_NS);
}

/* Linux 6.18 of a virtual machine of two CPUs: 5 s at 99 Hz each, ticks and /proc/stat of both. The
 * first CPU has its ticks while it is idle, the second has none then. */
static void test_recorded(void **state _unused_)
{
	assert_int_equal(missed(364, 0, 129, 143), 0);
	assert_int_equal(missed(383, 0, 111, 122), 0);
	assert_int_equal(missed(364, 0, 131, 140), 0);
	assert_int_equal(missed(495, 138, 0, 150), 0);
	assert_int_equal(missed(495, 106, 0, 126), 0);
	assert_int_equal(missed(498, 133, 0, 147), 0);
	/* Ten minutes of being idle but for a moment. */
	assert_int_equal(missed(30, 0, 59370, 59990), 0);
}

static void test_busy(void **state _unused_)
{
	assert_int_equal(missed(493, 0, 2, 0), 2);
	assert_int_equal(missed(300, 0, 195, 0), 195);
	/* All of it is counted, but for what the idle moments may be. */
	assert_in_range(missed(300, 0, 195, 10), 150, 195);
	assert_in_range(missed(20000, 0, 20000, 10000), 9000, 10200);
	/* Its clock goes on while it is idle, so that is no reason. */
	assert_in_range(missed(395, 140, 100, 150), 90, 100);
	assert_int_equal(missed(395, 150, 100, 150), 100);
	assert_int_equal(missed(1, 0, 0, 0), 0);
}

/* Idle before the first tick and behind the last one, and busy between. */
static void test_ends(void **state _unused_)
{
	struct ticks_seen seen = {.runs = 90, .first_ns = 100 * SECOND_NS};
	const uint64_t first = seen.first_ns;

	tick_until(&seen, first + 94 * PERIOD_NS);
	assert_int_equal(ticks_missed(&seen, PERIOD_NS, first - 10 * SECOND_NS,
				      seen.last_ns + 20 * SECOND_NS, 2997 * STEP_NS),
			 5);
	/* Never a tick: nothing is known. */
	seen = (struct ticks_seen){0};
	assert_int_equal(ticks_missed(&seen, PERIOD_NS, 0, 100 * SECOND_NS, 0), 0);
	/* A number that is counted wrong by the kernel, or wraps, is nothing to stumble over. */
	seen = (struct ticks_seen){
		.runs = 5, .idle = 9, .first_ns = 5, .last_ns = 5, .due = UINT64_MAX};
	(void)ticks_missed(&seen, PERIOD_NS, 0, 0, UINT64_MAX);
	tick_until(&seen, 5);
	assert_int_equal(ticks_missed(&seen, PERIOD_NS, 0, 0, UINT64_MAX), 0);
	seen = (struct ticks_seen){.runs = 1};
	tick_until(&seen, UINT64_MAX / 2);
	(void)ticks_missed(&seen, PERIOD_NS, 0, UINT64_MAX, UINT64_MAX);
}

static uint64_t idle_of[4];

static void take(void *arg, size_t cpu, uint64_t idle_ns)
{
	*(int *)arg += 1;
	if (cpu < 4)
		idle_of[cpu] = idle_ns;
}

static int read_text(const char *text)
{
	int count = 0;

	memset(idle_of, 0, sizeof(idle_of));
	ticks_read_idle(text, take, &count);
	return count;
}

static void test_text(void **state _unused_)
{
	assert_int_equal(read_text("cpu  5 5 5 5 5 5\n"
				   "cpu0 1 2 3 40 5 6 7 8 9 10\n"
				   "cpu2 1 2 3 400 0 6\n"
				   "intr 5 6 7\ncpu3 1 1 1 1 1\n"),
			 2);
	assert_int_equal(idle_of[0], 45 * STEP_NS);
	assert_int_equal(idle_of[1], 0);
	assert_int_equal(idle_of[2], 400 * STEP_NS);
	assert_int_equal(read_text(""), 0);
	assert_int_equal(read_text("cpu"), 0);
	assert_int_equal(read_text("cpu1"), 1);
	assert_int_equal(read_text("cpu99999999999999999999999 1 2 3 4 5"), 1);
}

/* With the machine's own /proc/stat, of which only is known that it is there. */
static void test_poll(void **state _unused_)
{
	struct ticks_seen seen[2] = {{.runs = 100, .first_ns = SECOND_NS}, {0}};
	struct ticks t;
	uint64_t before;

	ticks_begin(&t, 2, PERIOD_NS, SECOND_NS);
	assert_int_equal(t.count, 2);
	assert_true(t.cpus[0].has_idle);
	/* As if its time had come from nowhere: 300 ticks are absent, and it was hardly idle. */
	tick_until(&seen[0], SECOND_NS + 399 * PERIOD_NS);
	ticks_poll(&t, seen, 2 * SECOND_NS, false);
	assert_int_equal(t.missed, 0);
	t.cpus[0].idle_began_ns = UINT64_MAX;
	ticks_poll(&t, seen, 2 * SECOND_NS + TICKS_LOOK_NS, false);
	assert_int_equal(t.missed, 300);
	/* Nothing new: /proc/stat is not even asked. */
	t.cpus[0].idle_began_ns = 0;
	ticks_poll(&t, seen, 2 * SECOND_NS + 3 * TICKS_LOOK_NS, false);
	assert_int_equal(t.missed, 300);
	/* It never goes back, and a CPU of which nothing is known has what is absent. */
	t.cpus[1].has_idle = false;
	seen[1] = (struct ticks_seen){.runs = 2};
	tick_until(&seen[1], 9 * PERIOD_NS);
	ticks_poll(&t, seen, 2 * SECOND_NS + 4 * TICKS_LOOK_NS, true);
	before = t.missed;
	assert_int_equal(before, 308);
	tick_until(&seen[1], 18 * PERIOD_NS);
	ticks_poll(&t, seen, 2 * SECOND_NS + 9 * TICKS_LOOK_NS, true);
	assert_int_equal(t.missed, before);
	ticks_done(&t);
}

/* A CPU that was off for ten minutes and came back, and one that came and cannot be sampled. */
static void test_begin_cpu(void **state _unused_)
{
	const uint64_t off = 600 * SECOND_NS;
	struct ticks_seen seen[2] = {{.runs = 100, .idle = 7, .first_ns = SECOND_NS}, {0}};
	struct ticks t;

	ticks_begin(&t, 2, PERIOD_NS, SECOND_NS);
	t.cpus[0].idle_began_ns = t.cpus[1].idle_began_ns = UINT64_MAX;
	tick_until(&seen[0], SECOND_NS + 109 * PERIOD_NS);
	ticks_poll(&t, seen, SECOND_NS + TICKS_LOOK_NS, false);
	assert_int_equal(t.missed, 10);
	ticks_begin_cpu(&t, 0, &seen[0], false, off);
	assert_true(t.cpus[0].has_idle);
	t.cpus[0].idle_began_ns = UINT64_MAX;
	seen[0].first_ns = off + PERIOD_NS;
	tick_until(&seen[0], off + 50 * PERIOD_NS);
	seen[0].runs += 47;
	ticks_poll(&t, seen, off + 50 * PERIOD_NS, false);
	assert_int_equal(t.missed, 13);
	/* All that is due there. */
	ticks_begin_cpu(&t, 1, &seen[1], true, off);
	t.cpus[1].idle_began_ns = UINT64_MAX;
	ticks_poll(&t, seen, off + 990 * PERIOD_NS + TICKS_LOOK_NS, true);
	assert_in_range(t.missed, 13 + 990, 13 + 990 + HZ * (TICKS_LOOK_NS / SECOND_NS) + 1);
	ticks_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recorded),  cmocka_unit_test(test_busy),
		cmocka_unit_test(test_ends),      cmocka_unit_test(test_text),
		cmocka_unit_test(test_begin_cpu), cmocka_unit_test(test_poll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
