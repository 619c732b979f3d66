/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_ACCOUNT_H
#define RAWSTACK_SPOOL_ACCOUNT_H
/*
 * What became of all samples of a spool, kept beside them: losses of every run since the directory
 * was made, also when nothing could be stored to state them in. Internal to the spool library.
 */
#include "spool.h"

enum {
	SPOOL_ACCOUNT_WHY_LEN = 240
};

struct spool_account {
	uint64_t sequence; /* of the file; 0: there was none */
	uint64_t unix_ns;  /* when it was written */
	/* Since the directory was made, and of them those of the last run: samples that came to the
	 * spool, whatever became of them; losses as in the data. */
	uint64_t samples, run_samples;
	uint64_t losses[SPOOL_LOSS_COUNT], run_losses[SPOOL_LOSS_COUNT];
	char why[SPOOL_ACCOUNT_WHY_LEN]; /* why nothing can be stored; "": it can */
};

/* Zeros when there is none. */
void spool_account_read(const struct io *io, int dir_fd, struct spool_account *ret);

/* Replaces it, with the next sequence. Not synced: a power cut costs counts, no samples. 0 or
 * -errno. */
int spool_account_write(const struct io *io, int dir_fd, struct spool_account *account);

#endif
