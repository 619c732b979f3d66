/* SPDX-License-Identifier: Apache-2.0 */
/* The directory that a spool's writer works in. It may be removed, or its path may lead to another.
 */
#include <assert.h>
#include <fcntl.h>

#include "spool_disk_priv.h"

/* Closes the directory, and forgets the segments in it. */
static void leave_place(struct spool_disk *d)
{
	const uint64_t dropped = d->retention.dropped;

	spool_place_close(&d->place, d->io);
	spool_retention_done(&d->retention);
	d->retention.io = d->io;
	d->retention.dir_fd = -1;
	d->retention.dropped = dropped;
}

/* Returns whether a segment is being packed: only packing uses the directory without the lock. */
static bool is_packing(struct spool_disk *d)
{
	bool ret;

	pthread_mutex_lock(&d->lock);
	ret = d->io_job.state != IO_JOB_NONE && d->io_job.kind == IO_JOB_PACK;
	pthread_mutex_unlock(&d->lock);
	return ret;
}

/* Opens the directory that the path leads to now. It must have no newer segments, or nobody would
 * read ours. */
static int open_place(struct spool_disk *d, struct spool_place *place, struct spool_retention *keep,
		      uint64_t newest, struct err *err)
{
	uint64_t last = 0;
	/* Anybody may have put another directory there, so its owner and mode are checked. */
	int rc = io_check_dir(d->dir, err);

	if (!rc)
		rc = spool_place_open(place, d->io, d->dir, err);
	if (rc)
		return rc;
	rc = spool_retention_init(keep, d->io, place->dir_fd, &d->limits, d->origin, &last, err);
	if (!rc && last >= newest)
		rc = err_set(err, ERR_EXISTS, "%s: somebody else wrote there meanwhile", d->dir);
	if (rc) {
		spool_retention_done(keep);
		spool_place_close(place, d->io);
	}
	return rc;
}

int spool_disk_reopen(struct spool_disk *d, struct err *err)
{
	const uint64_t dropped = d->retention.dropped;
	struct spool_retention keep = {.count = 0};
	struct spool_place place;
	int rc;

	/* An open next directory means that the writer is about to move there. */
	if (is_packing(d) || d->next.dir_fd >= 0)
		return err_set(err, ERR_UNAVAILABLE, "%s: the disk is busy", d->dir);
	leave_place(d);
	rc = open_place(d, &place, &keep, d->segment, err);
	d->is_gone = rc != 0;
	if (rc)
		return rc;
	d->place = place;
	d->retention = keep;
	d->retention.dropped = dropped;
	spool_disk_account_open(d);
	return 0;
}

void spool_disk_move(struct spool_disk *d, const uint64_t left_losses[static SPOOL_LOSS_COUNT])
{
	const uint64_t dropped = d->retention.dropped;
	const enum spool_drop_reason by = d->retention.dropped_by;

	assert(d->next.dir_fd >= 0);
	spool_disk_account_leave(d, left_losses);
	leave_place(d);
	d->place = d->next;
	d->retention = d->next_keep;
	d->retention.dropped = dropped;
	d->retention.dropped_by = by;
	d->next = SPOOL_PLACE_NONE;
	d->next_keep = (struct spool_retention){.count = 0};
	d->is_gone = false;
	spool_disk_set_leaves(d, 0);
	spool_disk_account_open(d);
}

/* Follows the path to another directory. The old one is written to until the new one can be used,
 * so that no sample is lost. */
static void follow_path(struct spool_disk *d)
{
	struct err err, why;

	if (d->next.dir_fd >= 0)
		return;
	if (open_place(d, &d->next, &d->next_keep, d->segment + 1, &why)) {
		err_set(&err, ERR_NOT_FOUND,
			"%s: the spool that is written to was moved away or hidden; it is still "
			"written to, because nothing that can be used stands there (%.160s)",
			d->dir, why.message);
		if (!d->told_moved)
			spool_disk_notice(d, &err);
		d->told_moved = true;
		return;
	}
	err_set(&err, ERR_NOT_FOUND,
		"%s: the spool that is written to was moved away or hidden: what comes now goes to "
		"the directory that is there; what was not shipped stays in the former",
		d->dir);
	spool_disk_notice(d, &err);
	d->told_moved = false;
	spool_disk_set_leaves(d, d->segment);
}

void spool_disk_look_around(struct spool_disk *d)
{
	struct err err;
	int rc;

	if (d->fd >= 0)
		spool_disk_look_for_segment(d);
	if (d->is_gone || d->place.dir_fd < 0 || is_packing(d))
		return;
	rc = spool_place_check_lock(&d->place, d->io, d->dir, &err);
	if (rc > 0) {
		spool_disk_notice(d, &err);
		return;
	}
	if (rc < 0) {
		/* Another capturer writes there; mixing both would damage its spool. */
		spool_disk_tell(d, &err);
		spool_disk_give_up(d, d->segment);
		spool_disk_end_segment(d, true);
		leave_place(d);
		d->is_gone = true;
		return;
	}
	rc = d->io->is_at(d->io->ctx, d->place.dir_fd, AT_FDCWD, d->dir);
	if (rc == 0)
		follow_path(d);
	else if (rc > 0)
		d->told_moved = false;
}
