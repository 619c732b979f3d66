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

enum {
	TASK_EXITING = 0x00000004,       /* PF_EXITING */
	TASK_KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
};

struct task_struct {
	unsigned int flags;
	uint64_t start_time;
	struct task_struct *group_leader;
} __attribute__((preserve_access_index));

struct pt_regs___x86 {
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	int32_t syscallno;
} __attribute__((preserve_access_index));

const volatile uint32_t filter = SAMPLER_FILTER_NONE;

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
	__uint(max_entries, SAMPLER_COUNTER_COUNT);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, uint8_t);
} pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} cgroups SEC(".maps");

static void count(uint32_t which)
{
	uint64_t *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		(*n)++;
}

static bool is_filtered(uint32_t pid)
{
	if (filter == SAMPLER_FILTER_PIDS)
		return !bpf_map_lookup_elem(&pids, &pid);
	if (filter == SAMPLER_FILTER_CGROUP)
		return bpf_current_task_under_cgroup(&cgroups, 0) != 1;
	return false;
}

/* Entries by interrupt or fault store a number that no system call has. */
static int32_t syscall_of(struct task_struct *task)
{
	void *regs = (void *)bpf_task_pt_regs(task);

	if (bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax))
		return (int32_t)BPF_CORE_READ((struct pt_regs___x86 *)regs, orig_ax);
	if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->syscallno))
		return BPF_CORE_READ((struct pt_regs___arm64 *)regs, syscallno);
	return -1;
}

SEC("perf_event")
int sampler_tick(void *ctx)
{
	const uint64_t id = bpf_get_current_pid_tgid();
	const uint32_t pid = id >> 32, zero = 0;
	struct task_struct *task;
	struct sampler_event *e;
	long kernel_len, user_len;
	uint64_t len;

	count(SAMPLER_RUNS);
	if ((uint32_t)id == 0) {
		count(SAMPLER_IDLE);
		return 0;
	}
	if (is_filtered(pid)) {
		count(SAMPLER_FILTERED);
		return 0;
	}
	e = bpf_map_lookup_elem(&scratch, &zero);
	if (!e)
		return 0; /* cannot be: the map has an entry 0 */
	task = (struct task_struct *)bpf_get_current_task_btf();
	e->time_ns = bpf_ktime_get_ns();
	e->start_ns = BPF_CORE_READ(task, group_leader, start_time);
	e->cgroup_id = bpf_get_current_cgroup_id();
	e->pid = pid;
	e->tid = (uint32_t)id;
	e->cpu = bpf_get_smp_processor_id();
	e->reserved = 0;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	e->flags = (task->flags & TASK_KERNEL_THREAD ? SAMPLER_KERNEL_THREAD : 0) |
		   (task->flags & TASK_EXITING ? SAMPLER_EXITING : 0);
	e->syscall = e->flags & SAMPLER_KERNEL_THREAD ? -1 : syscall_of(task);

	kernel_len = bpf_get_stack(ctx, e->pcs, SAMPLER_DEPTH_MAX * 8, 0);
	e->kernel_err = kernel_len < 0 ? (int16_t)kernel_len : 0;
	if (kernel_len < 0)
		kernel_len = 0;
	kernel_len &= SAMPLER_STACK_MASK;
	e->kernel_len = (uint16_t)kernel_len;
	user_len = 0;
	e->user_err = 0;
	if (!(e->flags & SAMPLER_KERNEL_THREAD)) {
		user_len = bpf_get_stack(ctx, (char *)e->pcs + kernel_len, SAMPLER_DEPTH_MAX * 8,
					 BPF_F_USER_STACK);
		e->user_err = user_len < 0 ? (int16_t)user_len : 0;
		if (user_len < 0)
			user_len = 0;
	}
	user_len &= SAMPLER_STACK_MASK;
	e->user_len = (uint16_t)user_len;

	len = offsetof(struct sampler_event, pcs) + (uint64_t)kernel_len + (uint64_t)user_len;
	if (bpf_ringbuf_output(&ring, e, len, BPF_RB_NO_WAKEUP)) {
		count(SAMPLER_RING_FULL);
		return 0;
	}
	count(SAMPLER_STORED);
	if (!kernel_len && !user_len)
		count(SAMPLER_STACK_FAULT);
	return 0;
}

char program_license[] SEC("license") = "Dual BSD/GPL";
