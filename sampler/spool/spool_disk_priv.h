/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_DISK_PRIV_H
#define RAWSTACK_SPOOL_DISK_PRIV_H
/*
 * State shared by spool_disk.c (the threads and the queue between them), spool_disk_work.c (their
 * work on files), spool_disk_place.c (the directory) and spool_disk_account.c (the account in it).
 */
#include <pthread.h>

#include "spool_account.h"
#include "spool_disk.h"
#include "spool_place.h"
#include "spool_retention.h"

enum {
	CLOSING_MAX = 8
};

/* Jobs that may take long; the second thread appends meanwhile. */
enum io_job_kind {
	IO_JOB_SYNC,
	IO_JOB_FINISH, /* sync and close */
	IO_JOB_PACK,
};

enum io_job_state {
	IO_JOB_NONE,
	IO_JOB_ASKED,
	IO_JOB_DONE,
};

struct io_job {
	enum io_job_state state; /* under the lock. While it is ASKED, the other fields belong to
				    the worker, else to the thread that works */
	enum io_job_kind kind;
	int fd, rc;
	uint64_t segment, len;
};

struct spool_disk {
	const struct io *io;
	const struct spool_origin *origin;
	struct spool_limits limits;
	char *dir; /* its path, to open it again after somebody removed it */
	struct spool_place place;
	uint64_t first;

	/* Only the thread that works uses what follows: the caller, or the thread that set
	 * is_working. */
	int fd; /* of the current segment; -1: there is none */
	uint64_t segment, end;
	struct spool_origin current; /* of that segment */
	uint64_t synced_ns, limits_ns;
	uint64_t stored; /* samples appended, in all segments */
	uint64_t unseen; /* samples appended since the segment was last seen under its name */
	bool failing, dirty;
	bool is_gone; /* the directory, or a file in it, was removed: open it again */
	struct spool_retention retention;
	/* The directory that the path leads to since the former one was moved away or hidden. The
	 * next segment begins there. */
	struct spool_place next;
	struct spool_retention next_keep;
	bool told_moved;
	bool has_account;                     /* the account was read, so it may be written */
	struct spool_account account, before; /* as last written; and of earlier runs */
	uint64_t account_ns;                  /* when writing it was last tried */
	struct {
		uint64_t stored, samples, losses[SPOOL_LOSS_COUNT];
	} base; /* counts in the accounts of directories that this run has left */
	struct {
		int fd;
		uint64_t segment;
	} closing[CLOSING_MAX]; /* segments that ended and are not yet synced and closed */
	size_t closing_count;

	bool detached;
	pthread_t worker, second;
	pthread_mutex_t lock;
	pthread_cond_t wake, wake_second; /* of the two threads */
	/* The lock protects what follows. */
	struct spool_chunk *queue, **queue_end;
	uint64_t queue_len;
	struct spool_disk_state state;
	struct spool_tally tally;
	struct err err, notice;
	bool unreported, has_notice, stopping, second_stopping;
	bool is_working; /* one of the two threads works */
	bool in_io_job;  /* the worker does the I/O job */
	struct io_job io_job;
};

uint64_t spool_disk_now_ns(const struct spool_disk *d);

/* Opens and locks the directory that the path leads to, in place of the one that was removed, and
 * makes it if there is none. Returns 0, ERR_EXISTS when another process writes there, or wrote
 * later, ERR_UNAVAILABLE while an I/O job uses the old directory, ERR_IO, ... */
int spool_disk_reopen(struct spool_disk *d, struct err *err);

/* Does a job that may take long: in the worker, or in the caller when there are no threads. */
void spool_disk_run_io_job(struct spool_disk *d, struct io_job *c);

/* Only the thread that works calls the functions below. This one takes the result of an I/O job. */
void spool_disk_take_io_job(struct spool_disk *d, const struct io_job *c);

/* Asks for an I/O job, which the worker does after the rest of its work. Returns false while
 * another job is under way: there is one at a time. */
bool spool_disk_ask(struct spool_disk *d, enum io_job_kind kind, int fd, uint64_t segment);

void spool_disk_append(struct spool_disk *d, const struct spool_chunk *c);

/* Ends the current segment. The room left in it is given back if everything was written. */
void spool_disk_end_segment(struct spool_disk *d, bool is_whole);

/* Asks to sync and close the next segment that ended. */
void spool_disk_finish_next(struct spool_disk *d);

/* The first reads the account of earlier runs. The second writes the account if it changed, or if
 * it was last written long ago. */
void spool_disk_account_open(struct spool_disk *d);
void spool_disk_account_write(struct spool_disk *d);

/* Writes the account for the last time in a directory that is left. Later samples, and losses
 * beyond left_losses, count in the next directory. */
void spool_disk_account_leave(struct spool_disk *d,
			      const uint64_t left_losses[static SPOOL_LOSS_COUNT]);

/* Looks whether the segment, the lock and the directory are still there under their names, and acts
 * if one is not. */
void spool_disk_look_around(struct spool_disk *d);

/* Goes on in the directory `next`, which is open. Call it between two segments. */
void spool_disk_move(struct spool_disk *d, const uint64_t left_losses[static SPOOL_LOSS_COUNT]);

/* Looks for the segment that is appended to under its name. If somebody removed it, it ends, and
 * what was appended since the last look is counted as lost. */
void spool_disk_look_for_segment(struct spool_disk *d);

/* Reports a failure, once for each run of them. */
void spool_disk_tell(struct spool_disk *d, const struct err *why);

/* Reports what happened to the directory, which is no failure to store. */
void spool_disk_notice(struct spool_disk *d, const struct err *what);

/* Says that the segment cannot be appended to any more. */
void spool_disk_give_up(struct spool_disk *d, uint64_t segment);

/* Says which segment is the last one in the directory. */
void spool_disk_set_leaves(struct spool_disk *d, uint64_t segment);

/* The first does what is due by time: syncs, limits, packing, the account. The second returns when
 * the next sync or check of the limits is due. */
void spool_disk_do_due(struct spool_disk *d);
uint64_t spool_disk_next_due(const struct spool_disk *d);

#endif
