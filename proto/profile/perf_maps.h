/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PERF_MAPS_H
#define RAWSTACK_PERF_MAPS_H
/*
 * Keeps what each process of a perf.data file has mapped, at the time that the reader has reached.
 * It parses nothing; the reader calls it in order of time. For one thread.
 */
#include "base.h"
#include "intern.h"

enum perf_map_kind {
	PERF_MAP_FILE,
	PERF_MAP_KERNEL,        /* the kernel's text: addresses are relative to _text */
	PERF_MAP_KERNEL_MODULE, /* a .ko: addresses are relative to its start */
	PERF_MAP_NAMED,         /* code with a name of its own (a BPF program) */
	PERF_MAP_ANONYMOUS,
};

struct perf_map {
	uint64_t start, end; /* pcs, half open */
	uint64_t base;       /* address in the module = pc - base */
	uint32_t object;     /* the caller's number */
	uint32_t kind;       /* enum perf_map_kind */
};

/* Mappings of one address space, by start, disjoint. */
struct perf_space {
	struct perf_map *maps;
	size_t count, cap;
};

struct perf_maps {
	struct intern pids; /* int32_t pid -> number of its space */
	struct perf_space *spaces;
	size_t spaces_cap;
	size_t total; /* mappings in all spaces */
};

#define PERF_KERNEL_PID (-1)

void perf_maps_init(struct perf_maps *m);
void perf_maps_done(struct perf_maps *m);

/* Adds a mapping, which replaces what it overlaps. Returns false at a limit or if memory is out. */
bool perf_maps_add(struct perf_maps *m, int32_t pid, const struct perf_map *map) _must_check_;
void perf_maps_remove(struct perf_maps *m, int32_t pid, uint64_t start);

/* Gives the child a copy of its parent's mappings. */
bool perf_maps_fork(struct perf_maps *m, int32_t parent, int32_t child) _must_check_;
void perf_maps_exec(struct perf_maps *m, int32_t pid);

/* Returns the mapping that holds a pc, borrowed until the next change, or NULL. */
const struct perf_map *perf_maps_find(const struct perf_maps *m, int32_t pid, uint64_t pc);

#endif
