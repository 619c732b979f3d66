/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_ID_HINT_BPF_H
#define RAWSTACK_ID_HINT_BPF_H
/*
 * Makes hints: the build ids of the files that a user stack runs through, as the kernel knows them
 * at the tick itself. A later poll would find neither a process of 30 ms nor its mount namespace. A
 * hint follows its sample. User space decides which address lies in which mapping. A hint lacks
 * files that are not in memory, and all files if the process is just changing its mappings.
 *
 * A hint costs two to five times what a sample does, so it is made for processes that are new to
 * this CPU; if a process lives longer, user space asks the kernel later. For other processes it is
 * made once a minute, because a file may be overwritten in place.
 *
 * It is for programs on perf events. The including file has defined struct task_struct, with
 * `self_exec_id` and `nsproxy`.
 */
#include <bpf/bpf_helpers.h>

enum {
	ID_HINT_SLOT_BITS = 10,
	ID_HINT_BURST = 32,  /* first hints of a process; then one in ID_HINT_PAUSE_NS */
	ID_HINT_FRAMES = 32, /* most frames without bpf_loop(); all would take 0.3 s to load */
};

#define ID_HINT_YOUNG_NS 2000000000ull /* two polls */
#define ID_HINT_PAUSE_NS 10000000ull
#define ID_HINT_AGAIN_NS 60000000000ull

/* The hints that a CPU made for a process. A process whose slot another one took counts as new. */
struct id_hint_slot {
	uint64_t process, since_ns, last_ns, count;
};

struct id_hint_cpu {
	struct sampler_hint hint;
	uint64_t at; /* the row that the frame in hand belongs to */
	struct id_hint_slot slots[1 << ID_HINT_SLOT_BITS];
	struct bpf_stack_build_id frames[SAMPLER_DEPTH_MAX + 1];
};

/* A row for each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct id_hint_cpu);
} id_hints SEC(".maps");

struct id_hint_ctx {
	struct id_hint_cpu *cpu;
	const uint64_t *pcs; /* 256 of them */
	uint64_t first;
};

/*
 * Takes one frame into the row of its file and load address, or into a new row. The row's number
 * and the count of rows are read from memory, of which the verifier assumes nothing; otherwise it
 * would check the rest once for each value.
 */
static long id_hint_step(uint64_t i, struct id_hint_ctx *ctx)
{
	struct id_hint_cpu *c = ctx->cpu;
	const struct bpf_stack_build_id *f = &c->frames[i & SAMPLER_DEPTH_MAX];
	const uint64_t pc = ctx->pcs[(ctx->first + i) & (SAMPLER_PCS_MAX - 1)];
	const uint32_t *id = (const uint32_t *)f->build_id;
	struct sampler_hint_row *row;
	uint64_t count = c->hint.count;

	/* For an address in no mapping, as a chain without frame pointers may have, the kernel
	 * returns the next mapping above, where the address has a negative offset. Such a row would
	 * fit no mapping. */
	if (f->status != BPF_STACK_BUILD_ID_VALID || (int64_t)f->offset < 0)
		return 0;
	for (uint32_t r = 0; r < SAMPLER_HINT_ROWS; r++) {
		row = &c->hint.rows[r];
		if (r >= count || row->id[0] != id[0] || row->id[1] != id[1] ||
		    row->pc - row->file_off != pc - f->offset)
			continue;
		*(volatile uint64_t *)&c->at = r;
		goto found;
	}
	count = *(volatile uint64_t *)&c->hint.count;
	if (count >= SAMPLER_HINT_ROWS)
		return 0;
	row = &c->hint.rows[count];
	row->pc = pc;
	row->file_off = f->offset;
	row->len = 1;
	for (int w = 0; w < SAMPLER_HINT_ID_WORDS; w++)
		row->id[w] = id[w];
	c->hint.count = count + 1;
	return 0;
found:
	row = &c->hint.rows[*(volatile uint64_t *)&c->at & (SAMPLER_HINT_ROWS - 1)];
	if (pc < row->pc) {
		row->len += row->pc - pc;
		row->pc = pc;
		row->file_off = f->offset;
	} else if (pc - row->pc >= row->len) {
		row->len = pc - row->pc + 1;
	}
	return 0;
}

/* Returns a number that identifies a process. An exec changes it. */
static __always_inline uint64_t id_hint_process(const struct sampler_thread *t)
{
	return (uint64_t)t->pid << 32 ^ t->exec_id ^ t->start_ns;
}

static __always_inline uint64_t id_hint_hash(uint64_t process)
{
	return process * 0x9e3779b97f4a7c15;
}

static __always_inline struct sampler_hint_due *id_hint_due(struct percpu_state *row,
							    uint64_t process)
{
	return &row->hint_dues[id_hint_hash(process) >> 32 & (SAMPLER_HINT_DUES - 1)];
}

/* Sets hint_due_ns for the row's new thread. It touches one cache line only, because the thread may
 * change at each tick. */
static __always_inline void id_hint_set_thread(struct percpu_state *row)
{
	const uint64_t process = id_hint_process(&row->thread);
	const struct sampler_hint_due *due = id_hint_due(row, process);

	row->hint_due_ns = row->thread.flags & SAMPLER_KERNEL_THREAD ? UINT64_MAX
			   : due->process == process                 ? due->due_ns
								     : 0;
}

static __always_inline bool id_hint_is_wanted(struct id_hint_cpu *c, struct percpu_state *row,
					      uint64_t now)
{
	const uint64_t process = id_hint_process(&row->thread);
	struct id_hint_slot *s = &c->slots[id_hint_hash(process) >> (64 - ID_HINT_SLOT_BITS)];
	struct sampler_hint_due *due = id_hint_due(row, process);
	uint64_t pause_ns;

	if (s->process != process) {
		s->process = process;
		s->since_ns = now;
		s->count = 0;
	} else {
		pause_ns = now - s->since_ns >= ID_HINT_YOUNG_NS ? ID_HINT_AGAIN_NS
			   : s->count >= ID_HINT_BURST           ? ID_HINT_PAUSE_NS
								 : 0;
		if (now - s->last_ns < pause_ns) {
			due->process = process;
			due->due_ns = row->hint_due_ns = s->last_ns + pause_ns;
			return false;
		}
	}
	s->last_ns = now;
	s->count++;
	return true;
}

/* Makes the hint for sample e of the current task, and returns it, valid until the next hint of
 * this CPU, or NULL if none is wanted. e must have its addresses, and the row its thread. has_loop
 * is as in user_walk(). */
static __always_inline struct sampler_hint *id_hint_make(void *ctx, const struct sampler_event *e,
							 struct percpu_state *row, bool has_loop)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf();
	const uint32_t cpu = bpf_get_smp_processor_id();
	struct id_hint_cpu *c = bpf_map_lookup_elem(&id_hints, &cpu);
	struct id_hint_ctx step = {c, e->pcs, e->kernel_len / 8};
	uint32_t count = e->user_len / 8;
	long got;

	if (!c)
		return NULL;
	if (!id_hint_is_wanted(c, row, e->time_ns))
		return NULL;
	/*
	 * The pointer identifies the namespaces, which a process shares with its children. A helper
	 * call reads it: for each plain load the verifier of Linux 6.18 searches the names of all
	 * kernel types, and loading took 50 ms instead of 10.
	 */
	if (bpf_probe_read_kernel(&c->hint.namespaces, sizeof(c->hint.namespaces), &task->nsproxy))
		c->hint.namespaces = 0;
	got = bpf_get_stack(ctx, c->frames, SAMPLER_DEPTH_MAX * sizeof(c->frames[0]),
			    BPF_F_USER_STACK | BPF_F_USER_BUILD_ID);
	if (got < 0)
		got = 0;
	got /= sizeof(c->frames[0]);
	if (count > got)
		count = (uint32_t)got;
	c->hint.count = 0;
	if (has_loop)
		bpf_loop(count, id_hint_step, &step, 0);
	else
		for (uint32_t i = 0; i < ID_HINT_FRAMES && i < count; i++)
			id_hint_step(i, &step);
	return &c->hint;
}

#endif
