/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One run for each tick of a CPU's clock: the interrupted task's kernel and user stack as bare
 * addresses, into a ring buffer that nobody is woken for. Runs in interrupt context: nothing here
 * waits, and a page that is not there ends a stack.
 *
 * Kernel structs are declared with the fields used only; their offsets are relocated when loading.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler_event.h"
#include "user_walk.bpf.h"

enum {
	TASK_EXITING = 0x00000004,       /* PF_EXITING */
	TASK_KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
};

struct signal_struct {
	struct {
		int counter;
	} live;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int flags;
	unsigned int __state;
	int pid, tgid;
	uint64_t start_time;
	struct task_struct *group_leader;
	struct signal_struct *signal;
} __attribute__((preserve_access_index));

const volatile uint32_t filter = SAMPLER_FILTER_NONE;
const volatile uint32_t cgroup_count = 0;
/* Of user stacks, when the walk is ours; 0: it is the kernel's. */
const volatile uint32_t walk_depth = 0;
const volatile bool has_loop = false; /* the kernel has bpf_loop() */

/* What sampler_find_text() found. */
__u64 kernel_text, kernel_etext;
static const char text_name[] = "_text", etext_name[] = "_etext";

uint64_t children_missed; /* no room in `pids` */

volatile struct sampler_control control;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sampler_event);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct user_walk);
} walks SEC(".maps");

/* Hashes of stacks that a CPU has sent, by their upper bits: a stack that another one pushed out is
 * sent once more. A row for each CPU: the kernel makes the rows of arrays of its own for each CPU
 * one by one, which took a tenth of the whole start. */
struct sent {
	uint64_t hashes[1 << SAMPLER_SENT_BITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sent);
} sent SEC(".maps");

/* One row for each CPU, which alone writes it; mapped by the sampler, so that reading costs it no
 * system call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sampler_counters);
} counters SEC(".maps");

/* Process ids to sample. Filled by the sampler, and kept by the programs below. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint8_t);
} pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, SAMPLER_CGROUPS_MAX);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} cgroups SEC(".maps");

static bool is_in_cgroups(void)
{
	for (uint32_t i = 0; i < SAMPLER_CGROUPS_MAX && i < cgroup_count; i++)
		if (bpf_current_task_under_cgroup(&cgroups, i) == 1)
			return true;
	return false;
}

static bool is_filtered(uint32_t pid)
{
	if (filter == SAMPLER_FILTER_PIDS)
		return !bpf_map_lookup_elem(&pids, &pid);
	if (filter == SAMPLER_FILTER_CGROUP)
		return !is_in_cgroups();
	return false;
}

/* Then there is no kernel part, and asking for it costs a microsecond of cold caches. */
static bool was_in_user_mode(const void *ctx)
{
	return is_x86() && (*(const volatile uint64_t *)((const char *)ctx + X86_CS_OFF) & 3) == 3;
}

/* Bytes of addresses, at pcs[first] and on; or negative. */
static long put_user_stack(void *ctx, struct sampler_event *e, const struct user_regs *regs,
			   uint32_t task_flags, uint32_t first)
{
	const uint32_t zero = 0;
	struct user_walk *walk = bpf_map_lookup_elem(&walks, &zero);

	if (!walk_depth || !walk || !user_walk_suits(regs, task_flags))
		return bpf_get_stack(ctx, (char *)e->pcs + first * 8, SAMPLER_DEPTH_MAX * 8,
				     BPF_F_USER_STACK);
	return 8 * (long)user_walk(walk, regs, e->pcs, first, walk_depth, has_loop);
}

struct hash_ctx {
	const struct sampler_event *event;
	uint64_t hash;
};

/* Each step is one to one for a given address, so stacks that differ in one frame never meet. */
static long hash_step(uint64_t i, struct hash_ctx *ctx)
{
	uint64_t h = (ctx->hash ^ ctx->event->pcs[i & (SAMPLER_PCS_MAX - 1)]) * 0x9e3779b97f4a7c15;

	ctx->hash = h ^ h >> 32;
	return 0;
}

/* 0: no hash is wanted. */
static uint64_t hash_of(const struct sampler_event *e, uint32_t count)
{
	struct hash_ctx ctx = {e, control.hash_start};

	if (!ctx.hash)
		return 0;
	ctx.hash ^= (uint64_t)e->kernel_len << 32 | e->user_len;
	if (has_loop)
		bpf_loop(count, hash_step, &ctx, 0);
	else
		for (uint32_t i = 0; i < SAMPLER_PCS_MAX && i < count; i++)
			hash_step(i, &ctx);
	return ctx.hash ? ctx.hash : 1;
}

SEC("perf_event")
int sampler_tick(void *ctx)
{
	const uint64_t id = bpf_get_current_pid_tgid();
	const uint32_t pid = id >> 32, zero = 0, cpu = bpf_get_smp_processor_id();
	struct sampler_counters *counts = bpf_map_lookup_elem(&counters, &cpu);
	struct sampler_event *e = bpf_map_lookup_elem(&scratch, &zero);
	struct user_regs regs = {.syscall = -1};
	struct task_struct *task;
	uint32_t task_flags;
	long kernel_len, user_len;
	uint64_t len, now, *sent_hash = NULL;
	struct sent *row;

	if (!counts || !e)
		return 0; /* cannot be: there are as many rows as CPUs */
	now = bpf_ktime_get_ns();
	if (!counts->first_ns)
		counts->first_ns = now;
	counts->last_ns = now;
	counts->runs++;
	if ((uint32_t)id == 0) {
		counts->idle++;
		return 0;
	}
	if (is_filtered(pid)) {
		counts->filtered++;
		return 0;
	}
	task = (struct task_struct *)bpf_get_current_task_btf();
	e->time_ns = now;
	e->start_ns = BPF_CORE_READ(task, group_leader, start_time);
	e->cgroup_id = bpf_get_current_cgroup_id();
	e->pid = pid;
	e->tid = (uint32_t)id;
	e->cpu = cpu;
	e->state = task->__state;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	task_flags = task->flags;
	e->flags = (task_flags & TASK_KERNEL_THREAD ? SAMPLER_KERNEL_THREAD : 0) |
		   (task_flags & TASK_EXITING ? SAMPLER_EXITING : 0);
	if (!(e->flags & SAMPLER_KERNEL_THREAD))
		user_regs_read(&regs, task);
	e->syscall = regs.syscall;

	kernel_len =
		was_in_user_mode(ctx) ? 0 : bpf_get_stack(ctx, e->pcs, SAMPLER_DEPTH_MAX * 8, 0);
	e->kernel_err = kernel_len < 0 ? (int16_t)kernel_len : 0;
	if (kernel_len < 0)
		kernel_len = 0;
	kernel_len &= SAMPLER_STACK_MASK;
	e->kernel_len = (uint16_t)kernel_len;
	user_len = 0;
	e->user_err = 0;
	if (!(e->flags & SAMPLER_KERNEL_THREAD)) {
		user_len = put_user_stack(ctx, e, &regs, task_flags, (uint32_t)kernel_len / 8);
		e->user_err = user_len < 0 ? (int16_t)user_len : 0;
		if (user_len < 0)
			user_len = 0;
	}
	user_len &= SAMPLER_STACK_MASK;
	e->user_len = (uint16_t)user_len;

	len = offsetof(struct sampler_event, pcs) + (uint64_t)kernel_len + (uint64_t)user_len;
	e->stack_hash = hash_of(e, (uint32_t)(kernel_len + user_len) / 8);
	if (e->stack_hash) {
		row = bpf_map_lookup_elem(&sent, &cpu);
		if (row)
			sent_hash = &row->hashes[e->stack_hash >> (64 - SAMPLER_SENT_BITS)];
	}
	if (sent_hash && *sent_hash == e->stack_hash) {
		e->flags |= SAMPLER_STACK_SENT;
		len = offsetof(struct sampler_event, pcs);
	}
	if (bpf_ringbuf_output(&ring, e, len, BPF_RB_NO_WAKEUP)) {
		counts->ring_full++;
		return 0;
	}
	if (sent_hash)
		*sent_hash = e->stack_hash;
	counts->stored++;
	if (!kernel_len && !user_len)
		counts->stack_fault++;
	return 0;
}

/* --- children of sampled processes; loaded only with a set of process ids ------------------- */

SEC("tp_btf/sched_process_fork")
int sampler_fork(uint64_t *ctx)
{
	const struct task_struct *parent = (const void *)ctx[0], *child = (const void *)ctx[1];
	const uint32_t parent_pid = parent->tgid, pid = child->tgid;
	const uint8_t one = 1;

	if (pid != parent_pid && bpf_map_lookup_elem(&pids, &parent_pid) &&
	    bpf_map_update_elem(&pids, &pid, &one, BPF_ANY))
		__sync_fetch_and_add(&children_missed, 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int sampler_exit(uint64_t *ctx)
{
	const struct task_struct *task = (const void *)ctx[0];
	const uint32_t pid = task->tgid;

	/* The first thread may end before others. */
	if (task->signal->live.counter == 0)
		bpf_map_delete_elem(&pids, &pid);
	return 0;
}

/* --- where the kernel lies: run once; reading /proc/kallsyms takes 50 ms ------------------- */

SEC("syscall")
int sampler_find_text(void *ctx __attribute__((unused)))
{
	long rc = bpf_kallsyms_lookup_name(text_name, sizeof(text_name), 0, &kernel_text);

	return rc ? rc : bpf_kallsyms_lookup_name(etext_name, sizeof(etext_name), 0, &kernel_etext);
}

char program_license[] SEC("license") = "Dual BSD/GPL";
