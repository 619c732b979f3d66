/* SPDX-License-Identifier: Apache-2.0 */
#include "tick_pair.h"

#include "io.h"
#include "perf_ring.h"

/* The rates of the halves differ by at most this share of their mean. With a smaller share the
 * periods would be close together, and a cycle that fits one would fit many. */
#define SPREAD 0.5

/*
 * Periods are drawn anew in the sampler's own rounds: in each round at first, so that a run of some
 * seconds has enough of them, and later in every third. For a new period the kernel interrupts the
 * CPU and waits, 80 us for both halves in a virtual machine. A turn also costs a tick, so there are
 * at least LIFE_TICKS between two.
 */
#define LIFE_NS      UINT64_C(800000000)
#define LIFE_MOST_NS (3 * LIFE_NS)
#define LIFE_PART    8 /* a life lasts this part of the time since the events began */
#define LIFE_TICKS   64

static uint64_t life_ns(const struct tick_pair *p, uint64_t now_ns)
{
	const uint64_t least = LIFE_TICKS * p->period_ns;
	uint64_t life = (now_ns - p->began_ns) / LIFE_PART;

	life = life > LIFE_MOST_NS ? LIFE_MOST_NS : life < LIFE_NS ? LIFE_NS : life;
	return least > life ? least : life;
}

/* Draws a number from 0 to 1 by xorshift64*, which will do because no secret depends on it. */
static double draw_share(struct tick_pair *p)
{
	p->random ^= p->random >> 12;
	p->random ^= p->random << 25;
	p->random ^= p->random >> 27;
	return (double)((p->random * UINT64_C(0x2545f4914f6cdd1d)) >> 11) / (double)(1ULL << 53);
}

/* Draws the two periods such that both halves together make `total` ticks in len_ns. */
static void split_rate(struct tick_pair *p, double len_ns, double total,
		       uint64_t ret_ns[static TICK_PAIR_COUNT])
{
	const double x = SPREAD * (2 * draw_share(p) - 1);

	ret_ns[0] = (uint64_t)(len_ns / (total / 2 * (1 + x)));
	ret_ns[1] = (uint64_t)(len_ns / (total / 2 * (1 - x)));
}

void tick_pair_init(struct tick_pair *p, uint64_t period_ns, uint64_t random)
{
	uint64_t periods[TICK_PAIR_COUNT];

	*p = (struct tick_pair){.period_ns = period_ns, .random = random | 1};
	for (int i = 0; i < 8; i++) /* makes similar seeds diverge */
		draw_share(p);
	split_rate(p, (double)period_ns, 1, periods);
	for (int i = 0; i < TICK_PAIR_COUNT; i++)
		p->halves[i].period_ns = periods[i];
}

void tick_pair_begin(struct tick_pair *p, uint64_t now_ns)
{
	p->began_ns = now_ns;
	for (int i = 0; i < TICK_PAIR_COUNT; i++)
		p->halves[i].least_began_ns = p->halves[i].most_began_ns = now_ns;
}

bool tick_pair_is_old(const struct tick_pair *p, uint64_t now_ns)
{
	return now_ns - p->halves[0].most_began_ns >= life_ns(p, now_ns);
}

static uint64_t due_of_half(const struct tick_half *h, uint64_t until_ns)
{
	return until_ns > h->most_began_ns ? (until_ns - h->most_began_ns) / h->period_ns : 0;
}

/* Returns the ticks that a half made until a change between least_ns and most_ns. For each change
 * it takes the middle of the two moments between which it came. */
static double made_of_half(const struct tick_half *h, uint64_t least_ns, uint64_t most_ns)
{
	const uint64_t began_ns = h->least_began_ns + (h->most_began_ns - h->least_began_ns) / 2;
	const uint64_t until_ns = least_ns + (most_ns - least_ns) / 2;

	return until_ns > began_ns ? (double)((until_ns - began_ns) / h->period_ns) : 0;
}

/* Returns the ticks due in all periods until until_ns, which is after the current ones began. */
static uint64_t due_until(const struct tick_pair *p, uint64_t until_ns)
{
	uint64_t due = p->due;

	for (int i = 0; i < TICK_PAIR_COUNT; i++)
		due += due_of_half(&p->halves[i], until_ns);
	return due;
}

void tick_pair_draw(struct tick_pair *p, uint64_t now_ns, uint64_t ret_ns[static TICK_PAIR_COUNT])
{
	const double len = (double)(now_ns - p->halves[0].most_began_ns);
	const double wanted = len / (double)p->period_ns;
	/* The next turn costs each half half a tick; to that add the ticks that are missing now. */
	double more = (double)TICK_PAIR_COUNT / 2 +
		      (double)(now_ns - p->began_ns) / (double)p->period_ns - p->made;

	for (int i = 0; i < TICK_PAIR_COUNT; i++)
		more -= made_of_half(&p->halves[i], now_ns, now_ns);

	/* The next life is assumed to be as long as this one. After a shorter life there is more
	 * to make up for, which may take several lives. */
	if (more > wanted / 8)
		more = wanted / 8;
	if (more < -wanted / 8)
		more = -wanted / 8;
	split_rate(p, len, wanted + more, ret_ns);
}

void tick_pair_set(struct tick_pair *p, size_t half, uint64_t period_ns, uint64_t least_ns,
		   uint64_t most_ns)
{
	struct tick_half *h = &p->halves[half];

	p->due += due_of_half(h, least_ns);
	p->made += made_of_half(h, least_ns, most_ns);
	*h = (struct tick_half){period_ns, least_ns, most_ns};
}

void tick_pair_turn(struct tick_pair *p, const int fds[static TICK_PAIR_COUNT])
{
	const struct io *io = io_system();
	uint64_t periods[TICK_PAIR_COUNT], before = io->mono_ns(NULL), now;

	tick_pair_draw(p, before, periods);
	for (size_t i = 0; i < TICK_PAIR_COUNT; i++) {
		if (perf_set_period(fds[i], periods[i]))
			return;
		now = io->mono_ns(NULL);
		tick_pair_set(p, i, periods[i], before, now);
		before = now;
	}
}

uint64_t tick_pair_due(struct tick_pair *p, uint64_t first_ns, uint64_t last_ns)
{
	/* A tick comes late if its CPU has interrupts off; ticks of the other half that become due
	 * meanwhile come right after it. */
	const uint64_t late_ns = p->period_ns / 2;

	if (!first_ns)
		return 0;
	if (!p->due_first) {
		const uint64_t due = due_until(p, first_ns);

		p->due_first = due ? due : 1;
	}
	/* A tick that came before the last turn was counted at that turn. */
	if (last_ns > p->halves[TICK_PAIR_COUNT - 1].most_began_ns + late_ns)
		p->due_last = due_until(p, last_ns - late_ns) + 1;
	return p->due_last >= p->due_first ? p->due_last - p->due_first + 1 : 0;
}
