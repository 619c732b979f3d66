/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCS_H
#define RAWSTACK_PROCS_H
/*
 * Every process as far as its stacks need it: what it has mapped at the time of the event that is
 * being handled. Events must come in order of time (struct events sees to it). One thread.
 *
 *	fork	the child shares the parent's mappings until either maps something
 *	exec	clears them
 *	exit	keeps them for a while: samples may be a little behind, and when it is only the
 * first thread that ended, the others' come on
 *
 * A process nobody told of (it is older, or records were lost) is read from /proc when its first
 * sample comes, or it forks; LIMIT_SCANS_BURST at once, LIMIT_SCANS in a poll in the long run. A
 * reused pid is told apart by the start of the process.
 *
 * Whoever has many mappings, or many processes with many, has no more of our time than others: the
 * CPU time for reading them is bounded (cpu_budget.h), and half of it is for processes that take
 * little; LIMIT_PROC_MAPPINGS are kept of one process, LIMIT_PROCS_MAPPINGS_LEN bytes of all. What
 * is not known for such a reason is asked for by address where a sample lies in it, where Linux can
 * be asked for that: a few at a time of each process.
 *
 * No record tells of munmap(2), nor of mremap(2), by which code without a file may take the place
 * of a library that was closed. So at the first sample of a poll the mappings that samples of the
 * process lay in are looked at again (LIMIT_CHECKS processes in a poll), where Linux can be asked
 * for them, and what is not as it was is read anew before the sample is placed.
 *
 * What is read of a process is how it is then, and a sample that is to be placed is older. So a
 * mapping of which a record is still to come does not count before that. When records were lost,
 * none of those counts that were read, up to the time of reading; but what was there for
 * PROCS_STEADY_NS before, and is there still; all of a process on which readings agree, see below;
 * what the kernel told of at the tick of the sample itself; and the program, when it told so at any
 * tick. For other frames there is no mapping then: procs_find().
 *
 * Losses may go on for hours. Readings agree on a process when so many of them in a row found the
 * same files at the same places, the first one PROCS_STEADY_NS before the sample and the last one
 * behind it, and no record and no hint in between told otherwise. Code without a file does not
 * count, for programs that make code change it all the time. Readings of a process that changes may
 * agree by chance: of one that has each of two files at one address for half of the time, 8 do in
 * one of 128 cases. A file that is there for a smaller part of the time is missed more often, up to
 * 4 % of all samples with 8 readings. So each time that readings agreed and the next one found
 * something else, twice as many are needed from then on, up to 64, with which it is 0.6 %.
 *
 * Records of mappings have no build ids. The kernel tells that of a file where a sample fell: at
 * the tick (a hint), or when it is asked, if the process lives. Of a process that is gone before it
 * is read, hints are all that is known: then a file is mapped where they say so, and between.
 */
#include "cpu_budget.h"
#include "events.h"
#include "jit.h"
#include "limits.h"
#include "mappings.h"
#include "procscan.h"

/* Processes that are known at a time: ten times what kernel.pid_max is by default on small
 * machines. */
#define LIMIT_PROCS              LIMIT(65536)
/* Bytes of the mappings of all processes together; above it the largest tables are forgotten. */
#define LIMIT_PROCS_MAPPINGS_LEN (64 * MIB)
/* Processes whose mappings are read from /proc, 50 us each: in one poll in the long run, and at
 * once, as when sampling begins or records were lost. */
#define LIMIT_SCANS              LIMIT(64)
#define LIMIT_SCANS_BURST        LIMIT(2048)
/* CPU time in ns that reading them takes at once; in the long run it is CPU_BUDGET_SHARE. On a
 * machine with forty times as much to do as it can, samples still fit into their rings meanwhile.
 * Half of it is for processes that take less than a millisecond. When the other half is used up,
 * LIMIT_SCAN_FEW mappings of a process are read, and each process is read again only after
 * LIMIT_SCAN_DISTANCE times what its last reading took. */
#define LIMIT_SCANS_CPU_NS       INT64_C(100000000)
#define LIMIT_SCAN_FEW           LIMIT(128)
#define LIMIT_SCAN_DISTANCE      LIMIT(512)
/* Addresses that the kernel is asked for in a poll, 2 us each, where a process has more mappings
 * than are kept or they have not been read yet: those of one process, and of all. */
#define LIMIT_FINDS              64
#define LIMIT_FINDS_ALL          LIMIT(4096)
/* Files of processes that the kernel is asked to name, 8 us each: in one poll in the long run, and
 * at once. */
#define LIMIT_ID_ASKS            LIMIT(256)
#define LIMIT_ID_ASKS_BURST      LIMIT(4096)
/* Processes whose mappings are checked in a poll, 5 us each. */
#define LIMIT_CHECKS             LIMIT(64)

/* Readings in a row that found the same files, with no record in between that told otherwise. */
struct procs_agreed {
	uint64_t since_ns, until_ns; /* times of the first and the last of them */
	uint64_t digest;             /* mappings_digest() */
	uint64_t count;
	uint32_t misses; /* how often a reading differed after enough had agreed */
};

struct proc {
	struct proc *next;
	uint32_t pid;
	uint64_t start_ns; /* 0: not known yet */
	struct mappings *maps;
	struct module *exe; /* with a reference; NULL: unknown */
	struct jit *jit;    /* with a reference; NULL until it is asked for */
	char comm[EVENT_COMM_LEN + 1];
	uint64_t namespaces; /* as hints have them; 0: unknown */
	uint64_t as_of_ns;   /* older events are known already */
	uint64_t checked_ns; /* when its mappings were last checked; 0: never */
	uint64_t exit_ns;    /* its first thread ended, at or before it; 0: it did not */
	/* CPU time of the last reading, and the earliest time of the next one. */
	uint64_t scan_cost_ns, scan_after_ns;
	uint64_t finds_ns; /* the poll that `finds` counts in */
	uint32_t finds;    /* addresses asked for in it */
	uint64_t at_ns;    /* the last sample or hint */
	uint64_t began_ns; /* its exec, or its fork, if a record told; else 0 */
	/* The known mappings hold only from then on; 0: for all of its life. */
	uint64_t read_ns;
	/* Records between the two are missing, and it was not read since; 0: none. */
	uint64_t lost_ns, lost_until_ns;
	struct procs_agreed agreed;
	bool must_scan;   /* known mappings may be incomplete or outdated */
	bool is_partial;  /* mappings are incomplete for good: there are too many */
	bool is_unsure;   /* some mappings of the last sample are unknown */
	bool is_gone;     /* reading failed or found none; some mappings may be known */
	bool is_silent;   /* it can no longer be asked for a build id */
	bool is_disputed; /* two files were at one place while records were missing */
};

/* How /proc is read: by procscan_read() and its siblings, whose contracts hold, or by a test. */
struct procs_source {
	int (*scan)(void *ctx, uint32_t pid, struct modules *modules, size_t most,
		    struct procscan *ret);
	int (*id)(void *ctx, uint32_t tid, const struct mapping *m, uint64_t pc,
		  struct build_id *ret);
	/* NULL: they cannot be asked. */
	int (*check)(void *ctx, uint32_t tid, const struct mappings *maps);
	int (*find)(void *ctx, uint32_t tid, struct modules *modules, struct mappings **maps,
		    const uint64_t *pcs, size_t count);
	/* CPU time of this thread; NULL: reading takes none. */
	uint64_t (*cpu_ns)(void *ctx);
	uint64_t (*now_ns)(void *ctx); /* as events have it; NULL: what is read is so always */
	void *ctx;
};

/* What the kernel last told of a file at a tick. */
struct procs_cached_id {
	uint64_t namespaces;
	struct file_key file;
	uint64_t time_ns;
	struct module *module; /* a reference */
};

struct procs {
	struct modules modules;
	struct procs_cached_id build_id_cache[1024]; /* by hash, the last one that came */
	struct proc *buckets[4096];
	size_t count;
	/* Grows with each event that may change the program or the mappings of any process. */
	uint64_t changes;
	struct procs_source source;
	const struct events *queue; /* what is to come, as far as it is known; NULL: nothing */
	size_t scans_left, asks_left, checks_left, finds_left; /* for now */
	struct cpu_budget scan_budget;
	/* The last time that records were lost. */
	uint64_t lost_ns, lost_until_ns;
	size_t ended_count; /* with exit_ns */
	uint64_t swept_ns;
};

void procs_init(struct procs *ps, const struct procs_source *source, const struct events *queue);
void procs_done(struct procs *ps);

/* Takes any event but samples. */
void procs_event(struct procs *ps, const struct event *e);

/* Returns the process of a sample; NULL above LIMIT_PROCS or out of memory. */
struct proc *procs_of_sample(struct procs *ps, const struct event *e);

/*
 * Asks the kernel for the build id of what a process has mapped at pc, which lies in `m`; tid:
 * one of its live threads. Asks once for each module; LIMIT_ID_ASKS_BURST at once, LIMIT_ID_ASKS
 * in a poll in the long run. Returns whether the id is known now; the module of m is then another
 * one.
 */
bool procs_identify(struct procs *ps, struct proc *p, const struct mapping *m, uint64_t pc,
		    uint32_t tid);

/*
 * Names the file of `m` when its process is gone and the tick told no id, as a tick inside
 * mmap(2). The id is what a tick of another process told, within PROCS_CACHED_ID_NS of time_ns,
 * for the same inode (device, number, generation) under the same path in the same namespaces.
 */
#define PROCS_CACHED_ID_NS UINT64_C(2000000000)
bool procs_id_from_cache(struct procs *ps, struct proc *p, const struct mapping *m,
			 uint64_t time_ns);

/* Returns the mapping that held pc at the last sample or hint of p; NULL: not known. */
#define PROCS_STEADY_NS UINT64_C(2000000000)
const struct mapping *procs_find(const struct proc *p, uint64_t pc);

/* Whether m is the program that p runs. */
bool procs_is_program(const struct proc *p, const struct module *m);

/* Begins a poll at now_ns; call it before the events. */
void procs_begin(struct procs *ps, uint64_t now_ns);

/* Ends a poll, after its events: forgets processes that ended long before now_ns, and allows scans
 * again. */
void procs_poll(struct procs *ps, uint64_t now_ns);

#endif
