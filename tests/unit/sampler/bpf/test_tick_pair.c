/* SPDX-License-Identifier: Apache-2.0 */
/* Two periods drawn at random whose rates add up: as many ticks as were wanted, at no fixed
 * distance, and it is known how many were due. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tick_pair.h"

#define SECOND_NS UINT64_C(1000000000)
#define BEGIN_NS  (1000 * SECOND_NS)

/* As the kernel's two timers do: each a period behind the last, or behind a turn. */
struct timers {
	struct tick_pair pair;
	uint64_t next_ns[TICK_PAIR_COUNT];
	uint64_t runs, first_ns, last_ns;
	uint64_t first_part; /* of those: in the first 60 % of a cycle */
	uint64_t cycle_ns;
};

static void begin(struct timers *t, uint64_t period_ns, uint64_t cycle_ns, uint64_t random)
{
	*t = (struct timers){.cycle_ns = cycle_ns};
	tick_pair_init(&t->pair, period_ns, random);
	tick_pair_begin(&t->pair, BEGIN_NS);
	for (size_t i = 0; i < TICK_PAIR_COUNT; i++)
		t->next_ns[i] = BEGIN_NS + t->pair.halves[i].period_ns;
}

static void go_on(struct timers *t, uint64_t until_ns)
{
	for (;;) {
		const size_t i = t->next_ns[1] < t->next_ns[0];
		const uint64_t now = t->next_ns[i];

		if (now >= until_ns)
			return;
		t->next_ns[i] += t->pair.halves[i].period_ns;
		t->runs++;
		t->first_ns = t->first_ns ? t->first_ns : now;
		t->last_ns = now;
		t->first_part += now % t->cycle_ns < t->cycle_ns / 10 * 6;
	}
}

/* As tick_pair_turn(), which is made at now_ns and takes some time on both sides of that. */
static void turn(struct timers *t, uint64_t now_ns, uint64_t wait_ns)
{
	uint64_t periods[TICK_PAIR_COUNT];

	tick_pair_draw(&t->pair, now_ns - wait_ns, periods);
	for (size_t i = 0; i < TICK_PAIR_COUNT; i++) {
		tick_pair_set(&t->pair, i, periods[i], now_ns - wait_ns, now_ns + wait_ns);
		t->next_ns[i] = now_ns + periods[i];
	}
}

static void test_drawn(void **state _unused_)
{
	const uint64_t period = SECOND_NS / 99;

	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct tick_pair p;
		double rate = 0;

		tick_pair_init(&p, period, seed);
		for (size_t i = 0; i < TICK_PAIR_COUNT; i++) {
			assert_in_range(p.halves[i].period_ns, period * 4 / 3 - 1, period * 4 + 1);
			rate += 1 / (double)p.halves[i].period_ns;
		}
		assert_true(fabs(rate * (double)period - 1) < 1e-6);
	}
}

/* Rounds as a sampler has them, of some 0.9 s: how many ticks came, and where in the cycle. */
static void try_rate(uint64_t hz, uint64_t cycle_ns, uint64_t wait_ns)
{
	const uint64_t period = SECOND_NS / hz;
	struct timers t;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t now = BEGIN_NS, due = 0;
		double wanted, share;

		begin(&t, period, cycle_ns, seed);
		while (now < BEGIN_NS + 300 * SECOND_NS) {
			now += 900000000 + seed * 100003;
			go_on(&t, now);
			due = tick_pair_due(&t.pair, t.first_ns, t.last_ns);
			/* Never more than what came; less where a turn took its time. */
			assert_in_range(due, t.runs - t.runs / 50 - 2, t.runs);
			if (!wait_ns)
				assert_in_range(due, t.runs - 2, t.runs);
			if (tick_pair_is_old(&t.pair, now))
				turn(&t, now, wait_ns);
		}
		wanted = (double)(now - BEGIN_NS) / (double)period;
		assert_true(fabs((double)t.runs - wanted) <= 4);
		share = (double)t.first_part / (double)t.runs;
		/* Ten standard deviations of independent samples: a clock of one period that fits
		 * the cycle is 40 % off, or 60. */
		assert_true(fabs(share - 0.6) < 10 * sqrt(0.24 / wanted));
	}
}

static void test_rates(void **state _unused_)
{
	try_rate(99, 10000000, 0);
	try_rate(100, 10000000, 0);
	try_rate(100, 20000000, 0);
	try_rate(999, 10000000, 0);
	try_rate(1000, 1000000, 0);
	try_rate(10000, 10000000, 0);
}

/* A process that waits for its CPU in the middle of a turn. */
static void test_waits(void **state _unused_)
{
	try_rate(99, 10000000, 5000000);
	try_rate(1000, 1000000, 5000000);
}

/* At a low rate periods live longer than a round, or no tick ever came. */
static void test_slow(void **state _unused_)
{
	struct timers t;
	uint64_t now = BEGIN_NS;

	begin(&t, SECOND_NS, 7 * SECOND_NS, 5);
	while (now < BEGIN_NS + 10000 * SECOND_NS) {
		now += 900000000;
		go_on(&t, now);
		assert_in_range(tick_pair_due(&t.pair, t.first_ns, t.last_ns) + 2, t.runs,
				t.runs + 2);
		if (tick_pair_is_old(&t.pair, now))
			turn(&t, now, 0);
	}
	assert_in_range(t.runs, 9996, 10004);
}

/* Ticks that did not come are due all the same. */
static void test_absent(void **state _unused_)
{
	struct timers t;
	uint64_t came = 0, now = BEGIN_NS, due = 0;

	begin(&t, SECOND_NS / 99, SECOND_NS, 5);
	for (int i = 0; i < 100; i++) {
		const uint64_t before = t.runs;

		now += 900000000;
		go_on(&t, now);
		came += i == 50 ? 0 : t.runs - before;
		due = tick_pair_due(&t.pair, t.first_ns, t.last_ns);
		if (tick_pair_is_old(&t.pair, now))
			turn(&t, now, 0);
	}
	assert_in_range(due - came, 80, 99);
	assert_int_equal(tick_pair_due(&t.pair, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drawn),  cmocka_unit_test(test_rates),
		cmocka_unit_test(test_waits),  cmocka_unit_test(test_slow),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
