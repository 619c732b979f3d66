/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_ACCOUNT_H
#define RAWSTACK_SPOOL_ACCOUNT_H
/*
 * The account of all samples of a spool, kept beside them: losses of every run since the directory
 * was made, even those that no segment could be stored to state. Internal to the spool library.
 */
#include "spool_segment.h"

enum {
	SPOOL_ACCOUNT_WHY_LEN = 240
};

/* The value of `end` when the account covers the whole segment. */
#define SPOOL_ACCOUNT_WHOLE UINT32_MAX

struct spool_account {
	uint64_t sequence; /* of the file; 0: there was none */
	uint64_t unix_ns;  /* when it was written */
	/* Samples that came to the spool, whatever became of them, since the directory was made,
	 * and in the last run; losses as in the data. */
	uint64_t samples, run_samples;
	uint64_t losses[SPOOL_LOSS_COUNT], run_losses[SPOOL_LOSS_COUNT];
	char why[SPOOL_ACCOUNT_WHY_LEN]; /* why nothing can be stored; "": storing works */
	/* The account is written after the data: this is the place it covers them up to, and how
	 * many samples of the last run are stored before it. Segment 0: unknown, as in older
	 * versions. */
	uint64_t segment, end, run_stored;
	struct spool_ship_ends ship; /* in the last run */
};

/* Reads the account; zeros when there is none. */
void spool_account_read(const struct io *io, int dir_fd, struct spool_account *ret);

/* Replaces the account, with the next sequence. It is not synced: a power cut costs counts, but no
 * samples. Returns 0 or -errno. */
int spool_account_write(const struct io *io, int dir_fd, struct spool_account *account);

/*
 * Adds to an account what the data hold after the place it covers: samples stored later, losses
 * stated later. `found` are the segments of the directory. `is_over` says that the writer is gone:
 * samples that came and are neither stored nor lost went with it, and count as SPOOL_ERROR. The
 * function stops after LIMIT_SPOOL_SEGMENT of data.
 */
void spool_account_catch_up(const struct io *io, int dir_fd, const struct spool_segments *found,
			    bool is_over, struct spool_account *account);

#endif
