/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROCS_H
#define RAWSTACK_PROCS_H
/*
 * Keeps of each process what its stacks need: above all what it has mapped at the time of the event
 * that is being handled. Events must come in order of time (struct events sees to it). One thread
 * uses it.
 *
 *	fork	the child shares the parent's mappings until either maps something
 *	exec	clears them
 *	exit	keeps them for a while: samples may come a little later, and other threads may
 *		live on when only the first one ended
 *
 * A process of which no record told (it is older, or records were lost) is read from /proc at its
 * first sample or when it forks; LIMIT_SCANS_BURST are read at once, and LIMIT_SCANS in a poll in
 * the long run. The start of the process tells a reused pid apart.
 *
 * A user with many mappings, or many processes, gets no more of our time than others: the CPU time
 * for reading mappings is bounded (cpu_budget.h), and half of it is for processes that take little.
 * LIMIT_PROC_MAPPINGS are kept of one process, and LIMIT_PROCS_MAPPINGS_LEN bytes of all. A mapping
 * that these limits leave out is asked for by address when a sample lies in it, a few at a time for
 * each process, if this Linux can be asked for that.
 *
 * No record tells of munmap(2), nor of mremap(2), by which code without a file may take the place
 * of a library that was closed. So at the first sample of a process in a poll the mappings in which
 * its samples lay are checked (LIMIT_CHECKS processes in a poll), if this Linux can be asked for
 * them, and a process whose mappings changed is read anew before the sample is placed.
 *
 * A reading shows a process as it is then, and the sample to be placed is older. So a mapping whose
 * record is still to come counts only from the time of that record. When records were lost,
 * mappings that were read count only from the time of reading, with these exceptions: those that
 * were there PROCS_STEADY_NS before the loss and still are; all of a process on which readings
 * agree, see below; a mapping of which the kernel told at the tick of the sample itself; and the
 * program, when the kernel told of it at any tick. For other frames procs_find() then returns no
 * mapping.
 *
 * Losses may go on for hours. Readings agree on a process when enough of them in a row found the
 * same files at the same places, the first one PROCS_STEADY_NS before the sample and the last one
 * after it, and no record or hint in between told otherwise. Code without a file does not count,
 * because programs that make code change it all the time. Readings of a process that changes may
 * agree by chance: if each of two files is at one address for half of the time, 8 readings agree in
 * one of 128 cases. A file that is there for a smaller part of the time is missed more often, in up
 * to 4 % of all samples with 8 readings. So each time that readings agreed and the next one found
 * something else, twice as many are needed from then on, up to 64, which lowers that to 0.6 %.
 *
 * Records of mappings have no build ids. The kernel tells the id of a file in which a sample fell:
 * at the tick (a hint), or when it is asked, if the process lives. When a process is gone before it
 * is read, only hints are known: then a file is mapped where hints saw it, and between such places.
 */
#include "cpu_budget.h"
#include "events.h"
#include "jit.h"
#include "limits.h"
#include "mappings.h"
#include "procscan.h"

/* Most processes that are known at a time: twice what kernel.pid_max is by default on small
 * machines. */
#define LIMIT_PROCS              LIMIT(65536)
/* Most bytes of the mappings of all processes; above it the largest tables are forgotten. */
#define LIMIT_PROCS_MAPPINGS_LEN (64 * MIB)
/* Most processes whose mappings are read from /proc, 50 us each: in one poll in the long run, and
 * at once, as when sampling begins or records were lost. */
#define LIMIT_SCANS              LIMIT(64)
#define LIMIT_SCANS_BURST        LIMIT(2048)
/* Most CPU time in ns that reading mappings takes at once; in the long run CPU_BUDGET_SHARE bounds
 * it. Samples still fit into their rings meanwhile on a machine that is overloaded forty times.
 * Half of it is for processes that take less than a millisecond. When the other half is used up,
 * LIMIT_SCAN_FEW mappings of a process are read, and each process is read again only after
 * LIMIT_SCAN_DISTANCE times what its last reading took. */
#define LIMIT_SCANS_CPU_NS       INT64_C(100000000)
#define LIMIT_SCAN_FEW           LIMIT(128)
#define LIMIT_SCAN_DISTANCE      LIMIT(512)
/* Most addresses that the kernel is asked for in a poll, 2 us each, when a process has more
 * mappings than are kept, or its mappings are not read yet: for one process, and for all. */
#define LIMIT_FINDS              64
#define LIMIT_FINDS_ALL          LIMIT(4096)
/* Most files for whose build id the kernel is asked, 8 us each: in one poll in the long run, and at
 * once. */
#define LIMIT_ID_ASKS            LIMIT(256)
#define LIMIT_ID_ASKS_BURST      LIMIT(4096)
/* Most processes whose mappings are checked in a poll, 5 us each. */
#define LIMIT_CHECKS             LIMIT(64)

/* The readings in a row that found the same files, with no record in between that told otherwise.
 */
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
	uint64_t namespaces; /* as hints tell them; 0: unknown */
	uint64_t as_of_ns;   /* older events are known already */
	uint64_t checked_ns; /* when its mappings were last checked; 0: never */
	uint64_t exit_ns;    /* its first thread ended then or before; 0: it lives */
	/* CPU time of the last reading, and the earliest time of the next one. */
	uint64_t scan_cost_ns, scan_after_ns;
	uint64_t finds_ns; /* the poll that `finds` counts in */
	uint32_t finds;    /* addresses asked for in it */
	uint64_t at_ns;    /* the last sample or hint */
	uint64_t began_ns; /* when it forked or executed its program; 0: no record told */
	/* The known mappings hold only from then on; 0: they hold for all of its life. */
	uint64_t read_ns;
	/* Records between these times are missing, and the process was not read since; 0: none are
	 * missing. */
	uint64_t lost_ns, lost_until_ns;
	struct procs_agreed agreed;
	bool must_scan;   /* known mappings may be incomplete or outdated */
	bool is_partial;  /* mappings are incomplete for good: there are too many */
	bool is_unsure;   /* some mappings of the last sample are unknown */
	bool is_gone;     /* reading failed or found none; some mappings may be known */
	bool is_silent;   /* it can no longer be asked for a build id */
	bool is_disputed; /* two files were at one place while records were missing */
};

/* The functions that read /proc: procscan_read() and its siblings, or those of a test with the same
 * contracts. */
struct procs_source {
	int (*scan)(void *ctx, uint32_t pid, struct modules *modules, size_t most,
		    struct procscan *ret);
	int (*id)(void *ctx, uint32_t tid, const struct mapping *m, uint64_t pc,
		  struct build_id *ret);
	/* The next two are NULL where Linux cannot be asked. */
	int (*check)(void *ctx, uint32_t tid, const struct mappings *maps);
	int (*find)(void *ctx, uint32_t tid, struct modules *modules, struct mappings **maps,
		    const uint64_t *pcs, size_t count);
	/* CPU time of this thread; NULL: reading takes none. */
	uint64_t (*cpu_ns)(void *ctx);
	uint64_t (*now_ns)(void *ctx); /* clock of events; NULL: the sample's time */
	void *ctx;
};

/* The build id that the kernel last told of a file at a tick. */
struct procs_cached_id {
	uint64_t namespaces;
	struct file_key file;
	uint64_t time_ns;
	struct module *module; /* a reference */
};

struct procs {
	struct modules modules;
	struct procs_cached_id build_id_cache[1024]; /* by hash; the newest one replaces others */
	struct proc *buckets[4096];
	size_t count;
	/* Grows with each event that may change the program or the mappings of any process. */
	uint64_t changes;
	struct procs_source source;
	const struct events *queue; /* events that are still to come; NULL: none are known */
	size_t scans_left, asks_left, checks_left, finds_left; /* left for now */
	struct cpu_budget scan_budget;
	/* The last time that records were lost. */
	uint64_t lost_ns, lost_until_ns;
	size_t ended_count; /* processes with exit_ns */
	uint64_t swept_ns;
};

void procs_init(struct procs *ps, const struct procs_source *source, const struct events *queue);
void procs_done(struct procs *ps);

/* Takes any event but samples. */
void procs_event(struct procs *ps, const struct event *e);

/* Returns the process of a sample, or NULL above LIMIT_PROCS or when out of memory. */
struct proc *procs_of_sample(struct procs *ps, const struct event *e);

/*
 * Asks the kernel for the build id of what a process has mapped at pc, which lies in `m`; tid is
 * one of its live threads. Asks once for each module; LIMIT_ID_ASKS_BURST at once, LIMIT_ID_ASKS in
 * a poll in the long run. Returns whether the id was told; the mapping then has another module.
 */
bool procs_identify(struct procs *ps, struct proc *p, const struct mapping *m, uint64_t pc,
		    uint32_t tid);

/*
 * Gives the file of `m` a build id when its process is gone and the tick told none, as inside
 * mmap(2): the id that a tick of another process told, within PROCS_CACHED_ID_NS of time_ns, for
 * the same inode (device, number, generation) under the same path in the same namespaces. Returns
 * whether there is one.
 */
#define PROCS_CACHED_ID_NS UINT64_C(2000000000)
bool procs_id_from_cache(struct procs *ps, struct proc *p, const struct mapping *m,
			 uint64_t time_ns);

/* Returns the mapping that held pc at the last sample or hint of p, or NULL when it is unknown. */
#define PROCS_STEADY_NS UINT64_C(2000000000)
const struct mapping *procs_find(const struct proc *p, uint64_t pc);

/* Returns whether m is the program that p runs. */
bool procs_is_program(const struct proc *p, const struct module *m);

/* Begins a poll at now_ns; call it before the events. */
void procs_begin(struct procs *ps, uint64_t now_ns);

/* Ends a poll, after its events: forgets processes that ended long before now_ns, and allows scans
 * again. */
void procs_poll(struct procs *ps, uint64_t now_ns);

#endif
