/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_ACCOUNT_H
#define RAWSTACK_SPOOL_ACCOUNT_H
/*
 * What became of all samples of a spool, kept beside them: losses of every run since the directory
 * was made, also when nothing could be stored to state them in. Internal to the spool library.
 */
#include "spool_segment.h"

enum {
	SPOOL_ACCOUNT_WHY_LEN = 240
};

/* An `end` behind which nothing follows in its segment. */
#define SPOOL_ACCOUNT_WHOLE UINT32_MAX

struct spool_account {
	uint64_t sequence; /* of the file; 0: there was none */
	uint64_t unix_ns;  /* when it was written */
	/* Since the directory was made, and of them those of the last run: samples that came to the
	 * spool, whatever became of them; losses as in the data. */
	uint64_t samples, run_samples;
	uint64_t losses[SPOOL_LOSS_COUNT], run_losses[SPOOL_LOSS_COUNT];
	char why[SPOOL_ACCOUNT_WHY_LEN]; /* why nothing can be stored; "": it can */
	/* It is written behind the data: up to where in them it speaks, and how many samples of the
	 * last run are stored up to there. Segment 0: it does not say, as those of older versions.
	 */
	uint64_t segment, end, run_stored;
	struct spool_ship_ends ship; /* in the last run */
};

/* Zeros when there is none. */
void spool_account_read(const struct io *io, int dir_fd, struct spool_account *ret);

/* Replaces it, with the next sequence. Not synced: a power cut costs counts, no samples. 0 or
 * -errno. */
int spool_account_write(const struct io *io, int dir_fd, struct spool_account *account);

/*
 * Adds to an account that was read what stands in the data behind the place it speaks of: samples
 * that were stored later, losses that were stated later. `found` are the segments of the directory.
 * With `is_over`, when its writer is gone, samples that came and are neither stored nor lost are
 * SPOOL_ERROR: they went with the writer. What a directory holds does not decide the work: behind
 * LIMIT_SPOOL_SEGMENT of data no more is looked for.
 */
void spool_account_catch_up(const struct io *io, int dir_fd, const struct spool_segments *found,
			    bool is_over, struct spool_account *account);

#endif
