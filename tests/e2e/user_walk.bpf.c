/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Both walks of a user stack at the same tick: the kernel's, and that of
 * sampler/bpf/user_walk.bpf.h. user_walk.c compares them.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

struct task_struct {
	unsigned int flags;
} __attribute__((preserve_access_index));

#include "user_walk.bpf.h"
#include "user_walk_tick.h"

const volatile bool has_loop = false;
volatile uint32_t wanted_pid;
uint64_t ring_full, left_to_kernel;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} ring SEC(".maps");

struct scratch {
	struct user_walk_tick tick;
	struct user_walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

SEC("perf_event")
int user_walk_both(void *ctx)
{
	const uint32_t zero = 0;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &zero);
	struct task_struct *task;
	struct user_regs regs;
	uint64_t hash = 0;
	long len;

	if (!s || bpf_get_current_pid_tgid() >> 32 != wanted_pid)
		return 0;
	task = (struct task_struct *)bpf_get_current_task_btf();
	user_regs_read(&regs, task);
	if (!user_walk_suits(&regs, task->flags)) {
		__sync_fetch_and_add(&left_to_kernel, 1);
		return 0;
	}
	bpf_get_current_comm(s->tick.comm, sizeof(s->tick.comm));
	s->tick.syscall = regs.syscall;
	s->tick.ours_count =
		user_walk(&s->walk, &regs, s->tick.ours, 0, USER_WALK_TICK_DEPTH, has_loop, &hash);
	len = bpf_get_stack(ctx, s->tick.theirs, USER_WALK_TICK_DEPTH * 8, BPF_F_USER_STACK);
	s->tick.theirs_count = len < 0 ? 0 : (uint32_t)len / 8;
	if (bpf_ringbuf_output(&ring, &s->tick, sizeof(s->tick), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&ring_full, 1);
	return 0;
}

char program_license[] SEC("license") = "Dual BSD/GPL";
