/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_USER_WALK_BPF_H
#define RAWSTACK_USER_WALK_BPF_H
/*
 * Walks a user stack by frame pointers and finds the same addresses as
 * bpf_get_stack(BPF_F_USER_STACK), which tests/e2e/user_walk.c checks. The kernel's walk waits for
 * each frame in turn; this one copies the stack in blocks and follows frame pointers in the copy,
 * which takes half the time if the stack is not in the caches. The end of the walk before tells how
 * much to copy at once, because mostly it was the same thread, and each copy is a call that waits
 * for the one before.
 *
 * A walk of records that lie far apart, which only a hostile program has, copies 126 blocks.
 *
 * A walk ends where the kernel's does: at the depth limit; at a record that cannot be read (nothing
 * waits for a page here); on arm64 also at one that does not lie above its predecessor or is not
 * aligned. On x86 any other record is followed; user space, which knows the mappings, decides
 * whether a caller is plausible.
 *
 * It is for programs on perf events. The including file has defined the fixed-width types.
 */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	USER_WALK_DEPTH = 127,
	USER_WALK_PAGE = 4096,
	USER_WALK_BLOCK = 1024, /* divides a page */
	USER_WALK_FIRST = 512,  /* first block of an unknown stack, as most are short */
	USER_WALK_NEAR = 65536, /* so near to the end of the walk before it seems the same stack */
	USER_WALK_STRIDE = 2,   /* records in a step, which is a call; more take longer to verify */
	USER_WALK_STEPS = (USER_WALK_DEPTH + USER_WALK_STRIDE - 1) / USER_WALK_STRIDE,
	USER_WALK_RECORD = 16, /* the caller's frame pointer, the return address */
	USER_WALK_EFAULT = 14,
	USER_WALK_NULL = 4096, /* no record lies below this; most chains end there */
};

/*
 * A walk under way. It is kept in a map and not in registers, because the verifier assumes nothing
 * of values from a map. So all steps look alike to it, and it checks the code after a walk once and
 * not once for each number of frames.
 */
struct user_walk {
	uint64_t fp;
	uint64_t count; /* addresses found */
	uint64_t base;  /* the address that words[] was copied from */
	uint64_t last;  /* index in words[] of the last record that fits */
	uint64_t mask;  /* length of the next block, minus 1 */
	uint64_t hash;  /* hash of the addresses found, see user_walk_hash() */
	uint64_t top;   /* address of the last record read, in this walk or the one before */
	uint64_t fault; /* 1: the walk ended where memory could not be read */
	uint64_t words[USER_WALK_PAGE / 8];
};

/*
 * Makes the compiler forget what it knows of a number, so that the next comparison is made on the
 * register that is used afterwards. Verifiers before about Linux 6.5 apply a bound only to the very
 * register that was compared: not to a copy on the stack, nor to a number that the compiler derived
 * from it to compare, such as len - 16 for 16 <= len <= 4096.
 */
#define bounded_by_register(number) __asm__ volatile("" : "+r"(number))

/* Adds an address to a hash. For a given address this is one to one, so stacks that differ in one
 * frame only never collide. */
static __always_inline uint64_t user_walk_hash(uint64_t hash, uint64_t address)
{
	uint64_t h = (hash ^ address) * 0x9e3779b97f4a7c15;

	return h ^ h >> 32;
}

/* The argument of user_walk_step(). */
struct user_walk_ctx {
	struct user_walk *walk;
	uint64_t *pcs; /* 256 of them */
	uint64_t first, depth;
};

struct pt_regs___x86 {
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	int32_t syscallno;
} __attribute__((preserve_access_index));

/* The registers of user space when it entered the kernel. */
struct user_regs {
	uint64_t fp, pc;
	/* The system call that the thread is in. An entry by an interrupt or a fault stores a
	 * number that no system call has. */
	int32_t syscall;
	bool is_64bit;
};

/* Offsets of registers, which are part of the interface to user space on both machines. */
enum {
	X86_BP_OFF = 32, /* <asm/ptrace.h>: struct pt_regs */
	X86_ORIG_AX_OFF = 120,
	X86_IP_OFF = 128,
	X86_CS_OFF = 136,
	X86_USER_CS = 0x33,  /* 64-bit code; 32-bit code and some hypervisors have another */
	ARM64_FP_OFF = 232,  /* <asm/ptrace.h>: struct user_pt_regs, its regs[29] */
	ARM64_MODE_32 = 0x10 /* PSR_MODE32_BIT */
};

enum {
	USER_WALK_NOT = 0x00000004 | /* PF_EXITING: its memory may be gone */
			/* PF_IO_WORKER, PF_USER_WORKER: threads that the kernel runs for a process.
			 * Before Linux 6.4, the second flag had another, harmless meaning. */
			0x00000010 | 0x00004000
};

static __always_inline bool is_x86(void)
{
	return bpf_core_field_exists(((struct pt_regs___x86 *)0)->orig_ax);
}

static __always_inline void user_regs_read(struct user_regs *ret, struct task_struct *task)
{
	const char *regs = (const char *)bpf_task_pt_regs(task);
	struct {
		uint64_t fp, lr, sp, pc, pstate;
	} arm64;

	*ret = (struct user_regs){.syscall = -1};
	if (is_x86()) {
		ret->fp = *(const uint64_t *)(regs + X86_BP_OFF);
		ret->pc = *(const uint64_t *)(regs + X86_IP_OFF);
		ret->syscall = (int32_t) * (const uint64_t *)(regs + X86_ORIG_AX_OFF);
		/* Only 16 bits are the selector; the others describe how the kernel was entered. */
		ret->is_64bit = *(const uint16_t *)(regs + X86_CS_OFF) == X86_USER_CS;
	} else if (bpf_core_field_exists(((struct pt_regs___arm64 *)0)->syscallno)) {
		if (bpf_probe_read_kernel(&arm64, sizeof(arm64), regs + ARM64_FP_OFF))
			return;
		ret->fp = arm64.fp;
		ret->pc = arm64.pc;
		ret->syscall = BPF_CORE_READ((struct pt_regs___arm64 *)regs, syscallno);
		ret->is_64bit = !(arm64.pstate & ARM64_MODE_32);
	}
}

/* Returns whether user_walk() can walk that thread. The kernel walks the others, which are rare. */
static __always_inline bool user_walk_suits(const struct user_regs *regs, uint32_t task_flags)
{
	return regs->is_64bit && !(task_flags & USER_WALK_NOT);
}

/* Walks USER_WALK_STRIDE more frame records. Returns nonzero if the walk is over. It has few
 * branches, because each makes the verifier's work longer. */
static long user_walk_step(uint64_t i __attribute__((unused)), struct user_walk_ctx *ctx)
{
	struct user_walk *w = ctx->walk;
	uint64_t fp = w->fp, base = w->base, last = w->last, count = w->count, hash = w->hash,
		 top = w->top;
	long is_over = 1;

#pragma nounroll
	for (int n = 0; n < USER_WALK_STRIDE; n++) {
		uint64_t off = fp - base, next, pc;

		if (fp < USER_WALK_NULL || count >= ctx->depth || (!is_x86() && fp & 7))
			goto end;
		/* The rotation makes an offset that is not a multiple of 8 large. */
		if ((off >> 3 | off << 61) > last) {
			/* Copy up to the end of the block, or a whole record that crosses it. */
			uint64_t len = (~fp & w->mask & (USER_WALK_PAGE - 1)) + 1;

			len += (uint64_t)((int64_t)(len - USER_WALK_RECORD) >> 63) &
			       USER_WALK_RECORD;
			if (bpf_probe_read_user(w->words, len, (const void *)fp)) {
				w->fault = 1;
				goto end;
			}
			w->mask = USER_WALK_BLOCK - 1;
			base = fp;
			last = (len - USER_WALK_RECORD) / 8;
			off = 0;
		}
		off /= 8;
		next = w->words[off & (USER_WALK_PAGE / 8 - 1)];
		pc = w->words[(off + 1) & (USER_WALK_PAGE / 8 - 1)];
		top = fp;
		ctx->pcs[(ctx->first + count) & 255] = pc;
		hash = user_walk_hash(hash, pc);
		count++;
		if (!is_x86() && next <= fp)
			goto end;
		fp = next;
	}
	w->fp = fp;
	w->base = base;
	w->last = last;
	is_over = 0;
end:
	w->top = top;
	w->count = count;
	w->hash = hash;
	return is_over;
}

/*
 * Writes the addresses from pcs[first] on and returns how many, at least 1 and at most `depth`,
 * which is 127 or less. pcs has 256 rows; w is that of the walk before, or all zeros. has_loop, a
 * constant to the verifier, says whether this kernel has bpf_loop() (Linux 5.17), which spares the
 * verifier most of its work. user_walk_hash() adds the addresses to *hash here, where they are at
 * hand.
 */
static __always_inline uint32_t user_walk(struct user_walk *w, const struct user_regs *regs,
					  uint64_t *pcs, uint32_t first, uint32_t depth,
					  bool has_loop, uint64_t *hash)
{
	struct user_walk_ctx ctx = {w, pcs, first, depth};
	uint64_t len = w->top + USER_WALK_RECORD - regs->fp;

	pcs[first & 255] = regs->pc;
	w->hash = user_walk_hash(*hash, regs->pc);
	w->fp = regs->fp;
	w->count = 1;
	w->fault = 0;
	w->base = regs->fp + 8; /* no record can lie there, so the first step copies */
	w->last = 0;
	w->mask = (len <= USER_WALK_NEAR ? USER_WALK_PAGE : USER_WALK_FIRST) - 1;
	/* Copy all of it at once, even across the end of a page: there was a record in both. */
	bounded_by_register(len);
	if (len >= USER_WALK_RECORD) {
		bounded_by_register(len);
		if (len <= USER_WALK_PAGE &&
		    !bpf_probe_read_user(w->words, len, (const void *)regs->fp)) {
			w->base = regs->fp;
			w->last = (len - USER_WALK_RECORD) / 8;
		}
	}
	if (has_loop)
		bpf_loop(USER_WALK_STEPS, user_walk_step, &ctx, 0);
	else
		for (uint32_t i = 0; i < USER_WALK_STEPS && !user_walk_step(i, &ctx); i++)
			;
	*hash = w->hash;
	return w->count < depth ? (uint32_t)w->count : depth;
}

#endif
