/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CPU_BUDGET_H
#define RAWSTACK_CPU_BUDGET_H
/*
 * Bounds the CPU time of work that other users' processes cause, by a burst and by a share of one
 * CPU in the long run. Work that has begun is not broken off, so the budget may become negative;
 * more work begins once it is positive again. Times are in ns. One thread uses it.
 */
#include <stdbool.h>
#include <stdint.h>

struct cpu_budget {
	int64_t left, burst; /* what may be spent now, and the most that is saved up */
	uint64_t filled_ns;  /* when it was last filled (monotonic) */
};

/* The share is 1 / CPU_BUDGET_SHARE of a CPU, and CPU_BUDGET_BURST is the default burst. */
#define CPU_BUDGET_SHARE 50
#define CPU_BUDGET_BURST INT64_C(2000000000)

/* Returns a full budget with this burst, or with the default one. */
static inline struct cpu_budget cpu_budget_of(int64_t burst, uint64_t now_ns)
{
	return (struct cpu_budget){burst, burst, now_ns};
}

static inline struct cpu_budget cpu_budget_full(uint64_t now_ns)
{
	return cpu_budget_of(CPU_BUDGET_BURST, now_ns);
}

/* Fills the budget up, and returns whether more than `reserve` is left, so that work may begin now
 * which leaves that to other work. */
static inline bool cpu_budget_spares(struct cpu_budget *b, int64_t reserve, uint64_t now_ns)
{
	const uint64_t gained = (now_ns - b->filled_ns) / CPU_BUDGET_SHARE;

	/* The remainder of the division is kept. */
	b->filled_ns += gained * CPU_BUDGET_SHARE;
	b->left = gained < (uint64_t)(b->burst - b->left) ? b->left + (int64_t)gained : b->burst;
	return b->left > reserve;
}

/* Returns whether work may begin now. */
static inline bool cpu_budget_allows(struct cpu_budget *b, uint64_t now_ns)
{
	return cpu_budget_spares(b, 0, now_ns);
}

static inline void cpu_budget_spend(struct cpu_budget *b, uint64_t ns)
{
	b->left -= (int64_t)ns;
}

#endif
