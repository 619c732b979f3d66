/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_USER_WALK_BPF_H
#define RAWSTACK_USER_WALK_BPF_H
/*
 * The user part of a stack by frame pointers, as bpf_get_stack(BPF_F_USER_STACK) has it, address by
 * address: tests/e2e/user_walk.c holds both against each other. The kernel's walk waits for each
 * frame in turn; this one copies the stack by the block and follows frame pointers in the copy,
 * which takes half the time once the caches have forgotten the stack. Where the walk before ended
 * tells how much to copy at once: mostly it is the same thread, and each copy is a call that waits
 * for the one before.
 *
 * A walk of records that lie far apart, as nobody but a hostile program has them, copies 126
 * blocks.
 *
 * What ends a walk is what ends the kernel's: the depth limit; a record that cannot be read
 * (nothing waits for a page here); on arm64 also one that does not lie above its predecessor, or
 * is not aligned. On x86 anything else is followed, wherever it leads: whether a caller is
 * plausible is for user space to say, which knows the mappings.
 *
 * For programs on perf events. The including file has defined the fixed-width types.
 */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	USER_WALK_DEPTH = 127,
	USER_WALK_PAGE = 4096,
	USER_WALK_BLOCK = 1024, /* of which a page is a multiple */
	USER_WALK_FIRST = 512,  /* the first one, where nothing tells: most stacks are short */
	USER_WALK_NEAR = 65536, /* of the end of the walk before: it seems to be the same stack */
	USER_WALK_STRIDE = 2, /* records in one step: each step is a call, more is more to verify */
	USER_WALK_STEPS = (USER_WALK_DEPTH + USER_WALK_STRIDE - 1) / USER_WALK_STRIDE,
	USER_WALK_RECORD = 16, /* the caller's frame pointer, the return address */
	USER_WALK_EFAULT = 14,
	USER_WALK_NULL = 4096, /* no record lies below: the end of most chains */
};

/*
 * A walk under way. It stands in a map and not in registers: of what comes out of there the
 * verifier assumes nothing, so one step is to it like another, and it looks at what follows a walk
 * once, and not once for each number of frames.
 */
struct user_walk {
	uint64_t fp;
	uint64_t count; /* addresses found */
	uint64_t base;  /* where words are from */
	uint64_t last;  /* in words: the last record there */
	uint64_t mask;  /* of an offset in the next block */
	uint64_t hash;  /* of addresses found, see user_walk_hash() */
	uint64_t top;   /* the last record that was read, of the walk before too */
	uint64_t fault; /* 1: it ended where memory could not be read */
	uint64_t words[USER_WALK_PAGE / 8];
};

/*
 * From here on the compiler knows nothing of a number, so that what is asked of it next is asked of
 * the register that is used behind that. The verifiers before Linux 6.5 or so take a bound for that
 * of the one register that was compared: not for that of a copy on the stack, nor for that of a
 * number which the compiler compares in its stead, as len - 16 for 16 <= len <= 4096.
 */
#define bounded_by_register(number) __asm__ volatile("" : "+r"(number))

/* One to one for a given address, so stacks that differ in one frame never meet. */
static __always_inline uint64_t user_walk_hash(uint64_t hash, uint64_t address)
{
	uint64_t h = (hash ^ address) * 0x9e3779b97f4a7c15;

	return h ^ h >> 32;
}

/* What a step gets. */
struct user_walk_ctx {
	struct user_walk *walk;
	uint64_t *pcs; /* of 256 */
	uint64_t first, depth;
};

struct pt_regs___x86 {
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	int32_t syscallno;
} __attribute__((preserve_access_index));

/* Registers of user space at the entry to the kernel. */
struct user_regs {
	uint64_t fp, pc;
	/* The number of the system call that the thread is in. An entry by interrupt or fault
	 * stores a number that no system call has. */
	int32_t syscall;
	bool is_64bit;
};

/* How the registers begin on the two machines is part of their interface to user space. */
enum {
	X86_BP_OFF = 32, /* <asm/ptrace.h>: struct pt_regs */
	X86_ORIG_AX_OFF = 120,
	X86_IP_OFF = 128,
	X86_CS_OFF = 136,
	X86_USER_CS = 0x33,  /* of 64-bit code; 32-bit code and some hypervisors have another */
	ARM64_FP_OFF = 232,  /* <asm/ptrace.h>: struct user_pt_regs, its regs[29] */
	ARM64_MODE_32 = 0x10 /* PSR_MODE32_BIT */
};

enum {
	USER_WALK_NOT = 0x00000004 | /* PF_EXITING: its memory may be gone */
			/* PF_IO_WORKER, PF_USER_WORKER: threads that the kernel runs for a process.
			 * The second was something harmless before Linux 6.4. */
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
		/* The selector has 16 bits; beside it are the processor's details of the entry. */
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

/* Whether user_walk() can walk that thread; the kernel walks the rest, which are rare. */
static __always_inline bool user_walk_suits(const struct user_regs *regs, uint32_t task_flags)
{
	return regs->is_64bit && !(task_flags & USER_WALK_NOT);
}

/* Walks some more frame records; nonzero: the walk is over. Branches are few, for each costs the
 * verifier. */
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
			/* Copies to the end of the block, and a record across the end whole. */
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
 * Writes the addresses to pcs[first] and on, and returns how many, at least 1 and at most `depth`,
 * which is 127 or less. pcs has 256 rows; w is that of the walk before, or of zeros. has_loop: a
 * constant to the verifier, whether this kernel has bpf_loop() (Linux 5.17), which spares it most
 * of its work. *hash goes on with the addresses by user_walk_hash(): they are at hand here.
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
	w->base = regs->fp + 8; /* no record lies there */
	w->last = 0;
	w->mask = (len <= USER_WALK_NEAR ? USER_WALK_PAGE : USER_WALK_FIRST) - 1;
	/* All of it at once, across the end of a page too: there was a record in either. */
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
