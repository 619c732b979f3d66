/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_EVENTS_H
#define RAWSTACK_EVENTS_H
/*
 * A queue of what the kernel reports: mappings, new processes, execs, exits, samples. They come
 * over rings that are not ordered among each other; this queue sorts them by time. What is older
 * than the horizon given to events_next() is complete only if nothing older is added later: see
 * EVENTS_GRACE_NS. One thread.
 */
#include "base.h"
#include "buf.h"

/* An event is in its ring within this time of its stamp; preempted virtual CPUs set the scale. */
#define EVENTS_GRACE_NS UINT64_C(50000000)

enum event_kind {
	EVENT_MAP,  /* executable memory appears */
	EVENT_COMM, /* a thread has another name; is_exec: the process another program */
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_LOST,   /* a ring lost records from here to until_ns */
	EVENT_CGROUP, /* a new one */
	EVENT_HINT,   /* build ids of the files that the next sample's stack runs through */
	EVENT_SAMPLE,
};

enum sample_flag {
	SAMPLE_KERNEL_THREAD = 1 << 0,
	SAMPLE_EXITING = 1 << 1,
	SAMPLE_NO_KERNEL_PART = 1 << 2, /* the backend does not look at the kernel */
	SAMPLE_SHARED_DEPTH = 1 << 3,   /* one depth limit holds for both parts together */
	/* The backend cannot tell whether it is in one; most kernel stacks are in one. */
	SAMPLE_SYSCALL_UNKNOWN = 1 << 4,
};

enum {
	EVENT_COMM_LEN = 16,
	EVENT_ID_LEN = 20
};

/* A hint is dated this long before its sample, so that it sorts before it. */
#define EVENT_HINT_AHEAD_NS 1

/* The file mapped at [pc, pc + len) had this build id at the time of the event; pc is at file_off.
 * The range reaches from the lowest to the highest address of the stack in that file. */
struct event_hint {
	uint64_t pc, file_off, len;
	uint8_t id[EVENT_ID_LEN]; /* a shorter one is padded with zeros */
};

struct event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint8_t kind; /* enum event_kind */
	union {
		struct {
			uint64_t start, end;             /* pc */
			uint64_t file_off;               /* of start */
			uint64_t dev, inode, generation; /* 0: unknown */
		} map; /* data: the path as the kernel writes it, no NUL */
		struct {
			bool is_exec;
		} comm; /* data: the name, no NUL */
		struct {
			uint32_t parent_pid; /* equal to pid for a new thread */
		} fork;
		struct {
			uint64_t id;
		} cgroup; /* data: its path, no NUL */
		struct {
			uint64_t until_ns; /* later records are complete again */
		} lost;
		struct {
			uint64_t start_ns;   /* of the process */
			uint64_t namespaces; /* equal for processes that share them; 0: unknown */
		} hint;                      /* data: struct event_hint, each of another file */
		struct {
			uint64_t start_ns; /* of the process, 0: unknown */
			uint64_t cgroup_id;
			uint32_t cpu, flags; /* enum sample_flag */
			uint32_t state;      /* of the thread, as the kernel has it; 0: running */
			int32_t syscall;     /* -1: in none */
			int16_t kernel_err, user_err;      /* errno; with pcs: why they end early */
			uint16_t kernel_count, user_count; /* pcs */
			char comm[EVENT_COMM_LEN];         /* empty: unknown */
			uint64_t stack_id; /* same counts and pcs, same id; 0: has none */
		} sample;                  /* data: the pcs, u64, kernel first, each leaf first */
	};
	const void *data; /* owned by the queue once added; not if is_lasting */
	size_t data_len;
	bool is_lasting; /* data stays valid until the event is handed out */
	/* Set by the caller of events_add(): this sample differs from the last one the queue took
	 * of the same CPU only in time and stack (errors, counts, stack_id, data); false: unknown.
	 */
	bool is_same_thread;
	/* Set by the queue: this sample differs from the one last handed out at the same address
	 * only in time, stack, errors and system call. */
	bool is_again;
};

/* --- inside ---------------------------------------------------------------------------------- */

/* Where an event is stored. The sort key is here too, so that sorting touches no event. */
struct event_place {
	uint64_t time_ns;
	uint32_t row;      /* index of a struct event, or of a struct event_again */
	uint32_t is_again; /* bool */
};

/* A sample that shares all other fields with an earlier event: nearly all samples are of the thread
 * that their CPU ran before. */
struct event_again {
	uint64_t stack_id;
	const uint64_t *pcs; /* which last */
	uint32_t of;         /* the event before it */
	int32_t syscall;
	int16_t kernel_err, user_err;
	uint16_t kernel_count, user_count;
};

struct event_rows {
	struct event *whole;
	struct event_again *agains;
	struct event_place *places; /* as they came, then by time */
	size_t count, whole_count, again_count;
	size_t places_cap, whole_cap, again_cap;
	struct buf data;
};

enum {
	EVENTS_LAST = 16, /* a power of two */
};

struct events {
	struct event_rows now, spare; /* take turns */
	struct event_place *merged;   /* room to put places in order */
	size_t merged_cap;
	size_t at; /* of places: behind those that were handed out */
	bool is_sorted;
	/* The last sample of a CPU, by the CPU's number. */
	struct {
		uint64_t time_ns;
		size_t whole; /* its index + 1; 0: there was none */
	} last[EVENTS_LAST];
	uint64_t refused; /* events there was no room for */
};

void events_init(struct events *q);
void events_done(struct events *q);

/* Copies e and its data. False, counted in refused, when a ceiling or memory is reached. */
bool events_add(struct events *q, const struct event *e);

/* The next event older than horizon_ns, or NULL. Valid until the next one. Add no event between the
 * first events_next() of a round and its events_compact(). */
const struct event *events_next(struct events *q, uint64_t horizon_ns);

/* Whether a queued event tells that the process later executes another program, or that its pid
 * goes to another process. */
bool events_has_new_image(const struct events *q, uint32_t pid, uint64_t after_ns);

/* Finds queued events in which the process maps something later: one EVENT_MAP after another, in
 * any order and without data; NULL: no more. *at is 0 at first. */
const struct event *events_find_mapping(const struct events *q, uint32_t pid, uint64_t after_ns,
					size_t *at);

/* Forgets what events_next() returned. */
void events_compact(struct events *q);

#endif
