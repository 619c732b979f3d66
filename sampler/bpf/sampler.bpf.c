/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This program runs at each tick of a CPU's clock and writes the interrupted task's kernel and user
 * stack as bare addresses into a ring, without waking a reader. It runs in interrupt context:
 * nothing here waits, and a page that is not in memory ends a stack.
 *
 * Kernel structs are declared with only the fields that are used; their offsets are relocated when
 * the program is loaded.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler_event.h"
#include "user_walk.bpf.h"

#define likely(x) __builtin_expect(!!(x), 1)

enum {
	TASK_EXITING = 0x00000004,       /* PF_EXITING */
	TASK_KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
};

_Static_assert(sizeof(struct user_walk) == sizeof(((struct percpu_state *)0)->walk), "its place");
_Static_assert(sizeof(struct percpu_state) == PERCPU_STATE_WORDS * 8, "two pages");
_Static_assert(sizeof(struct percpu_state) - sizeof(((struct user_walk *)0)->words) == 4096,
	       "of which the second one is for the copy of a stack");

struct signal_struct {
	struct {
		int counter;
	} live;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int flags;
	unsigned int __state;
	int pid, tgid;
	char comm[SAMPLER_COMM_LEN];
	uint64_t start_time;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	uint64_t self_exec_id;
	void *nsproxy;
} __attribute__((preserve_access_index));

#include "id_hint.bpf.h"

const volatile uint32_t filter = SAMPLER_FILTER_NONE;
const volatile uint32_t cgroup_count = 0;
/* Most frames of user_walk(); 0: the kernel walks user stacks. */
const volatile uint32_t walk_depth = 0;
const volatile bool has_loop = false; /* the kernel has bpf_loop() */

/* The results of sampler_find_text(). */
__u64 kernel_text, kernel_etext;
static const char text_name[] = "_text", etext_name[] = "_etext";

uint64_t children_missed; /* children for which `pids` had no room */

/* One row for each CPU; the program uses the row of its own CPU only. The sampler maps the rows, so
 * reading them takes no system call. A per-CPU array would touch two more pages on each lookup. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct percpu_state);
} rows SEC(".maps");

/* One ring for each CPU; the sampler sets the length before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, SAMPLER_RING_MIN + SAMPLER_EVENT_MAX);
} rings SEC(".maps");
const volatile uint32_t ring_len = SAMPLER_RING_MIN;

#include "event_ring.bpf.h"

/* The processes to sample. The sampler fills the set, and the programs below add children and drop
 * processes that exit. */
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

static bool is_filtered(struct percpu_state *row, uint32_t pid, uint64_t start_ns)
{
	if (filter == SAMPLER_FILTER_PIDS) {
		if (row->known_pid == pid && row->known_start_ns == start_ns)
			return false;
		if (!bpf_map_lookup_elem(&pids, &pid))
			return true;
		row->known_pid = pid;
		row->known_start_ns = start_ns;
		return false;
	}
	if (filter == SAMPLER_FILTER_CGROUP)
		return !is_in_cgroups();
	return false;
}

/* A tick in user mode has no kernel part; asking for it would cost a microsecond of cold caches. */
static __always_inline bool was_in_user_mode(const void *ctx)
{
	return is_x86() && (*(const volatile uint64_t *)((const char *)ctx + X86_CS_OFF) & 3) == 3;
}

/* Interrupted user space has its registers in the context, so no helper call is needed. */
static __always_inline void regs_of_ctx(struct user_regs *ret, const void *ctx)
{
	const char *regs = ctx;

	ret->fp = *(const volatile uint64_t *)(regs + X86_BP_OFF);
	ret->pc = *(const volatile uint64_t *)(regs + X86_IP_OFF);
	ret->is_64bit = (uint16_t) * (const volatile uint64_t *)(regs + X86_CS_OFF) == X86_USER_CS;
}

struct hash_ctx {
	const uint64_t *pcs;
	uint64_t at, hash;
};

static long hash_step(uint64_t i, struct hash_ctx *ctx)
{
	ctx->hash = user_walk_hash(ctx->hash, ctx->pcs[(ctx->at + i) & (SAMPLER_PCS_MAX - 1)]);
	return 0;
}

/* Hashes addresses that the kernel walked; user_walk() hashes its own. */
static __noinline void hash_pcs(struct sampler_event *e, uint32_t at, uint32_t count)
{
	struct hash_ctx ctx = {e->pcs, at, e->stack_hash};

	if (has_loop)
		bpf_loop(count, hash_step, &ctx, 0);
	else
		for (uint32_t i = 0; i < SAMPLER_PCS_MAX && i < count; i++)
			hash_step(i, &ctx);
	e->stack_hash = ctx.hash;
}

static __always_inline uint8_t errno_of(long rc)
{
	return rc < -UINT8_MAX ? UINT8_MAX : (uint8_t)-rc;
}

/*
 * Most ticks do not need these functions and put_rest(), so they are not inlined: each cache line
 * of code that a tick runs through is a cache miss. They are not static, so that the verifier
 * checks each once, by itself, and not again for each path that calls it.
 */
__noinline int put_kernel_part(struct bpf_perf_event_data *ctx, struct sampler_event *e)
{
	long len;

	if (!e)
		return 0;
	len = bpf_get_stack(ctx, e->pcs, SAMPLER_DEPTH_MAX * 8, 0);
	if (len < 0) {
		e->kernel_err = errno_of(len);
		return 0;
	}
	len &= SAMPLER_STACK_MASK;
	e->kernel_len = (uint16_t)len;
	hash_pcs(e, 0, (uint32_t)len / 8);
	return 0;
}

/* Writes the user part as the kernel walks it. */
__noinline int put_user_part(struct bpf_perf_event_data *ctx, struct sampler_event *e)
{
	uint32_t at;
	long len;

	if (!e)
		return 0;
	at = e->kernel_len & SAMPLER_STACK_MASK;
	len = bpf_get_stack(ctx, (char *)e->pcs + at, SAMPLER_DEPTH_MAX * 8, BPF_F_USER_STACK);
	if (len < 0) {
		e->user_err = errno_of(len);
		return 0;
	}
	len &= SAMPLER_STACK_MASK;
	e->user_len = (uint16_t)len;
	hash_pcs(e, at / 8, (uint32_t)len / 8);
	return 0;
}

/*
 * Returns when the process of the current task started, for a thread that is not its first. It
 * reads through pointers by helper calls: for a plain load the verifier of Linux 6.18 searches the
 * names of all kernel types, four times, which took a fifth of the time to load.
 */
__noinline uint64_t start_of_process(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task_btf(), *leader;
	uint64_t start_ns;

	bpf_probe_read_kernel(&leader, sizeof(leader), &task->group_leader);
	bpf_probe_read_kernel(&start_ns, sizeof(start_ns), &leader->start_time);
	return start_ns;
}

/* Returns whether this CPU has sent the stack with that hash, and remembers it as sent. A stack
 * whose slot another one took is sent again. */
static __always_inline bool was_sent(struct percpu_state *row, uint64_t hash)
{
	uint64_t *slot = &row->sent_hashes[hash >> (64 - SAMPLER_SENT_BITS)];
	const bool was = *slot == hash;

	*slot = hash;
	return was;
}

static __always_inline bool is_same_thread(const struct sampler_thread *a,
					   const struct sampler_thread *b)
{
	const uint64_t *x = (const void *)a, *y = (const void *)b;
	uint64_t differ = 0;

#pragma unroll
	for (uint32_t i = 0; i < sizeof(*a) / 8; i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

/*
 * Appends what follows the sample at the head, which has len bytes:
 *
 *	sampler_event | sampler_thread, if it changed | sampler_hint, if one is due
 *
 * Returns the length of all three. It is not static, so that the verifier checks it once, by
 * itself.
 */
__noinline int put_rest(struct bpf_perf_event_data *ctx, struct percpu_state *row,
			struct sampler_event *e, const struct sampler_thread *thread, uint64_t len)
{
	const uint32_t cpu = bpf_get_smp_processor_id();
	char *to = bpf_map_lookup_elem(&rings, &cpu);
	struct sampler_hint *hint = NULL;
	uint64_t more;

	if (!row || !e || !thread || !to)
		return 0;
	bounded_by_register(len);
	if (len > sizeof(*e))
		return 0;
	to = (char *)next_event(row, to) + (len & ~7ULL);
	if (!is_same_thread(&row->thread, thread)) {
		e->flags |= SAMPLER_NEW_THREAD;
		row->thread = *thread;
		id_hint_set_thread(row);
	}
	/* The addresses are still in the ring, even when only their hash is sent. */
	if (e->user_len && e->time_ns >= row->hint_due_ns)
		hint = id_hint_make(ctx, e, row, has_loop);
	/* The flags are read back from memory, of which the verifier assumes nothing; otherwise
	 * it would check the rest once for each path that leads here. */
	more = (*(volatile uint16_t *)&e->flags / SAMPLER_NEW_THREAD & 1) * sizeof(*thread);
	*(struct sampler_thread *)to = *thread;
	to += more;
	len += more;
	if (hint) {
		e->flags |= SAMPLER_HINT;
		bpf_probe_read_kernel(to, sizeof(*hint), hint);
		len += offsetof(struct sampler_hint, rows) + hint->count * sizeof(hint->rows[0]);
	}
	return (int)len;
}

static __always_inline void count_run(struct sampler_counters *counts, uint64_t now)
{
	if (!counts->first_ns)
		counts->first_ns = now;
	counts->last_ns = now;
	counts->runs++;
}

/* Sets all of the thread but its ids and its system call. Returns the flags of the task. */
static __always_inline uint32_t describe_task(struct sampler_thread *thread,
					      const struct task_struct *task)
{
	uint32_t task_flags;

	thread->state = task->__state;
	*(uint64_t *)thread->comm = *(uint64_t *)task->comm;
	*(uint64_t *)(thread->comm + 8) = *(uint64_t *)(task->comm + 8);
	thread->exec_id = (uint32_t)task->self_exec_id;
	task_flags = task->flags;
	thread->flags = (task_flags / TASK_KERNEL_THREAD & 1) * SAMPLER_KERNEL_THREAD |
			(task_flags / TASK_EXITING & 1) * SAMPLER_EXITING;
	thread->cgroup_id = bpf_get_current_cgroup_id();
	return task_flags;
}

/* Sets all of the event that stands before its stack. Returns where hashes of stacks start, or 0 if
 * stacks have none. */
static __always_inline uint64_t begin_event(struct sampler_event *e, const struct percpu_state *row,
					    uint64_t now)
{
	uint64_t hash_start;

	e->time_ns = now;
	e->kernel_len = e->user_len = e->flags = 0;
	e->kernel_err = e->user_err = 0;
	hash_start = *(volatile uint64_t *)&row->hash_start;
	e->stack_hash = hash_start;
	return hash_start;
}

/* Sets the registers of user mode, if the thread has been there, and puts the kernel part if the
 * tick came in the kernel. */
static __always_inline void begin_stack(struct bpf_perf_event_data *ctx, struct sampler_event *e,
					struct user_regs *regs, struct task_struct *task,
					uint32_t task_flags)
{
	if (likely(was_in_user_mode(ctx))) {
		regs_of_ctx(regs, ctx);
	} else {
		if (!(task_flags & TASK_KERNEL_THREAD))
			user_regs_read(regs, task);
		put_kernel_part(ctx, e);
	}
}

/* Puts the user part behind `kernel_count` addresses, by our own walk over frame pointers. */
static __always_inline void walk_user_part(struct user_walk *walk, const struct user_regs *regs,
					   struct sampler_event *e, uint32_t kernel_count)
{
	e->user_len = (uint16_t)(8 * user_walk(walk, regs, e->pcs, kernel_count, walk_depth,
					       has_loop, &e->stack_hash));
	e->user_err = (uint8_t)walk->fault * USER_WALK_EFAULT;
}

/* Ends the hash with where the kernel part ends. Returns it; 0 stands for no hash. */
static __always_inline uint64_t hash_stack(struct sampler_event *e, uint64_t hash_start,
					   uint64_t lens)
{
	const uint64_t hash = user_walk_hash(e->stack_hash, lens);

	e->stack_hash = !hash_start ? 0 : hash ? hash : 1;
	return e->stack_hash;
}

SEC("perf_event")
int sampler_tick(struct bpf_perf_event_data *ctx)
{
	const uint32_t cpu = bpf_get_smp_processor_id();
	struct percpu_state *row = bpf_map_lookup_elem(&rows, &cpu);
	char *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct user_regs regs = {.syscall = -1};
	struct user_walk *walk;
	struct sampler_counters *counts;
	struct sampler_thread thread = {0};
	struct sampler_event *e;
	struct task_struct *task;
	uint32_t task_flags;
	uint64_t len, now, hash_start, kernel_len, user_len;

	if (!row || !ring)
		return 0; /* never happens: there are as many rows as CPUs with a clock */
	counts = &row->counts;
	walk = (struct user_walk *)row->walk;
	now = bpf_ktime_get_ns();
	count_run(counts, now);
	task = (struct task_struct *)bpf_get_current_task_btf();
	thread.tid = (uint32_t)task->pid;
	if (!thread.tid) {
		counts->idle++;
		return 0;
	}
	thread.pid = (uint32_t)task->tgid;
	thread.start_ns = likely(thread.pid == thread.tid) ? task->start_time : start_of_process();
	if (is_filtered(row, thread.pid, thread.start_ns)) {
		counts->filtered++;
		return 0;
	}
	if (!ring_has_room(row)) {
		counts->ring_full++;
		return 0;
	}
	task_flags = describe_task(&thread, task);
	e = next_event(row, ring);
	hash_start = begin_event(e, row, now);
	begin_stack(ctx, e, &regs, task, task_flags);
	thread.syscall = regs.syscall;
	/* The length is read back even where it is known to be 0, so that both paths look alike to
	 * the verifier and it checks the walk once. */
	kernel_len = *(volatile uint16_t *)&e->kernel_len & SAMPLER_STACK_MASK;
	if (likely(walk_depth && user_walk_suits(&regs, task_flags)))
		walk_user_part(walk, &regs, e, (uint32_t)kernel_len / 8);
	else if (!(task_flags & TASK_KERNEL_THREAD))
		put_user_part(ctx, e);
	user_len = e->user_len & SAMPLER_STACK_MASK;
	len = offsetof(struct sampler_event, pcs) + kernel_len + user_len;
	if (hash_stack(e, hash_start, kernel_len << 32 | user_len) &&
	    was_sent(row, e->stack_hash)) {
		e->flags = SAMPLER_STACK_SENT;
		len = offsetof(struct sampler_event, pcs);
	}
	if (!likely(is_same_thread(&row->thread, &thread) && now < row->hint_due_ns))
		len = (uint32_t)put_rest(ctx, row, e, &thread, len);
	publish_event(row, len);
	counts->stored++;
	if (!kernel_len && !user_len)
		counts->stack_fault++;
	return 0;
}

/* --- children of sampled processes; loaded only with a set of process ids -------------------- */

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

	/* The first thread of a process may end before the others. */
	if (task->signal->live.counter == 0)
		bpf_map_delete_elem(&pids, &pid);
	return 0;
}

/* --- where the kernel lies: run once; reading /proc/kallsyms takes 50 ms --------------------- */

SEC("syscall")
int sampler_find_text(void *ctx __attribute__((unused)))
{
	long rc = bpf_kallsyms_lookup_name(text_name, sizeof(text_name), 0, &kernel_text);

	return rc ? rc : bpf_kallsyms_lookup_name(etext_name, sizeof(etext_name), 0, &kernel_etext);
}

char program_license[] SEC("license") = "Dual BSD/GPL";
