/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "spool_compress.h"
#include "spool_disk_priv.h"

uint64_t spool_disk_now_ns(const struct spool_disk *d)
{
	return d->io->mono_ns(d->io->ctx);
}

/* --- state ----------------------------------------------------------------------------------- */

void spool_disk_tell(struct spool_disk *d, const struct err *why)
{
	pthread_mutex_lock(&d->lock);
	if (!d->failing) {
		d->err = *why;
		d->unreported = true;
	}
	d->state.is_failing = true;
	pthread_mutex_unlock(&d->lock);
	d->failing = true;
}

void spool_disk_notice(struct spool_disk *d, const struct err *what)
{
	pthread_mutex_lock(&d->lock);
	d->notice = *what;
	d->has_notice = true;
	pthread_mutex_unlock(&d->lock);
}

void spool_disk_set_leaves(struct spool_disk *d, uint64_t segment)
{
	pthread_mutex_lock(&d->lock);
	d->state.leaves = segment;
	pthread_mutex_unlock(&d->lock);
}

static void count_lost(struct spool_disk *d, uint64_t samples)
{
	pthread_mutex_lock(&d->lock);
	d->state.lost += samples;
	pthread_mutex_unlock(&d->lock);
}

void spool_disk_give_up(struct spool_disk *d, uint64_t segment)
{
	pthread_mutex_lock(&d->lock);
	if (segment > d->state.given_up)
		d->state.given_up = segment;
	pthread_mutex_unlock(&d->lock);
}

static void apply_limits(struct spool_disk *d, uint64_t more, bool *ret_floor)
{
	bool floor =
		spool_retention_apply(&d->retention, d->fd >= 0 ? d->limits.segment_len : 0, more);

	d->limits_ns = spool_disk_now_ns(d);
	pthread_mutex_lock(&d->lock);
	d->state.dropped = d->retention.dropped;
	d->state.dropped_by = d->retention.dropped_by;
	pthread_mutex_unlock(&d->lock);
	if (ret_floor)
		*ret_floor = floor;
}

/* --- I/O jobs -------------------------------------------------------------------------------- */

void spool_disk_run_io_job(struct spool_disk *d, struct io_job *c)
{
	const struct io *io = d->io;

	switch (c->kind) {
	case IO_JOB_SYNC:
		c->rc = io->sync(io->ctx, c->fd);
		break;
	case IO_JOB_FINISH:
		c->rc = io->sync(io->ctx, c->fd);
		io->close(io->ctx, c->fd);
		break;
	case IO_JOB_PACK:
		c->rc = spool_compress(io, d->place.dir_fd, c->segment, &c->len, NULL);
		break;
	}
}

/* After a failed sync it is unknown what of the file is on the disk, and a second sync would only
 * hide that: a new segment begins. */
static void take_sync(struct spool_disk *d, const struct io_job *c)
{
	struct err err;

	if (!c->rc)
		return;
	err_sys(&err, -c->rc, "sync of spool segment %016llx", (unsigned long long)c->segment);
	spool_disk_tell(d, &err);
	if (c->kind == IO_JOB_SYNC && d->fd >= 0 && c->segment == d->segment) {
		spool_disk_give_up(d, d->segment);
		spool_disk_end_segment(d, false);
	}
}

static void take_packed(struct spool_disk *d, const struct io_job *c)
{
	struct spool_retained *k = spool_retention_find(&d->retention, c->segment);
	char temp[SPOOL_COMPRESSED_NAME_MAX], name[SPOOL_NAME_MAX];

	if (k)
		k->is_final = true;
	if (c->rc != 1)
		return;
	spool_compressed_name(c->segment, temp);
	/* Limits may have dropped it meanwhile: then it must not come back. The directory is not
	 * synced: after a power cut either of the two is there, and both are whole. */
	if (k && d->io->rename(d->io->ctx, d->place.dir_fd, temp,
			       spool_segment_name(c->segment, name)) == 0)
		k->len = c->len;
	else
		d->io->unlink(d->io->ctx, d->place.dir_fd, temp);
}

void spool_disk_take_io_job(struct spool_disk *d, const struct io_job *c)
{
	if (c->kind == IO_JOB_PACK)
		take_packed(d, c);
	else
		take_sync(d, c);
}

bool spool_disk_ask(struct spool_disk *d, enum io_job_kind kind, int fd, uint64_t segment)
{
	struct io_job c = {IO_JOB_ASKED, kind, fd, 0, segment, 0};
	bool taken;

	if (!d->detached) {
		spool_disk_run_io_job(d, &c);
		spool_disk_take_io_job(d, &c);
		return true;
	}
	pthread_mutex_lock(&d->lock);
	taken = d->io_job.state == IO_JOB_NONE;
	if (taken)
		d->io_job = c;
	pthread_mutex_unlock(&d->lock);
	return taken;
}

void spool_disk_finish_next(struct spool_disk *d)
{
	while (d->closing_count &&
	       spool_disk_ask(d, IO_JOB_FINISH, d->closing[0].fd, d->closing[0].segment))
		memmove(d->closing, d->closing + 1, --d->closing_count * sizeof(*d->closing));
}

static void pack_next(struct spool_disk *d)
{
	const bool may_pack = d->detached && d->next.dir_fd < 0;
	const struct spool_retained *k = may_pack ? spool_retention_unpacked(&d->retention) : NULL;

	/* The segment that ended just now is packed when the next begins: it may be the last, which
	 * spool_disk_end() decides on. A segment is there twice while it is packed, which must not
	 * use up the room that is to stay free. */
	if (k && k->number != d->segment && !d->closing_count &&
	    d->io->free_bytes(d->io->ctx, d->place.dir_fd) >= d->limits.free_floor + k->len)
		spool_disk_ask(d, IO_JOB_PACK, -1, k->number);
}

/* --- segments -------------------------------------------------------------------------------- */

void spool_disk_end_segment(struct spool_disk *d, bool is_whole)
{
	uint64_t len = d->limits.segment_len;

	if (d->fd < 0)
		return;
	if (is_whole && d->io->truncate(d->io->ctx, d->fd, (off_t)d->end) == 0)
		len = d->end;
	if (!is_whole || d->closing_count == CLOSING_MAX) {
		if (is_whole)
			d->io->sync(d->io->ctx, d->fd);
		d->io->close(d->io->ctx, d->fd);
	} else {
		d->closing[d->closing_count].fd = d->fd;
		d->closing[d->closing_count++].segment = d->segment;
	}
	d->fd = -1;
	spool_retention_add(&d->retention, d->segment, len, &d->current);
	spool_disk_finish_next(d);
}

static int fill_segment(struct spool_disk *d, int fd, struct err *err)
{
	const struct spool_segment_info info = {
		.segment = d->segment,
		.segment_len = d->limits.segment_len,
		.sync_ns = d->limits.sync_ns,
		.origin = d->current,
	};
	uint8_t header[SPOOL_HEADER_MAX];
	int rc;

	/* All room is allocated now, so that a full disk fails here and not in the middle. */
	rc = d->io->allocate(d->io->ctx, fd, (off_t)d->limits.segment_len);
	if (rc)
		return err_sys(err, -rc, "room for a spool segment");
	d->end = spool_header_encode(&info, header);
	TRY(io_write_all(d->io, fd, header, d->end, 0, err));
	rc = d->io->sync(d->io->ctx, fd);
	return rc ? err_sys(err, -rc, "sync of a spool segment") : 0;
}

static int create_segment(struct spool_disk *d, struct err *err)
{
	char name[SPOOL_NAME_MAX], temp[SPOOL_NAME_MAX + 8];
	bool floor;
	int fd, rc;

	if (d->is_gone && spool_disk_reopen(d, err))
		return err->code;
	apply_limits(d, d->limits.segment_len, &floor);
	if (!floor)
		return err_set(err, ERR_LIMIT,
			       "spool: the file system would have less than %llu MiB free",
			       (unsigned long long)(d->limits.free_floor / MIB));
	spool_segment_name(d->segment, name);
	snprintf(temp, sizeof(temp), ".%s.tmp", name);
	fd = d->io->open(d->io->ctx, d->place.dir_fd, temp, O_RDWR | O_CREAT | O_EXCL, 0600);
	d->is_gone = fd == -ENOENT;
	if (fd < 0)
		return err_sys(err, -fd, "%s: spool segment", d->dir);
	rc = fill_segment(d, fd, err);
	if (!rc) {
		rc = d->io->rename(d->io->ctx, d->place.dir_fd, temp, name);
		if (rc)
			rc = err_sys(err, -rc, "rename of a spool segment");
	}
	if (rc) {
		d->io->close(d->io->ctx, fd);
		d->io->unlink(d->io->ctx, d->place.dir_fd, temp);
		return rc;
	}
	rc = d->io->sync(d->io->ctx, d->place.dir_fd);
	if (rc) {
		d->io->close(d->io->ctx, fd);
		d->io->unlink(d->io->ctx, d->place.dir_fd, name);
		return err_sys(err, -rc, "sync of the spool directory");
	}
	d->fd = fd;
	d->synced_ns = spool_disk_now_ns(d);
	d->dirty = false;
	d->unseen = 0;
	return 0;
}

/* Ends the current segment, after a last check that nobody removed it. */
static void end_current_segment(struct spool_disk *d)
{
	if (d->fd >= 0)
		spool_disk_look_for_segment(d);
	spool_disk_end_segment(d, true);
}

static void begin_segment(struct spool_disk *d, const struct spool_chunk *c)
{
	struct err err;

	end_current_segment(d);
	if (c->moves)
		spool_disk_move(d, c->left_losses);
	d->segment = c->segment;
	/* The writer began this segment before it knew that it has to move. */
	if (d->next.dir_fd >= 0)
		spool_disk_set_leaves(d, d->segment);
	d->current = *d->origin;
	d->current.mono_ns = c->mono_ns;
	d->current.real_ns = c->real_ns;
	if (create_segment(d, &err)) {
		spool_disk_tell(d, &err);
		spool_disk_give_up(d, d->segment);
	} else {
		d->failing = false;
		pthread_mutex_lock(&d->lock);
		d->state.is_failing = false;
		pthread_mutex_unlock(&d->lock);
		/* After a kill, the next capturer counts from the place that the account states. */
		if (!d->account_ns)
			spool_disk_account_write(d);
	}
}

/* After an error a part of the chunk may be in the file, and later records cannot follow it: the
 * segment ends here. */
void spool_disk_append(struct spool_disk *d, const struct spool_chunk *c)
{
	struct err err;

	if (c->begins)
		begin_segment(d, c);
	if (d->fd < 0 || c->segment != d->segment) {
		count_lost(d, c->samples);
		return;
	}
	if (c->len && io_write_all(d->io, d->fd, c->bytes, c->len, (off_t)d->end, &err)) {
		err_prefix(&err, "spool segment %016llx", (unsigned long long)d->segment);
		spool_disk_tell(d, &err);
		count_lost(d, c->samples);
		spool_disk_give_up(d, d->segment);
		spool_disk_end_segment(d, false);
		return;
	}
	d->end += c->len;
	d->stored += c->samples;
	d->unseen += c->samples;
	d->dirty |= c->len > 0;
	if (c->ends)
		end_current_segment(d);
}

/* --- by time --------------------------------------------------------------------------------- */

/* The threads sync a little early, while awake for a chunk, which saves a wakeup. */
static bool is_due(const struct spool_disk *d, uint64_t last_ns)
{
	const uint64_t early_ns = d->detached ? d->limits.sync_ns / 8 : 0;

	return spool_disk_now_ns(d) - last_ns >= d->limits.sync_ns - early_ns;
}

/* Bytes appended to a removed file are lost with this process, and without this check that would go
 * on until the segment is full. */
void spool_disk_look_for_segment(struct spool_disk *d)
{
	char name[SPOOL_NAME_MAX];
	struct err err;

	/* The file itself may well have another name elsewhere. */
	if (d->io->exists(d->io->ctx, d->place.dir_fd, spool_segment_name(d->segment, name))) {
		d->unseen = 0;
		return;
	}
	err_set(&err, ERR_NOT_FOUND,
		"%s: the segment that was written to is removed: another one begins", d->dir);
	spool_disk_tell(d, &err);
	d->failing = false; /* so that a failure to begin one is reported, too */
	count_lost(d, d->unseen);
	d->stored -= d->unseen;
	spool_disk_give_up(d, d->segment);
	spool_disk_end_segment(d, true);
	d->is_gone = true;
}

/* Syncs the segment, if it is still there and no other job is under way. */
static void sync_segment(struct spool_disk *d)
{
	spool_disk_look_for_segment(d);
	if (d->fd < 0 || (d->dirty && !spool_disk_ask(d, IO_JOB_SYNC, d->fd, d->segment)))
		return;
	d->synced_ns = spool_disk_now_ns(d);
	d->dirty = false;
}

void spool_disk_do_due(struct spool_disk *d)
{
	spool_disk_finish_next(d);
	if (d->fd >= 0 && is_due(d, d->synced_ns))
		sync_segment(d);
	if (is_due(d, d->limits_ns)) {
		spool_disk_look_around(d);
		apply_limits(d, 0, NULL);
		spool_disk_account_write(d);
	}
	pack_next(d);
}

uint64_t spool_disk_next_due(const struct spool_disk *d)
{
	uint64_t due = d->limits_ns + d->limits.sync_ns;

	if (d->fd >= 0 && d->dirty && d->synced_ns + d->limits.sync_ns < due)
		due = d->synced_ns + d->limits.sync_ns;
	return due;
}
