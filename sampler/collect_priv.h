/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COLLECT_PRIV_H
#define RAWSTACK_COLLECT_PRIV_H
/*
 * What collect.c (polling) and collect_open.c (loading and starting) share: the backend over BPF.
 * They alone see libbpf.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "backend.h"
#include "perf_ring.h"
#include "sampler_event.h"
#include "stack_table.h"
#include "ticks.h"

#include "sampler.skel.h"

struct cpu {
	int mapping_fd;
	struct perf_ring mapping;
	struct bpf_link *link; /* owns the clock event */
};

/* The memory of an array that BPF programs write to. */
struct counters {
	struct sampler_counters *rows;
	size_t count, len;
};

struct collect {
	struct sampler *skel;
	struct ring_buffer *ring;
	struct cpu *cpus;
	size_t cpu_count;
	struct counters counters;
	struct ticks ticks;
	struct ticks_seen *seen; /* of each CPU of counters */
	struct bpf_link *fork_link, *exit_link;
	uint64_t period_ns;
	uint64_t stopped_ns; /* 0: not yet */
	enum backend_event event;
	int wait_fd;
	struct stack_table stacks;
	struct events *events; /* while polling */
	struct perf_counts counts;
	uint64_t refused;
};

/* As struct backend has them. */
int collect_open(void **ret, const struct backend_options *options, struct err *err);
int collect_start(void *self, struct err *err);
void collect_stop(void *self);
void collect_close(void *self);

/* A record of the BPF program, as ring_buffer_sample_fn; ctx is the struct collect. */
int collect_take(void *ctx, void *data, size_t len);

/* From now on the program makes other hashes of stacks, which nobody can foresee; or none. */
void collect_set_hashes(struct collect *c, bool are_wanted);

#endif
