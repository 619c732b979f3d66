/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COLLECT_PRIV_H
#define RAWSTACK_COLLECT_PRIV_H
/*
 * State of the backend over BPF, shared by collect.c (polling), collect_open.c (loading and
 * starting) and collect_cpus.c (CPUs that go and come).
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "backend.h"
#include "cpu_watch.h"
#include "perf_ring.h"
#include "sample_ring.h"
#include "sampler_event.h"
#include "sent_stacks.h"
#include "tick_pair.h"
#include "ticks.h"

#include "sampler.skel.h"

struct cpu {
	int mapping_fd;
	/* The events that tick; -1: not open. Sampling by CPU cycles uses only the first. */
	int clock_fds[TICK_PAIR_COUNT];
	struct bpf_link *links[TICK_PAIR_COUNT]; /* these own the clock events once they tick */
	struct tick_pair pair;
	struct perf_ring mapping;
	struct sample_ring samples;
};

/* Memory that the BPF program writes to: a row and a ring for each of the CPUs 0 to count - 1. */
struct shared {
	struct percpu_state *rows;
	const uint8_t *rings;
	size_t count;
	size_t ring_len, ring_stride; /* the stride leaves room for an event behind a ring's end */
	size_t rows_mapped, rings_mapped;
};

struct collect {
	struct sampler *skel;
	struct cpu *cpus;
	size_t cpu_count;
	struct shared shared;
	struct ticks ticks;
	struct ticks_seen *seen; /* one for each CPU of `shared` */
	struct cpu_watch watch;
	bool is_started, has_no_cgroups; /* has_no_cgroups: it reports no new ones */
	struct bpf_link *fork_link, *exit_link;
	uint64_t period_ns;
	uint64_t stopped_ns; /* 0: not yet */
	enum backend_event event;
	int wait_fd;
	struct sent_stacks stacks;
	struct perf_counts counts;
};

/* These are the functions of struct backend. */
int collect_open(void **ret, const struct backend_options *options, struct err *err);
int collect_start(void *self, struct err *err);
void collect_stop(void *self);
void collect_close(void *self);

/* Starts the mapping records of a CPU. Returns 0, with mapping_fd still -1 if the CPU is off, or an
 * error. */
int collect_open_cpu(struct collect *c, size_t cpu, struct err *err);

/* Starts the samples of a CPU. Returns 0 or an error. */
int collect_start_cpu(struct collect *c, size_t cpu, struct err *err);

void collect_stop_cpu(struct collect *c, size_t cpu);
void collect_close_cpu(struct collect *c, size_t cpu);

/* Returns the ticks of a CPU that came, without `due`. */
struct ticks_seen collect_seen(const struct collect *c, size_t cpu);

/* Closes the events of CPUs that went off and opens those of CPUs that came on. */
void collect_watch(struct collect *c, struct events *events);

/* Makes the program hash stacks from a new random seed, or stop hashing them. */
void collect_set_hashes(struct collect *c, bool are_wanted);

#endif
