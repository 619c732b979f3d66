/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RAWSTACK_SAMPLER_EVENT_H
#define RAWSTACK_SAMPLER_EVENT_H
/*
 * What sampler.bpf.c and collect.c tell each other, in memory that both have mapped. Both sides are
 * built together, so nothing here is a stored format. The including file has defined the
 * fixed-width types.
 *
 * At a tick the caches have forgotten the program, and each page and line that it touches is waited
 * for. So a CPU has one row with all that it writes to, and a ring of its own in which it makes an
 * event where that will be read: the kernel's ring buffer has four pages that another CPU has
 * written to, a lock and a copy.
 */

enum {
	SAMPLER_DEPTH_MAX = 127, /* kernel.perf_event_max_stack */
	SAMPLER_COMM_LEN = 16,
	/* Two stacks in a row, each cut to 1,023 bytes by a mask that the verifier understands. */
	SAMPLER_PCS_MAX = 256,
	SAMPLER_STACK_MASK = 1023,
	SAMPLER_CGROUPS_MAX = 16,  /* each costs a call of 30 ns at a tick */
	SAMPLER_RING_MIN = 65536,  /* bytes of a CPU's ring: 29 events at least */
	PERCPU_STATE_WORDS = 1024, /* two pages */
	SAMPLER_WALK_WORDS = 520,  /* of struct user_walk, whose words are the second one */
	/* A CPU remembers 256 stacks that it has sent. Their hashes are in its row, beside what a
	 * tick touches anyway: 4,096 of them in a map of their own saved 1 to 3 % of the ring. */
	SAMPLER_SENT_BITS = 8,
	/* The most files in one hint: more are rare, and come with the next sample. */
	SAMPLER_HINT_ROWS = 8, /* a power of two */
	SAMPLER_HINT_ID_WORDS = 5,
	SAMPLER_HINT_DUES = 4, /* a line of them; a power of two */
};

/*
 * Of one CPU. Every run of the program counts as runs and as exactly one of stored, idle, filtered
 * and ring_full; stack_fault tells how many of the stored ones carry no address at all. When the
 * ticks of a clock are due is known, so first_ns and last_ns tell how many there should have been.
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
	SAMPLER_STACK_SENT = 1 << 2, /* pcs are not sent: this CPU did, with the same hash */
	SAMPLER_NEW_THREAD = 1 << 3, /* behind pcs is a struct sampler_thread */
	SAMPLER_HINT = 1 << 4,       /* and behind that a struct sampler_hint */
};

/* A sample. Its thread is the one that follows it, or else the one of the sample before. */
struct sampler_event {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint64_t stack_hash; /* of pcs and lengths, and of the epoch; 0: none */
	uint16_t kernel_len; /* bytes of pcs, first */
	uint16_t user_len;   /* bytes of pcs, behind them */
	uint16_t flags;      /* enum sampler_flag */
	/* errno, or 0; user_err also tells why a user part that was read in part ends early */
	uint8_t kernel_err, user_err;
	uint64_t pcs[SAMPLER_PCS_MAX]; /* leaf first; only what is used is sent */
};

/* The part of a sample that mostly is the same in the ones before and after it. */
struct sampler_thread {
	uint64_t start_ns; /* of the process, CLOCK_MONOTONIC */
	uint64_t cgroup_id;
	uint32_t state;              /* of the thread, task_struct::__state */
	uint32_t flags;              /* enum sampler_flag */
	uint32_t pid, tid;           /* of the initial namespace */
	char comm[SAMPLER_COMM_LEN]; /* up to its NUL */
	int32_t syscall;             /* number of the system call it is in, -1: none */
	uint32_t exec_id;            /* another one after each exec of the process */
};

/* The program makes no hint for the process before due_ns. */
struct sampler_hint_due {
	uint64_t process, due_ns;
};

/*
 * The state of one CPU, which the program and the sampler share. Its ring has ring_len bytes, a
 * power of two, and SAMPLER_EVENT_MAX behind them: an event begins at its position & (ring_len - 1)
 * and is in one piece. head and tail are positions, which never go back; the sampler reads the
 * events between them:
 *
 *	0 ... tail [ events to read ] head ... ring_len | SAMPLER_EVENT_MAX
 */
struct percpu_state {
	uint64_t head;      /* the program writes it: end of the last event, multiple of 8 */
	uint64_t tail_seen; /* the `tail` that the program last read */
	/* The seed of stack hashes. The sampler may change it at any time; the program then
	 * sends every stack anew. 0: send every stack whole. */
	uint64_t hash_start;
	struct sampler_counters counts; /* the ones that most ticks use end with the cache line */
	/* The process that was last found in the set of those to sample. */
	uint64_t known_start_ns;
	uint32_t known_pid, zero;
	uint64_t unused[3];
	/* The thread of the last sample, and when its process may have the next hint. */
	struct sampler_thread thread;
	uint64_t hint_due_ns;
	uint64_t tail; /* the sampler writes it: a cache line of its own */
	uint64_t unused_too[7];
	/* Only the program uses what follows. */
	struct sampler_hint_due hint_dues[SAMPLER_HINT_DUES];
	uint64_t sent_hashes[1 << SAMPLER_SENT_BITS]; /* of stacks, by their upper bits */
	uint64_t unused_still[PERCPU_STATE_WORDS - SAMPLER_WALK_WORDS - (1 << SAMPLER_SENT_BITS) -
			      40];
	uint64_t walk[SAMPLER_WALK_WORDS];
};

/* A file that a user stack runs through, and the lowest address of the stack in it. */
struct sampler_hint_row {
	uint64_t pc, file_off;
	uint64_t len; /* from there to behind the highest */
	/* The build id; a shorter one is filled up with zeros. */
	uint32_t id[SAMPLER_HINT_ID_WORDS];
	uint32_t unused;
};

/* Which files the user stack of a sample runs through. */
struct sampler_hint {
	uint64_t namespaces; /* equal for processes that have them in common; 0: unknown */
	uint64_t count;      /* of rows */
	struct sampler_hint_row rows[SAMPLER_HINT_ROWS]; /* only what is used is sent */
};

/* The most that one tick writes. */
enum {
	SAMPLER_EVENT_MAX = sizeof(struct sampler_event) + sizeof(struct sampler_thread) +
			    sizeof(struct sampler_hint),
};

#endif
