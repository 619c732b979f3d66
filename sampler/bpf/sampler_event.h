/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_SAMPLER_EVENT_H
#define RAWSTACK_SAMPLER_EVENT_H
/*
 * Memory that sampler.bpf.c and collect.c share. Both are built together, so nothing here is a
 * stored format. The including file has defined the fixed-width types.
 *
 * Between two ticks the caches forget the program, so a tick waits for each page and cache line
 * that it touches. So each CPU has one row with all that it writes to, and a ring of its own in
 * which it makes an event in place. The kernel's ring buffer would take four more pages, which
 * another CPU has written to, a lock and a copy.
 */

enum {
	SAMPLER_DEPTH_MAX = 127, /* kernel.perf_event_max_stack */
	SAMPLER_COMM_LEN = 16,
	/* Room for a kernel and a user stack, each cut to 1,023 bytes by a mask that the verifier
	 * understands. */
	SAMPLER_PCS_MAX = 256,
	SAMPLER_STACK_MASK = 1023,
	SAMPLER_CGROUPS_MAX = 16,  /* each costs a call of 30 ns at a tick */
	SAMPLER_RING_MIN = 65536,  /* least bytes of a CPU's ring: at least 29 events */
	PERCPU_STATE_WORDS = 1024, /* two pages */
	SAMPLER_WALK_WORDS = 520,  /* of struct user_walk, whose `words` are the second page */
	/* A CPU remembers 256 stacks that it has sent. Their hashes are in its row, beside what a
	 * tick touches anyway; 4,096 of them in a map of their own saved 1 to 3 % of the ring. */
	SAMPLER_SENT_BITS = 8,
	/* Most files in one hint. More are rare, and come with the next sample. */
	SAMPLER_HINT_ROWS = 8, /* a power of two */
	SAMPLER_HINT_ID_WORDS = 5,
	SAMPLER_HINT_DUES = 4, /* as many as a cache line holds; a power of two */
};

/*
 * Counts of one CPU. Every run of the program counts in `runs` and in exactly one of stored, idle,
 * filtered and ring_full; stack_fault counts the stored samples that have no address at all. It is
 * known when the ticks of a clock are due, so first_ns and last_ns tell how many should have come.
 */
struct sampler_counters {
	uint64_t runs, stored;
	uint64_t last_ns, first_ns; /* CLOCK_MONOTONIC */
	uint64_t idle, filtered, ring_full, stack_fault;
};

enum sampler_filter {
	SAMPLER_FILTER_NONE,
	SAMPLER_FILTER_PIDS,
	SAMPLER_FILTER_CGROUP,
};

enum sampler_flag {
	SAMPLER_KERNEL_THREAD = 1 << 0,
	SAMPLER_EXITING = 1 << 1,
	SAMPLER_STACK_SENT = 1 << 2, /* pcs are left out: this CPU sent them with this hash */
	SAMPLER_NEW_THREAD = 1 << 3, /* a struct sampler_thread follows pcs */
	SAMPLER_HINT = 1 << 4,       /* a struct sampler_hint follows that */
};

/* A sample. Its thread follows it if it is not that of the sample before. */
struct sampler_event {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint64_t stack_hash; /* covers the seed, pcs and both lengths; 0: none */
	uint16_t kernel_len; /* bytes of the kernel part, which is the first in pcs */
	uint16_t user_len;   /* bytes of the user part, which follows it */
	uint16_t flags;      /* enum sampler_flag */
	/* An errno, or 0. user_err also tells why a user part ends early. */
	uint8_t kernel_err, user_err;
	uint64_t pcs[SAMPLER_PCS_MAX]; /* leaf first; only the used part is sent */
};

/* The part of a sample that mostly is the same as in the sample before. */
struct sampler_thread {
	uint64_t start_ns; /* start of the process, CLOCK_MONOTONIC */
	uint64_t cgroup_id;
	uint32_t state;              /* task_struct::__state of the thread */
	uint32_t flags;              /* enum sampler_flag */
	uint32_t pid, tid;           /* in the initial namespace */
	char comm[SAMPLER_COMM_LEN]; /* valid up to its NUL */
	int32_t syscall;             /* number of the system call that it is in; -1: none */
	uint32_t exec_id;            /* changes with each exec of the process */
};

/* The program makes no hint for the process before due_ns. */
struct sampler_hint_due {
	uint64_t process, due_ns;
};

/*
 * The state of one CPU, which the program and the sampler share. Its ring has ring_len bytes, a
 * power of two, and SAMPLER_EVENT_MAX more, so that an event, which begins at its position &
 * (ring_len - 1), is in one piece. head and tail are positions, which never go back; the sampler
 * reads the events between them:
 *
 *	0 ... tail [ events to read ] head ... ring_len | SAMPLER_EVENT_MAX
 */
struct percpu_state {
	uint64_t head;      /* end of the last event, a multiple of 8; the program writes it */
	uint64_t tail_seen; /* the `tail` that the program last read */
	/* The seed of stack hashes. The sampler may change it at any time; the program then
	 * sends every stack anew. 0: the program sends every stack whole. */
	uint64_t hash_start;
	struct sampler_counters counts; /* the cache line ends behind those that most ticks use */
	/* The process that was last found in the set of those to sample. */
	uint64_t known_start_ns;
	uint32_t known_pid, zero;
	uint64_t unused[3];
	/* The thread of the last sample, and when its process may have the next hint. */
	struct sampler_thread thread;
	uint64_t hint_due_ns;
	uint64_t tail; /* the sampler writes it, so it has a cache line of its own */
	uint64_t unused_too[7];
	/* Only the program uses what follows. */
	struct sampler_hint_due hint_dues[SAMPLER_HINT_DUES];
	uint64_t sent_hashes[1 << SAMPLER_SENT_BITS]; /* hashes of stacks, by their upper bits */
	uint64_t unused_still[PERCPU_STATE_WORDS - SAMPLER_WALK_WORDS - (1 << SAMPLER_SENT_BITS) -
			      40];
	uint64_t walk[SAMPLER_WALK_WORDS];
};

/* A file that a user stack runs through, and the lowest address of the stack in it. */
struct sampler_hint_row {
	uint64_t pc, file_off;
	uint64_t len; /* bytes from pc to the end of the highest address */
	/* The build id; a shorter one is padded with zeros. */
	uint32_t id[SAMPLER_HINT_ID_WORDS];
	uint32_t unused;
};

/* The files that the user stack of a sample runs through. */
struct sampler_hint {
	uint64_t namespaces; /* equal for processes that share their namespaces; 0: unknown */
	uint64_t count;      /* number of rows */
	struct sampler_hint_row rows[SAMPLER_HINT_ROWS]; /* only the used rows are sent */
};

/* Most bytes that one tick writes. */
enum {
	SAMPLER_EVENT_MAX = sizeof(struct sampler_event) + sizeof(struct sampler_thread) +
			    sizeof(struct sampler_hint),
};

#endif
