/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_H
#define RAWSTACK_SPOOL_H
/*
 * The crash-safe circular store between the capturer and the shipper: a directory (0700) of
 * fixed-size, preallocated segment files (0600). One writer process appends; one reader process
 * ships and acknowledges; either may die at any moment. Layout: spool_format.h and FORMAT.md.
 *
 * A killed process loses what was added since the last spool_writer_flush() (one poll interval, 1
 * s), and samples in files seen for the first time, which the capturer holds back for two seconds
 * at most. A power cut also loses what was flushed since the last sync (2 s). Samples that the
 * limits drop are counted inside the data. Nothing acknowledged is delivered again, and everything
 * else is delivered.
 *
 * Each segment is self-contained: it has its own dictionary of strings, modules, locations,
 * stacks and threads. Everything is in monotonic time of the boot the header names.
 */
#include "build_id.h"
#include "err.h"
#include "file_segments.h"
#include "io.h"
#include "limits.h"
#include "location.h"

/* Most frames in all stacks of a batch. The shipper holds each frame five times. */
#define LIMIT_BATCH_FRAMES LIMIT(524288)
/* Most bytes of records that wait for a disk that does not answer: those of about two seconds at
 * 999 Hz on 64 CPUs. */
#define LIMIT_SPOOL_QUEUE  (4 * MIB)

/* --- what is stored -------------------------------------------------------------------------- */

/* Strings are untrusted bytes of at most LIMIT_PATH_LEN. All indexes are into the same segment's
 * tables, or LOCATION_NO_INDEX. */
struct spool_module {
	struct build_id id; /* kind NONE: unknown, and only `path` identifies the file */
	uint32_t path;      /* string */
	bool is_kernel;
	/* Only in batches: the executable segments of the file, if the capturer could read them.
	 * They passed file_segments_check(), and are borrowed as long as the batch is. */
	uint32_t segment_count;
	const struct file_segment *segments;
};

struct spool_thread {
	uint32_t pid, tid;
	uint64_t start_ns;  /* start of the process, monotonic, which tells a reused pid apart; 0:
			       unknown */
	uint32_t comm, exe; /* strings */
	uint64_t cgroup_id;
	uint32_t state; /* of the thread as the kernel has it: 0 is running, else
			   task_struct::__state */
	uint32_t cgroup, container, service, labels; /* strings: path below the cgroup2 root; id;
							name; "key=value,..." */
};

/* A thread that has none of the strings. */
#define SPOOL_THREAD_INIT                                                                         \
	{                                                                                         \
		.comm = LOCATION_NO_INDEX, .exe = LOCATION_NO_INDEX, .cgroup = LOCATION_NO_INDEX, \
		.container = LOCATION_NO_INDEX, .service = LOCATION_NO_INDEX,                     \
		.labels = LOCATION_NO_INDEX,                                                      \
	}

enum spool_stack_flag {
	SPOOL_STACK_USER_TRUNCATED = 1 << 0,   /* depth limit */
	SPOOL_STACK_KERNEL_TRUNCATED = 1 << 1, /* depth limit */
	SPOOL_STACK_NO_USER = 1 << 2,          /* user part missing though there is one; a pseudo
						  frame with the reason stands for it */
	SPOOL_STACK_NO_KERNEL = 1 << 3,
	SPOOL_STACK_STALE_EXEC = 1 << 4,
	SPOOL_STACK_IMPLAUSIBLE = 1 << 5, /* implausible frame pointer: the user part ends with a
					     caller that is in no executable memory */
	SPOOL_STACK_READ_FAULT = 1 << 6,  /* the user part ends with a caller whose own caller
					     stands in memory that could not be read */
};

struct spool_sample {
	uint64_t time_ns; /* CLOCK_MONOTONIC; stored in whole microseconds, rounded down */
	uint32_t thread, stack;
	uint32_t cpu;
	uint32_t weight; /* samples it stands for, 1 or more */
};

/* The scope of late names, which become known after their samples are stored: the code that a
 * process (as in spool_thread) ran from since_ns to until_ns, both included. */
struct spool_late_scope {
	uint32_t pid;
	uint64_t start_ns, since_ns, until_ns;
};

struct spool_late_name {
	uint64_t pc, len;
	const char *name; /* untrusted bytes, LIMIT_PATH_LEN at most */
	size_t name_len;
};

/* Losses, each with a name and a count; cumulative since the capturer's start. */
enum spool_loss {
	SPOOL_LOSS_RING_FULL,     /* the BPF ring had no room */
	SPOOL_LOSS_STACK_FAULT,   /* neither stack could be read; weight kept, see NO_USER */
	SPOOL_LOSS_PERF_LOST,     /* PERF_RECORD_LOST of the mapping stream */
	SPOOL_LOSS_THROTTLED,     /* PERF_RECORD_THROTTLE */
	SPOOL_LOSS_SPOOL_DROPPED, /* samples in segments that limits removed unsent */
	SPOOL_LOSS_SPOOL_ERROR,   /* samples that could not be written: disk full, read-only */
	SPOOL_LOSS_UNRESOLVED,    /* user frames without a module: no loss, they are stored as
				     UNRESOLVED */
	SPOOL_LOSS_MISSED,        /* ticks of the clock that did not come */
	SPOOL_LOSS_UNREADABLE,    /* part of UNRESOLVED: in unreadable files without an id */
	SPOOL_LOSS_COUNT,
};

const char *spool_loss_name(enum spool_loss loss); /* "ring_full", ... */

/* Returns whether a loss is a real one. UNRESOLVED and UNREADABLE are not: they count frames in
 * samples that are stored. */
bool spool_loss_is_real(enum spool_loss loss);

/* Returns whether a loss counts samples, not frames or records of mappings (PERF_LOST). */
bool spool_loss_is_of_samples(enum spool_loss loss);

/* The limits that drop unsent samples. */
enum spool_drop_reason {
	SPOOL_DROP_SIZE,  /* spool_limits.total_len */
	SPOOL_DROP_AGE,   /* age_ns */
	SPOOL_DROP_FLOOR, /* free_floor */
};

/* Counts how often the shipper that a capturer starts ended by itself. The status, as from
 * waitpid(2), and the time since 1970 are those of the last end. */
struct spool_ship_ends {
	uint64_t count;
	int status;
	uint64_t unix_ns;
};

/* The origin of a segment, which its header states. */
struct spool_origin {
	uint8_t host_id[16];       /* /etc/machine-id, or random */
	uint8_t boot_id[16];       /* /proc/sys/kernel/random/boot_id */
	char host_name[64];        /* NUL-terminated */
	char event[32];            /* "cpu-clock", "cycles" */
	char backend[32];          /* "bpf", "perf-self" */
	uint64_t period_ns;        /* one sample stands for this time: 1e9 / hz */
	uint64_t mono_ns, real_ns; /* the same instant on both clocks, at the segment's start */
	uint32_t cpu_count;
};

/* A writer promises to call spool_writer_flush() at least this often, and states it in each header.
 */
#define SPOOL_FLUSH_NS UINT64_C(1000000000)

/* --- writing --------------------------------------------------------------------------------- */

#define SPOOL_SEGMENT_LEN (4 * MIB)
#define SPOOL_TOTAL_LEN   (256 * MIB)
#define SPOOL_FREE_FLOOR  (512 * MIB)

struct spool_limits {
	uint64_t segment_len; /* 0: SPOOL_SEGMENT_LEN; at most LIMIT_SPOOL_SEGMENT */
	uint64_t total_len;  /* 0: SPOOL_TOTAL_LEN; the oldest segments go first, sent before unsent
			      */
	uint64_t age_ns;     /* 0: no limit */
	uint64_t free_floor; /* bytes of the file system left free; 0: SPOOL_FREE_FLOOR */
	uint64_t sync_ns;    /* 0: 2 s */
};

struct spool_writer;

/* Creates dir if needed (0700; its parent must exist), takes its writer lock and starts a new
 * segment. Fields of `limits` that are 0 take the defaults, and `limits` may be NULL. The writer
 * sets the clocks of the origin anew for each segment. `io` must outlive the writer; NULL is
 * io_system(). Returns 0, ERR_EXISTS when another writer holds the lock, ERR_USAGE for limits that
 * cannot be kept, ... A full disk is no error here: the first spool_writer_flush() reports it, and
 * the writer keeps trying. */
int spool_writer_open(struct spool_writer **ret, const char *dir, const struct spool_limits *limits,
		      const struct spool_origin *origin, const struct io *io, struct err *err);

/*
 * Lets two threads of the writer do all file work from now on: no call but spool_writer_end() and
 * spool_writer_close() waits for a disk. Once LIMIT_SPOOL_QUEUE bytes wait for the disk, further
 * records are lost and counted. From now on sealed segments are packed; a small last one is left to
 * the next writer. Call it where no fork without exec follows, and after any change of
 * capabilities, because each thread has its own. Returns 0, or ERR_IO or ERR_MEMORY with nothing
 * changed.
 */
int spool_writer_detach(struct spool_writer *w, struct err *err);

/*
 * These intern a dictionary entry. Each returns the index in the current segment, or
 * LOCATION_NO_INDEX when it cannot be stored. Indexes are valid until the next
 * spool_writer_sample(), which may start a new segment, so the entries of each sample are interned
 * before it. Interning a known entry costs one hash.
 */
uint32_t spool_writer_string(struct spool_writer *w, const void *p, size_t len);
uint32_t spool_writer_module(struct spool_writer *w, const struct spool_module *m);
uint32_t spool_writer_location(struct spool_writer *w, const struct location *l);
uint32_t spool_writer_stack(struct spool_writer *w, const uint32_t *locations, size_t count,
			    uint32_t flags);
uint32_t spool_writer_thread(struct spool_writer *w, const struct spool_thread *t);

/* Stores the executable segments of a module's file, once for each module in each segment of the
 * spool. They may follow samples in the module. Nothing is stored when there is no room or no such
 * module. */
void spool_writer_file_segments(struct spool_writer *w, uint32_t module,
				const struct file_segment *rows, size_t count);

/* Returns the segment that indexes belong to: they hold as long as it stays the same. */
uint64_t spool_writer_segment(const struct spool_writer *w);

/* Adds a sample. This touches the disk only when the segment is full. A sample that cannot be
 * stored, because there is no segment or its thread or stack is LOCATION_NO_INDEX, is counted as
 * SPOOL_LOSS_SPOOL_ERROR. */
void spool_writer_sample(struct spool_writer *w, const struct spool_sample *s);

/*
 * Names code of samples that were stored before this call: their UNRESOLVED_ANONYMOUS frames from
 * pc to pc + len, in any segment. Ranges of one call do not overlap; a later call wins. Names for
 * which there is no room are left out, and count as no loss.
 */
void spool_writer_late(struct spool_writer *w, const struct spool_late_scope *scope,
		       const struct spool_late_name *names, size_t count);

/* States a loss counted by the caller; SPOOL_DROPPED and SPOOL_ERROR are the writer's own. It is
 * stored in front of the next samples, or when the segment is sealed. */
void spool_writer_loss(struct spool_writer *w, enum spool_loss loss, uint64_t cumulative);

/* Returns the loss as last stated, or as counted by the writer itself. */
uint64_t spool_writer_lost(const struct spool_writer *w, enum spool_loss loss);

/* Returns how many samples limits removed unsent since the writer was opened; *ret_reason is the
 * limit that removed the last of them. */
uint64_t spool_writer_dropped(struct spool_writer *w, enum spool_drop_reason *ret_reason);

/* Notes that the shipper which the capturer starts ended by itself again. The note is kept beside
 * the data, so that the status of the spool can tell it. */
void spool_writer_ship_ended(struct spool_writer *w, int status);

/* Returns the error code and *err when nothing can be stored now, or 0. */
int spool_writer_why(struct spool_writer *w, struct err *err);

/* Hands everything to the kernel in one write (once detached, to the thread that writes at once),
 * syncs when sync_ns has passed and applies the limits. Returns an error once, when storing begins
 * to fail; the writer goes on, and starts a new segment as soon as that is possible. */
int spool_writer_flush(struct spool_writer *w, struct err *err);

/* Flushes, syncs and seals the segment, and waits for the disk. Only then is it known what the disk
 * took. Only spool_writer_lost() and spool_writer_close() may follow. */
void spool_writer_end(struct spool_writer *w);

/* Ends the writer, if spool_writer_end() did not, and frees it. */
void spool_writer_close(struct spool_writer *w);
DEFINE_FREEP(struct spool_writer, spool_writer_close);

/* --- reading --------------------------------------------------------------------------------- */

#define SPOOL_BATCH_ID_LEN 48

/*
 * A slice of one segment with everything its samples need. Indexes are into these arrays, which
 * hold only what the slice uses. Borrowed from the reader until the next call.
 */
struct spool_batch {
	uint8_t id[SPOOL_BATCH_ID_LEN]; /* stable: host, boot, segment, first offset */
	struct spool_origin origin;
	const struct spool_string {
		const char *p; /* no NUL */
		uint32_t len;
	} * strings;
	const struct spool_module *modules;
	const struct location *locations;
	const struct spool_stack {
		const uint32_t *locations; /* leaf first */
		uint32_t count, flags;
	} * stacks;
	const struct spool_thread *threads;
	const struct spool_sample *samples;
	size_t string_count, module_count, location_count, stack_count, thread_count, sample_count;
	uint64_t losses[SPOOL_LOSS_COUNT]; /* as last stated up to the end of the slice */
	uint64_t damaged_len;              /* bytes of the slice that failed their checksum */
	uint64_t segment, end_offset;      /* what spool_reader_ack() stores: low half the offset
					      of a record, high half the samples taken of it */
	uint64_t place;                    /* where the batch begins, likewise */
	bool is_final;                     /* nobody adds to its segment any more */
	bool is_stable;                    /* read again with the same max_samples, it ends at the
					      same sample, whatever is added meanwhile */
};

struct spool_reader;

/* Opens an existing spool; takes no lock, so that any number of readers may look. */
int spool_reader_open(struct spool_reader **ret, const char *dir, const struct io *io,
		      struct err *err);

/*
 * Reads the next batch after the last acknowledged or returned one, of 1 to max_samples samples.
 * Returns 1 and *ret; 0 when there is nothing more now (a writer may add later; call again); or
 * negative on an error other than damage, which is skipped and counted. A batch keeps within
 * LIMIT_BATCH_LOCATIONS, LIMIT_BATCH_MODULES, LIMIT_BATCH_STRINGS and LIMIT_BATCH_FRAMES, and never
 * crosses segments. What damage took from a sample is replaced: its stack by one pseudo frame
 * "[spool: damaged]" (HOST_NAMED), its thread by zeros without names; a location's missing module
 * makes it UNRESOLVED.
 */
int spool_reader_next(struct spool_reader *r, size_t max_samples, struct spool_batch *ret,
		      struct err *err);

/* Remembers, durably, that everything up to this batch is at the sink. Sent segments may then be
 * dropped first. */
int spool_reader_ack(struct spool_reader *r, const struct spool_batch *batch, struct err *err);

/*
 * Gives frames the names that became known late (spool_writer_late()) from now on, as far as the
 * spool holds them when the batch is made. Each spool_reader_next() then looks ahead to the end of
 * the spool, except into packed segments that state that they have no late names. A batch ends
 * where it would end without these names. They may exceed its limits by a quarter, and frames whose
 * names do not fit stay unnamed.
 */
void spool_reader_name_late(struct spool_reader *r);

/* Gives the last batch back: the next call of spool_reader_next() returns it again, with what was
 * added since. */
void spool_reader_back(struct spool_reader *r);

/* Makes the next batch begin at this place, or in a later segment when that one is gone. */
void spool_reader_seek(struct spool_reader *r, uint64_t segment, uint64_t place);

/* Goes back to the last acknowledged position. */
void spool_reader_rewind(struct spool_reader *r);

/* Starts from the oldest data, acknowledged or not; for viewing, not for shipping. Reading stops
 * where the spool ends at the first call of spool_reader_next(), whatever is added meanwhile. A
 * torn tail counts as damage at once, even if a write is still going on. */
void spool_reader_from_start(struct spool_reader *r);

/*
 * Segments in a format that this program does not read. The reader passes over them, and they stay
 * on the disk for a program that can read them, until limits drop them. Each counts once since the
 * reader was opened or spool_reader_from_start() was called. `why` names the format of the last
 * one, and is set when count is not 0.
 */
struct spool_skipped {
	uint64_t count, last; /* last: the number of the last one */
	struct err why;
};
void spool_reader_skipped(const struct spool_reader *r, struct spool_skipped *ret);

/* Returns how many bytes failed their checksum since the last rewind or from_start, including those
 * behind the last sample of a segment. */
uint64_t spool_reader_damaged_len(const struct spool_reader *r);

void spool_reader_close(struct spool_reader *r);
DEFINE_FREEP(struct spool_reader, spool_reader_close);

#endif
