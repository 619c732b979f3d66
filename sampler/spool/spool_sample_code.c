/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_sample_code.h"

#include "spool_format.h"

void spool_guess_begin(struct spool_guess *g, uint64_t base, uint32_t step)
{
	g->base = base;
	g->step = step;
	g->before = 0;
	g->known_count = 0;
}

/* Returns the slot of a CPU. A CPU that is new in the record is expected at the base time. */
static uint32_t know_cpu(struct spool_guess *g, uint32_t cpu)
{
	const uint32_t slot = cpu % SPOOL_GUESS_CPUS;

	for (; g->known_count <= slot; g->known_count++) {
		g->cpus[g->known_count].time = g->base - g->step;
		g->cpus[g->known_count].thread = 0;
		g->cpus[g->known_count].next = 0;
	}
	return slot;
}

/* Returns the CPU whose turn it is: the one that came last time after the CPU of the sample before.
 */
static uint32_t expected_cpu(struct spool_guess *g)
{
	return g->cpus[know_cpu(g, g->before)].next;
}

static void remember_guess(struct spool_guess *g, uint32_t slot, const struct spool_sample *s,
			   uint64_t time)
{
	g->cpus[slot].time = time;
	g->cpus[slot].thread = s->thread;
	g->cpus[know_cpu(g, g->before)].next = s->cpu;
	g->before = s->cpu;
}

/* These are buf_uleb() and buf_sleb() without their checks for room, because samples are many. */
static uint8_t *write_uleb(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

static uint8_t *write_sleb(uint8_t *to, int64_t v)
{
	for (; v < -0x40 || v >= 0x40; v >>= 7) /* the shift is arithmetic on gcc and clang */
		*to++ = (uint8_t)(v | 0x80);
	*to++ = v & 0x7f;
	return to;
}

uint8_t *spool_sample_encode(struct spool_guess *g, const struct spool_sample *s,
			     uint8_t to[static SPOOL_SAMPLE_MAX])
{
	const uint64_t time = s->time_ns / SPOOL_SAMPLE_UNIT_NS;
	const bool is_expected = s->cpu == expected_cpu(g);
	const uint32_t slot = know_cpu(g, s->cpu);
	const bool is_same = s->thread == g->cpus[slot].thread;
	const int64_t late = (int64_t)(time - g->cpus[slot].time - g->step);
	const bool is_near = late > -SPOOL_SAMPLE_LATE_ZERO && late < SPOOL_SAMPLE_LATE_ZERO;

	*to++ = (uint8_t)((is_expected ? SPOOL_SAMPLE_CPU : 0) |
			  (is_same ? SPOOL_SAMPLE_THREAD : 0) |
			  (s->weight == 1 ? SPOOL_SAMPLE_WEIGHT : 0) |
			  (is_near ? (late + SPOOL_SAMPLE_LATE_ZERO) << SPOOL_SAMPLE_LATE_SHIFT
				   : 0));
	to = write_uleb(to, s->stack);
	if (!is_expected)
		to = write_uleb(to, s->cpu);
	if (!is_same)
		to = write_uleb(to, s->thread);
	if (s->weight != 1)
		to = write_uleb(to, s->weight);
	if (!is_near)
		to = write_sleb(to, late);
	remember_guess(g, slot, s, time);
	return to;
}

bool spool_sample_decode(struct spool_guess *g, struct bytes *in, struct spool_sample *ret)
{
	const uint8_t first = bytes_u8(in);
	int64_t late = first >> SPOOL_SAMPLE_LATE_SHIFT;
	uint64_t time;
	uint32_t slot;

	ret->stack = bytes_uleb32(in);
	ret->cpu = first & SPOOL_SAMPLE_CPU ? expected_cpu(g) : bytes_uleb32(in);
	slot = know_cpu(g, ret->cpu);
	ret->thread = first & SPOOL_SAMPLE_THREAD ? g->cpus[slot].thread : bytes_uleb32(in);
	ret->weight = first & SPOOL_SAMPLE_WEIGHT ? 1 : bytes_uleb32(in);
	late = late ? late - SPOOL_SAMPLE_LATE_ZERO : bytes_sleb(in);
	if (in->failed || !ret->weight)
		return false;
	time = g->cpus[slot].time + g->step + (uint64_t)late;
	ret->time_ns = time * SPOOL_SAMPLE_UNIT_NS;
	remember_guess(g, slot, ret, time);
	return true;
}
