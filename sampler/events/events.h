/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_EVENTS_H
#define RAWSTACK_EVENTS_H
/*
 * What the kernel tells: mappings, new processes, execs, exits, samples. They come over rings that
 * are not ordered among each other; this queue puts them in order of time. What stands before the
 * horizon given to events_next() is complete only if nothing older is added later: see
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
	EVENT_LOST,   /* records of one ring are missing from here on */
	EVENT_CGROUP, /* a new one */
	EVENT_HINT,   /* build ids of files that the sample behind it runs through */
	EVENT_SAMPLE,
};

enum sample_flag {
	SAMPLE_KERNEL_THREAD = 1 << 0,
	SAMPLE_EXITING = 1 << 1,
	SAMPLE_NO_KERNEL_PART = 1 << 2, /* the backend does not look at the kernel */
	SAMPLE_SHARED_DEPTH = 1 << 3,   /* the depth limit is of both parts together */
	/* Whether it is in one: nearly all that a thread does in the kernel is by system calls. */
	SAMPLE_SYSCALL_UNKNOWN = 1 << 4,
};

enum {
	EVENT_COMM_LEN = 16,
	EVENT_ID_LEN = 20
};

/* A hint's time is so much before that of its sample, which is placed behind it then. */
#define EVENT_HINT_AHEAD_NS 1

/* At that time the file mapped at pc had that build id, and there lay what it has at file_off; and
 * so for other addresses of the stack, the highest of which is the last of `len`. */
struct event_hint {
	uint64_t pc, file_off, len;
	uint8_t id[EVENT_ID_LEN]; /* one that is shorter is filled up with zeros */
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
			uint32_t parent_pid; /* of a thread: pid */
		} fork;
		struct {
			uint64_t id;
		} cgroup; /* data: its path, no NUL */
		struct {
			uint64_t until_ns; /* records that are younger are there again */
		} lost;
		struct {
			uint64_t start_ns;   /* of the process */
			uint64_t namespaces; /* equal where they are in common; 0: unknown */
		} hint;                      /* data: struct event_hint, each of another file */
		struct {
			uint64_t start_ns; /* of the process, 0: unknown */
			uint64_t cgroup_id;
			uint32_t cpu, flags; /* enum sample_flag */
			uint32_t state;      /* of the thread, as the kernel has it; 0: running */
			int32_t syscall;     /* -1: in none */
			int16_t kernel_err, user_err;      /* with pcs: where they end early */
			uint16_t kernel_count, user_count; /* pcs */
			char comm[EVENT_COMM_LEN];         /* empty: unknown */
			uint64_t stack_id; /* same counts and pcs, same id; 0: has none */
		} sample;                  /* data: the pcs, u64, kernel first, each leaf first */
	};
	const void *data; /* owned by the queue once added; not if is_lasting */
	size_t data_len;
	bool is_lasting; /* data stays where it is until the event was handed out */
	/* By who adds it: all but time and stack (errors, counts, stack_id, data) is as in the last
	 * sample of the same CPU that the queue took. False: nothing is known of it. */
	bool is_same_thread;
	/* By the queue: a sample like the one that was handed out before at the same address, but
	 * for time, stack, errors and system call. */
	bool is_again;
};

/* --- inside ---------------------------------------------------------------------------------- */

/* Where an event stands; what puts it in order is here, so that no event is looked at for it. */
struct event_place {
	uint64_t time_ns;
	uint32_t row;      /* of the events, or of those that are again */
	uint32_t is_again; /* bool */
};

/* What of a sample is its own, when all else is as in an event before it: nearly all samples are of
 * the thread that their CPU ran before. */
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

/* Whether it is known already that the process becomes another one, or another program, later. */
bool events_has_new_image(const struct events *q, uint32_t pid, uint64_t after_ns);

/* What is known already that the process maps later: one EVENT_MAP after another, in any order and
 * without its data; NULL: no more. *at is 0 at first. */
const struct event *events_find_mapping(const struct events *q, uint32_t pid, uint64_t after_ns,
					size_t *at);

/* Forgets what events_next() returned. */
void events_compact(struct events *q);

#endif
