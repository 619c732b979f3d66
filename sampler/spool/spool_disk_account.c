/* SPDX-License-Identifier: Apache-2.0 */
/* The account that a spool's writer keeps in the directory it writes to. */
#include <stdio.h>
#include <string.h>

#include "spool_disk_priv.h"

/* An account that does not change is written again after so long, to show that a capturer runs. */
#define ACCOUNT_REST_NS UINT64_C(60000000000)

/* Returns whether this writer wrote the account: its directory was then only emptied. */
static bool is_own(const struct spool_disk *d, const struct spool_account *a)
{
	return d->account_ns && a->sequence == d->account.sequence &&
	       a->unix_ns == d->account.unix_ns && a->run_samples == d->account.run_samples;
}

void spool_disk_account_open(struct spool_disk *d)
{
	const struct spool_retention *k = &d->retention;
	struct spool_segments found;
	struct spool_account a;

	spool_account_read(d->io, d->place.dir_fd, &a);
	d->has_account = true;
	if (is_own(d, &a))
		return;
	if (!spool_segments_list(d->io, d->place.dir_fd, &found, NULL)) {
		spool_account_catch_up(d->io, d->place.dir_fd, &found, true, &a);
		free(found.numbers);
	}
	/* The version of the last run kept no account, and stated its losses in the data. */
	if (!a.sequence && k->count)
		spool_segment_losses(d->io, d->place.dir_fd, k->all[k->count - 1].number, a.losses);
	d->account = d->before = a;
	d->account_ns = 0;
}

/* Subtracts without wrapping: the last tally may be older than the counts at the last move. */
static uint64_t subtract_to_zero(uint64_t n, uint64_t by)
{
	return n > by ? n - by : 0;
}

/* Makes the account of the current directory, without what this run stored in others before. When
 * the directory is left, left_losses are the losses at the end of its data, which are all data
 * stored so far; otherwise it is NULL. */
static void make_account(struct spool_disk *d, const uint64_t *left_losses,
			 struct spool_account *ret)
{
	struct spool_tally run;

	*ret = (struct spool_account){
		.sequence = d->account.sequence,
		.segment = d->segment,
		.end = d->fd >= 0 ? d->end : SPOOL_ACCOUNT_WHOLE,
		.run_stored = d->stored - d->base.stored,
	};
	pthread_mutex_lock(&d->lock);
	run = d->tally;
	run.losses[SPOOL_LOSS_SPOOL_ERROR] += d->state.lost;
	run.losses[SPOOL_LOSS_SPOOL_DROPPED] = d->state.dropped;
	if (d->state.is_failing)
		snprintf(ret->why, sizeof(ret->why), "%s", d->err.message);
	pthread_mutex_unlock(&d->lock);
	if (left_losses) {
		memcpy(run.losses, left_losses, sizeof(run.losses));
		run.samples = d->stored + run.losses[SPOOL_LOSS_SPOOL_ERROR];
	}
	ret->ship = run.ship;
	ret->run_samples = subtract_to_zero(run.samples, d->base.samples);
	ret->samples = d->before.samples + ret->run_samples;
	for (int i = 0; i < SPOOL_LOSS_COUNT; i++) {
		ret->run_losses[i] = subtract_to_zero(run.losses[i], d->base.losses[i]);
		ret->losses[i] = d->before.losses[i] + ret->run_losses[i];
	}
}

void spool_disk_account_leave(struct spool_disk *d,
			      const uint64_t left_losses[static SPOOL_LOSS_COUNT])
{
	struct spool_account a;

	if (d->place.dir_fd >= 0 && d->has_account) {
		make_account(d, left_losses, &a);
		a.unix_ns = d->io->real_ns(d->io->ctx);
		(void)spool_account_write(d->io, d->place.dir_fd, &a);
	}
	memcpy(d->base.losses, left_losses, sizeof(d->base.losses));
	d->base.stored = d->stored;
	d->base.samples = d->stored + d->base.losses[SPOOL_LOSS_SPOOL_ERROR];
	d->account_ns = 0;
}

void spool_disk_account_write(struct spool_disk *d)
{
	const uint64_t now = spool_disk_now_ns(d);
	struct spool_account a;

	if (d->place.dir_fd < 0 || !d->has_account)
		return;
	make_account(d, NULL, &a);
	a.unix_ns = d->account.unix_ns;
	if (!memcmp(&a, &d->account, sizeof(a)) && d->account_ns &&
	    now - d->account_ns < ACCOUNT_REST_NS)
		return;
	a.unix_ns = d->io->real_ns(d->io->ctx);
	/* An account that cannot be written is tried again later. */
	if (spool_account_write(d->io, d->place.dir_fd, &a))
		return;
	d->account = a;
	d->account_ns = now;
}
