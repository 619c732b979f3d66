/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_EVENTS_H
#define RAWSTACK_EVENTS_H
/*
 * Queues the events that the kernel reports: mappings, new processes, execs, exits, samples. They
 * come over several rings, and the queue sorts them by time. The events that are handed out are
 * complete up to the horizon given to events_next() only if no older one is added later: see
 * EVENTS_GRACE_NS. A queue is for one thread.
 */
#include "base.h"
#include "buf.h"

/* An event is in its ring within this time after its timestamp. It is that long because
 * virtual CPUs are preempted. */
#define EVENTS_GRACE_NS UINT64_C(50000000)

enum event_kind {
	EVENT_MAP,  /* executable memory appears */
	EVENT_COMM, /* a thread changes its name; with is_exec, the process changes its program */
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_LOST,   /* a ring lost records from here to until_ns */
	EVENT_CGROUP, /* a cgroup is created */
	EVENT_HINT,   /* build ids of the files that the next sample's stack runs through */
	EVENT_SAMPLE,
};

enum sample_flag {
	SAMPLE_KERNEL_THREAD = 1 << 0,
	SAMPLE_EXITING = 1 << 1,
	SAMPLE_NO_KERNEL_PART = 1 << 2, /* the backend does not sample the kernel */
	SAMPLE_SHARED_DEPTH = 1 << 3,   /* one depth limit holds for both parts together */
	/* The backend does not know whether the thread is in a system call; most are that have a
	 * kernel part. */
	SAMPLE_SYSCALL_UNKNOWN = 1 << 4,
};

enum {
	EVENT_COMM_LEN = 16,
	EVENT_ID_LEN = 20
};

/* A hint is dated this long before its sample, so that it sorts before it. */
#define EVENT_HINT_AHEAD_NS 1

/* A file that was mapped at the time of the event: at [pc, pc + len), which reaches from the lowest
 * to the highest address of the stack in that file, with pc at file_off. */
struct event_hint {
	uint64_t pc, file_off, len;
	uint8_t id[EVENT_ID_LEN]; /* its build id; a shorter one is padded with zeros */
};

struct event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint8_t kind; /* enum event_kind */
	union {
		struct {
			uint64_t start, end;             /* addresses */
			uint64_t file_off;               /* file offset of start */
			uint64_t dev, inode, generation; /* 0: unknown */
		} map; /* data: the path as the kernel writes it, without NUL */
		struct {
			bool is_exec;
		} comm; /* data: the name, without NUL */
		struct {
			uint32_t parent_pid; /* equal to pid for a new thread */
		} fork;
		struct {
			uint64_t id;
		} cgroup; /* data: its path, without NUL */
		struct {
			uint64_t until_ns; /* later records are complete again */
		} lost;
		struct {
			uint64_t start_ns;   /* start of the process */
			uint64_t namespaces; /* equal for processes that share them; 0: unknown */
		} hint;                      /* data: a struct event_hint for each file */
		struct {
			uint64_t start_ns; /* start of the process; 0: unknown */
			uint64_t cgroup_id;
			uint32_t cpu, flags; /* enum sample_flag */
			uint32_t state;      /* the kernel's state of the thread; 0: running */
			int32_t syscall;     /* system call that it is in; -1: none */
			int16_t kernel_err, user_err;      /* errno; why a part is missing or cut */
			uint16_t kernel_count, user_count; /* number of pcs in each part */
			char comm[EVENT_COMM_LEN];         /* empty: unknown */
			uint64_t stack_id; /* equal for equal counts and pcs; 0: it has none */
		} sample; /* data: pcs (u64), the kernel part first, each part leaf first */
	};
	const void *data; /* the queue owns its copy, unless is_lasting */
	size_t data_len;
	bool is_lasting; /* the caller keeps data until the event is handed out */
	/* The caller of events_add() sets this if the sample differs from the last one of the same
	 * CPU that the queue took only in time and stack (errors, counts, stack_id, data). */
	bool is_same_thread;
	/* The queue sets this if the sample differs from the one last handed out at the same
	 * address only in time, stack, errors and system call. */
	bool is_again;
};

/* --- inside ---------------------------------------------------------------------------------- */

/* The place where an event is stored, with the sort key, so that sorting touches no event. */
struct event_place {
	uint64_t time_ns;
	uint32_t row;      /* index of a struct event, or of a struct event_again */
	uint32_t is_again; /* bool: row is that of a struct event_again */
};

/* A sample that has all other fields in common with an earlier event, as nearly all samples are of
 * the thread that their CPU ran before. */
struct event_again {
	uint64_t stack_id;
	const uint64_t *pcs; /* valid until the event is handed out */
	uint32_t of;         /* row of the earlier event */
	int32_t syscall;
	int16_t kernel_err, user_err;
	uint16_t kernel_count, user_count;
};

struct event_rows {
	struct event *whole;
	struct event_again *agains;
	struct event_place *places; /* in order of arrival, later by time */
	size_t count, whole_count, again_count;
	size_t places_cap, whole_cap, again_cap;
	struct buf data;
};

enum {
	EVENTS_LAST = 16, /* a power of two */
};

struct events {
	struct event_rows now, spare; /* swapped by events_compact() */
	struct event_place *merged;   /* scratch memory for sorting places */
	size_t merged_cap;
	size_t at; /* index of the next place to hand out */
	bool is_sorted;
	/* The last sample of a CPU, by the CPU's number. */
	struct {
		uint64_t time_ns;
		size_t whole; /* its index + 1; 0: there was none */
	} last[EVENTS_LAST];
	uint64_t refused; /* events for which there was no room */
};

void events_init(struct events *q);
void events_done(struct events *q);

/* Adds a copy of e and its data. If a limit is reached or memory is short, it counts the event as
 * refused and returns false. */
bool events_add(struct events *q, const struct event *e);

/* Returns the next event that is older than horizon_ns, valid until the next call, or NULL. Add no
 * event between the first events_next() of a round and its events_compact(). */
const struct event *events_next(struct events *q, uint64_t horizon_ns);

/* Returns whether a queued event tells that the process later executes another program, or that its
 * pid goes to another process. */
bool events_has_new_image(const struct events *q, uint32_t pid, uint64_t after_ns);

/* Returns the queued EVENT_MAPs of a process that are later than after_ns, one with each call, in
 * any order and without data, and NULL after the last. *at is 0 at the first call. */
const struct event *events_find_mapping(const struct events *q, uint32_t pid, uint64_t after_ns,
					size_t *at);

/* Forgets the events that events_next() returned. */
void events_compact(struct events *q);

#endif
