/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_DISK_H
#define RAWSTACK_SPOOL_DISK_H
/*
 * The file side of a spool's writer: it begins segments, appends to them, syncs, seals and packs
 * them, and drops them when limits say so. The other side (spool_writer.c) makes the bytes and
 * hands them over as chunks; after spool_disk_detach() it never waits for the disk. Internal to the
 * spool library. One thread calls the functions; after spool_disk_detach() two threads of this
 * module do the work.
 */
#include "spool_segment.h"

struct spool_disk;

/* Bytes to be appended to a segment, in order. A chunk with `begins` ends the segment before; a
 * chunk with `ends` is the last of its segment. */
struct spool_chunk {
	struct spool_chunk *next;
	uint64_t segment;
	bool begins, ends;
	bool moves;                /* begins in the directory that the path leads to now */
	uint64_t mono_ns, real_ns; /* the segment's start, if the chunk begins it */
	uint64_t samples;          /* number of samples that are lost if it cannot be written */
	uint64_t left_losses[SPOOL_LOSS_COUNT]; /* if it moves: what the former directory lost */
	size_t len;
	uint8_t bytes[];
};

/* Counts of the other side: the samples that came, stored or not, and the losses except for those
 * that the disk counts itself. */
struct spool_tally {
	uint64_t samples, losses[SPOOL_LOSS_COUNT];
	struct spool_ship_ends ship;
};

/* The account of the disk side since the start. */
struct spool_disk_state {
	bool is_failing;   /* nothing can be stored now, as the last error says */
	uint64_t given_up; /* the newest segment that cannot be appended to any more; 0: none */
	uint64_t lost;     /* samples that could not be written */
	uint64_t dropped;  /* samples in segments that limits removed unsent */
	enum spool_drop_reason dropped_by; /* the limit that removed the last of these */
	/* Not 0: the path leads to another directory now, this segment is the last one in the
	 * former, and the next one is written to the new one. */
	uint64_t leaves;
};

/* Creates dir if needed, locks it, and lists its segments. `limits` has no defaults left to fill
 * in. `origin` and `io` must outlive *ret. Returns 0, ERR_EXISTS if another writer has the lock,
 * ERR_MEMORY, or an error of err_sys(). */
int spool_disk_open(struct spool_disk **ret, const char *dir, const struct spool_limits *limits,
		    const struct spool_origin *origin, const struct io *io, struct err *err);

/* Returns the number that the first segment gets. */
uint64_t spool_disk_first(const struct spool_disk *d);

/* Starts threads that do all file work from now on. Call it once, and not during another call.
 * Returns 0, ERR_MEMORY or ERR_IO. */
int spool_disk_detach(struct spool_disk *d, struct err *err);

/* Allocates a chunk of len bytes, zeroed except its len; NULL: out of memory. */
struct spool_chunk *spool_chunk_new(size_t len);

/* Takes ownership of the chunk. Returns false when too much waits for the disk already: then the
 * samples of the chunk are counted as lost, and its segment is given up. */
bool spool_disk_put(struct spool_disk *d, struct spool_chunk *chunk);

/* Syncs and applies limits when that is due. It has no effect once threads do so. */
void spool_disk_poll(struct spool_disk *d);

/* Copies the state to *ret. */
void spool_disk_look(struct spool_disk *d, struct spool_disk_state *ret);

/* Returns the code of an error that was not reported yet and *err, or 0. A run of failures is one
 * error. */
int spool_disk_error(struct spool_disk *d, struct err *err);

/* Passes the present counts on to the account beside the segments (spool_account.h). */
void spool_disk_tally(struct spool_disk *d, const struct spool_tally *tally);

/* Returns the error code and *err when nothing can be stored now, or 0. */
int spool_disk_why(struct spool_disk *d, struct err *err);

/* Ends the segment after a failure of the caller, as if writing had failed. */
void spool_disk_fail(struct spool_disk *d, uint64_t segment, const struct err *why);

/* Writes all chunks and ends the threads. No chunk may follow. */
void spool_disk_end(struct spool_disk *d);

/* Ends the threads, as spool_disk_end() does, and closes. */
void spool_disk_close(struct spool_disk *d);

#endif
