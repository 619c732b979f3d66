/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "spool_pack.h"
#include "spool_segment.h"

#define LOCK_NAME  "lock"
#define MARGIN_LEN (UINT64_C(128) << 10)

/* A segment on the disk that is not the current one. */
struct kept {
	uint64_t number, len;
	struct spool_origin origin; /* for its age */
};

struct spool_writer {
	const struct io *io;
	int dir_fd, lock_fd;
	struct spool_limits limits;
	struct spool_origin origin;

	int fd; /* the current segment; -1 while none can be had */
	uint64_t segment;
	struct spool_pack pack;
	uint64_t unwritten; /* samples the kernel has not got */
	uint64_t synced_ns, limits_ns, retry_ns;

	struct kept *kept; /* ascending */
	size_t kept_count, kept_cap;

	bool failing, unreported;
	struct err err; /* why it began to fail */
};

/* --- failing --------------------------------------------------------------------------------- */

static void begin_failing(struct spool_writer *w, const struct err *why)
{
	if (!w->failing) {
		w->err = *why;
		w->unreported = true;
	}
	w->failing = true;
}

/* Gives the current segment up: what the kernel does not have of it is lost, and counted. */
static void abandon_segment(struct spool_writer *w)
{
	if (w->fd >= 0)
		w->io->close(w->io->ctx, w->fd);
	w->fd = -1;
	w->pack.losses[SPOOL_LOSS_SPOOL_ERROR] += w->unwritten;
	w->unwritten = 0;
	w->retry_ns = w->io->mono_ns(w->io->ctx) + w->limits.sync_ns;
}

/* Everything emitted goes to the kernel in one write. A part of it may get there on an error, and
 * then later records cannot follow: the segment ends here. */
static int write_out(struct spool_writer *w)
{
	struct err err;
	int rc = w->pack.out.failed ? err_set(&err, ERR_MEMORY, "out of memory for the spool") : 0;

	if (!rc && w->pack.out.len)
		rc = io_write_all(w->io, w->fd, w->pack.out.p, w->pack.out.len, (off_t)w->pack.off,
				  &err);
	if (rc) {
		err_prefix(&err, "spool segment %016llx", (unsigned long long)w->segment);
		begin_failing(w, &err);
		abandon_segment(w);
	} else {
		w->pack.off += w->pack.out.len;
		w->unwritten = 0;
	}
	buf_reset(&w->pack.out);
	return rc;
}

/* --- limits ---------------------------------------------------------------------------------- */

static uint64_t age_of(const struct spool_writer *w, const struct spool_origin *o)
{
	uint64_t now, then;

	/* Within one boot a clock that is set does not matter. */
	if (!memcmp(o->boot_id, w->origin.boot_id, sizeof(o->boot_id))) {
		now = w->io->mono_ns(w->io->ctx);
		then = o->mono_ns;
	} else {
		now = w->io->real_ns(w->io->ctx);
		then = o->real_ns;
	}
	return now > then ? now - then : 0;
}

/* Removes the oldest segment; sent ones are always older than unsent ones. */
static void drop_oldest(struct spool_writer *w, uint64_t ack_segment, uint64_t ack_place)
{
	const struct kept *k = &w->kept[0];
	uint64_t lost = 0;
	char name[SPOOL_NAME_MAX];
	int rc;

	if (k->number >= ack_segment)
		lost = spool_segment_samples(w->io, w->dir_fd, k->number,
					     k->number == ack_segment ? ack_place : 0);
	rc = w->io->unlink(w->io->ctx, w->dir_fd, spool_segment_name(k->number, name));
	if (rc == 0 && lost) {
		w->pack.losses[SPOOL_LOSS_SPOOL_DROPPED] += lost;
		w->pack.losses_changed = true;
	}
	/* One that cannot be removed is not ours to wait for. */
	memmove(w->kept, w->kept + 1, --w->kept_count * sizeof(*w->kept));
}

/* Makes room for `more` bytes to come. Whether the floor of the file system is kept then. */
static bool apply_limits(struct spool_writer *w, uint64_t more)
{
	uint64_t total = more, ack_segment = 0, ack_place = 0, free_len;

	w->limits_ns = w->io->mono_ns(w->io->ctx);
	if (w->fd >= 0)
		total += w->limits.segment_len;
	for (size_t i = 0; i < w->kept_count; i++)
		total += w->kept[i].len;
	spool_ack_read(w->io, w->dir_fd, &ack_segment, &ack_place, NULL);
	for (;;) {
		free_len = w->io->free_bytes(w->io->ctx, w->dir_fd);
		if (!w->kept_count)
			break;
		if (total <= w->limits.total_len && free_len >= w->limits.free_floor + more &&
		    !(w->limits.age_ns && age_of(w, &w->kept[0].origin) > w->limits.age_ns))
			break;
		total -= w->kept[0].len;
		drop_oldest(w, ack_segment, ack_place);
	}
	return free_len >= w->limits.free_floor + more;
}

/* --- segments -------------------------------------------------------------------------------- */

static int fill_segment(struct spool_writer *w, int fd, struct err *err)
{
	const struct spool_segment_info info = {
		.segment = w->segment,
		.segment_len = w->limits.segment_len,
		.origin = w->origin,
	};
	uint8_t header[SPOOL_HEADER_LEN];
	int rc;

	/* All of the room is taken now, so that a full disk is met here and not in the middle. */
	rc = w->io->allocate(w->io->ctx, fd, (off_t)w->limits.segment_len);
	if (rc)
		return err_sys(err, -rc, "room for a spool segment");
	spool_header_encode(&info, w->limits.sync_ns, header);
	rc = io_write_all(w->io, fd, header, sizeof(header), 0, err);
	if (rc)
		return rc;
	rc = w->io->sync(w->io->ctx, fd);
	return rc ? err_sys(err, -rc, "sync of a spool segment") : 0;
}

static int create_segment(struct spool_writer *w, struct err *err)
{
	char name[SPOOL_NAME_MAX], temp[SPOOL_NAME_MAX + 8];
	int fd, rc;

	if (!apply_limits(w, w->limits.segment_len))
		return err_set(err, ERR_LIMIT,
			       "spool: the file system would have less than %llu MiB free",
			       (unsigned long long)(w->limits.free_floor / MIB));
	w->origin.mono_ns = w->io->mono_ns(w->io->ctx);
	w->origin.real_ns = w->io->real_ns(w->io->ctx);
	spool_segment_name(w->segment, name);
	snprintf(temp, sizeof(temp), ".%s.tmp", name);
	fd = w->io->open(w->io->ctx, w->dir_fd, temp, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return err_sys(err, -fd, "spool segment");
	rc = fill_segment(w, fd, err);
	if (!rc) {
		rc = w->io->rename(w->io->ctx, w->dir_fd, temp, name);
		if (rc)
			rc = err_sys(err, -rc, "rename of a spool segment");
	}
	if (rc) {
		w->io->close(w->io->ctx, fd);
		w->io->unlink(w->io->ctx, w->dir_fd, temp);
		return rc;
	}
	rc = w->io->sync(w->io->ctx, w->dir_fd);
	if (rc) {
		w->io->close(w->io->ctx, fd);
		w->io->unlink(w->io->ctx, w->dir_fd, name);
		return err_sys(err, -rc, "sync of the spool directory");
	}
	w->fd = fd;
	w->synced_ns = w->io->mono_ns(w->io->ctx);
	return 0;
}

/* A next segment, or the state "none": the writer goes on either way. */
static void start_segment(struct spool_writer *w)
{
	struct err err;

	spool_pack_reset(&w->pack, SPOOL_HEADER_LEN);
	w->unwritten = 0;
	w->segment++;
	if (create_segment(w, &err)) {
		begin_failing(w, &err);
		abandon_segment(w);
	} else {
		w->failing = false;
	}
}

static bool keep_segment(struct spool_writer *w, uint64_t number, uint64_t len,
			 const struct spool_origin *origin)
{
	if (!grow_array((void **)&w->kept, &w->kept_cap, w->kept_count + 1, sizeof(*w->kept),
			LIMIT_SPOOL_FILES))
		return false;
	w->kept[w->kept_count++] = (struct kept){number, len, *origin};
	return true;
}

/* Writes all there is, says that nothing follows, gives the rest of the room back. */
static void seal_segment(struct spool_writer *w)
{
	uint64_t len = w->limits.segment_len;

	if (w->fd < 0)
		return;
	spool_pack_seal(&w->pack);
	if (write_out(w) == 0) {
		if (w->io->truncate(w->io->ctx, w->fd, (off_t)w->pack.off) == 0)
			len = w->pack.off;
		w->io->sync(w->io->ctx, w->fd);
		w->io->close(w->io->ctx, w->fd);
		w->fd = -1;
	}
	keep_segment(w, w->segment, len, &w->origin);
}

static void rotate(struct spool_writer *w)
{
	seal_segment(w);
	start_segment(w);
}

/* --- opening --------------------------------------------------------------------------------- */

/* The room a killed writer left unused behind its last record is given back. Returns the length
 * now, 0 when it stays as it was. */
static uint64_t trim_segment(struct spool_writer *w, int fd, uint64_t len)
{
	static const uint8_t zeros[4096];
	uint8_t block[4096];

	while (len > sizeof(block)) {
		off_t at = (off_t)((len - 1) / sizeof(block) * sizeof(block));
		ssize_t n = w->io->pread(w->io->ctx, fd, block, sizeof(block), at);

		if (n < 0)
			return 0;
		if (memcmp(block, zeros, (size_t)n)) {
			len = len < (uint64_t)(at + n) ? len : (uint64_t)(at + n);
			break;
		}
		len = (uint64_t)at;
	}
	return w->io->truncate(w->io->ctx, fd, (off_t)len) ? 0 : len;
}

static int adopt_segment(struct spool_writer *w, uint64_t number, bool is_last)
{
	struct spool_segment_info info = {.segment_len = w->limits.segment_len};
	char name[SPOOL_NAME_MAX];
	uint64_t len;
	int fd;

	fd = w->io->open(w->io->ctx, w->dir_fd, spool_segment_name(number, name),
			 O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	/* A damaged header leaves age 0 of this boot: only the byte limit removes it. */
	info.origin = w->origin;
	info.origin.mono_ns = w->io->mono_ns(w->io->ctx);
	if (fd >= 0)
		spool_header_read(w->io, fd, &info, NULL);
	if (info.segment_len > LIMIT_SPOOL_SEGMENT)
		info.segment_len = LIMIT_SPOOL_SEGMENT;
	len = info.segment_len;
	if (fd >= 0) {
		if (is_last) {
			uint64_t trimmed = trim_segment(w, fd, len);

			len = trimmed ? trimmed : len;
		}
		w->io->close(w->io->ctx, fd);
	}
	return keep_segment(w, number, len, &info.origin) ? 0 : ERR_MEMORY;
}

/* Takes stock of what is there and sets the number before the first segment of this writer. */
static int adopt_segments(struct spool_writer *w, struct err *err)
{
	struct spool_segments found;
	uint64_t ack_place, next;
	int rc = spool_segments_list(w->io, w->dir_fd, &found, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < found.count && !rc; i++)
		rc = adopt_segment(w, found.numbers[i], i + 1 == found.count);
	if (rc)
		err_set(err, rc, "out of memory for the spool");
	if (!rc)
		rc = spool_ack_read(w->io, w->dir_fd, &w->segment, &ack_place, err);
	if (found.count && found.numbers[found.count - 1] > w->segment)
		w->segment = found.numbers[found.count - 1];
	free(found.numbers);
	/* Milliseconds since 1970, so that a directory that was removed does not use the numbers,
	 * and with them the batch ids, of its predecessor again. */
	next = w->io->real_ns(w->io->ctx) / 1000000;
	if (w->segment < next)
		w->segment = next;
	return rc;
}

static int open_directory(struct spool_writer *w, const char *dir, struct err *err)
{
	int rc = w->io->make_dir(w->io->ctx, AT_FDCWD, dir, 0700);

	if (rc && rc != -EEXIST)
		return err_sys(err, -rc, "%s", dir);
	w->dir_fd = w->io->open(w->io->ctx, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (w->dir_fd < 0)
		return err_sys(err, -w->dir_fd, "%s", dir);
	w->lock_fd = w->io->open(w->io->ctx, w->dir_fd, LOCK_NAME,
				 O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (w->lock_fd < 0)
		return err_sys(err, -w->lock_fd, "%s/" LOCK_NAME, dir);
	rc = w->io->lock(w->io->ctx, w->lock_fd);
	if (rc == -EWOULDBLOCK)
		return err_set(err, ERR_EXISTS, "%s: another capturer writes to this spool", dir);
	return rc ? err_sys(err, -rc, "%s/" LOCK_NAME, dir) : 0;
}

static int check_limits(struct spool_limits *l, struct err *err)
{
	l->segment_len = l->segment_len ? l->segment_len : 4 * MIB;
	l->total_len = l->total_len ? l->total_len : 256 * MIB;
	l->free_floor = l->free_floor ? l->free_floor : 512 * MIB;
	l->sync_ns = l->sync_ns ? l->sync_ns : UINT64_C(2000000000);
	if (l->segment_len < LIMIT_SPOOL_SEGMENT_MIN || l->segment_len > LIMIT_SPOOL_SEGMENT ||
	    l->segment_len % SPOOL_RECORD_ALIGN)
		return err_set(err, ERR_USAGE,
			       "a spool segment has 64 KiB to 64 MiB, not %llu bytes",
			       (unsigned long long)l->segment_len);
	if (l->total_len / 2 < l->segment_len)
		return err_set(err, ERR_USAGE, "a spool holds at least two segments");
	return 0;
}

int spool_writer_open(struct spool_writer **ret, const char *dir, const struct spool_limits *limits,
		      const struct spool_origin *origin, const struct io *io, struct err *err)
{
	struct spool_writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return err_set(err, ERR_MEMORY, "out of memory for the spool");
	w->io = io ? io : io_system();
	w->dir_fd = w->lock_fd = w->fd = -1;
	w->origin = *origin;
	if (limits)
		w->limits = *limits;
	else
		w->limits.age_ns = UINT64_C(7) * 86400 * 1000000000;
	rc = check_limits(&w->limits, err);
	if (!rc)
		rc = open_directory(w, dir, err);
	if (rc) {
		spool_writer_close(w);
		return rc;
	}
	spool_pack_init(&w->pack, w->limits.segment_len);
	spool_segments_clean(w->io, w->dir_fd);
	rc = adopt_segments(w, err);
	if (rc) {
		spool_writer_close(w);
		return rc;
	}
	start_segment(w);
	*ret = w;
	return 0;
}

/* --- dictionaries ---------------------------------------------------------------------------- */

uint32_t spool_writer_string(struct spool_writer *w, const void *p, size_t len)
{
	return w->fd < 0 ? LOCATION_NO_INDEX : spool_pack_string(&w->pack, p, len);
}

uint32_t spool_writer_module(struct spool_writer *w, const struct spool_module *m)
{
	return w->fd < 0 ? LOCATION_NO_INDEX : spool_pack_module(&w->pack, m);
}

uint32_t spool_writer_location(struct spool_writer *w, const struct location *l)
{
	return w->fd < 0 ? LOCATION_NO_INDEX : spool_pack_location(&w->pack, l);
}

uint32_t spool_writer_stack(struct spool_writer *w, const uint32_t *locations, size_t count,
			    uint32_t flags)
{
	return w->fd < 0 ? LOCATION_NO_INDEX : spool_pack_stack(&w->pack, locations, count, flags);
}

uint32_t spool_writer_thread(struct spool_writer *w, const struct spool_thread *t)
{
	return w->fd < 0 ? LOCATION_NO_INDEX : spool_pack_thread(&w->pack, t);
}

/* --- samples --------------------------------------------------------------------------------- */

void spool_writer_sample(struct spool_writer *w, const struct spool_sample *s)
{
	/* What one more sample with everything new may take before the segment is called full. */
	const uint64_t margin =
		w->limits.segment_len / 8 < MARGIN_LEN ? w->limits.segment_len / 8 : MARGIN_LEN;

	if (w->fd >= 0 && spool_pack_sample(&w->pack, s)) {
		w->unwritten++;
	} else {
		w->pack.losses[SPOOL_LOSS_SPOOL_ERROR]++;
		w->pack.losses_changed = true;
	}
	if (w->fd >= 0 && (w->pack.full || !spool_pack_has_room(&w->pack, margin)))
		rotate(w);
}

void spool_writer_loss(struct spool_writer *w, enum spool_loss loss, uint64_t cumulative)
{
	if (loss == SPOOL_LOSS_SPOOL_DROPPED || loss == SPOOL_LOSS_SPOOL_ERROR ||
	    w->pack.losses[loss] == cumulative)
		return;
	w->pack.losses[loss] = cumulative;
	w->pack.losses_changed = true;
}

uint64_t spool_writer_lost(const struct spool_writer *w, enum spool_loss loss)
{
	return w->pack.losses[loss];
}

static void sync_segment(struct spool_writer *w)
{
	struct err err;
	int rc = w->io->sync(w->io->ctx, w->fd);

	w->synced_ns = w->io->mono_ns(w->io->ctx);
	if (!rc)
		return;
	/* After a failed sync nobody knows what of the file is on the disk, and asking again
	 * would only hide it: a new file it is. */
	err_sys(&err, -rc, "sync of spool segment %016llx", (unsigned long long)w->segment);
	begin_failing(w, &err);
	keep_segment(w, w->segment, w->limits.segment_len, &w->origin);
	abandon_segment(w);
}

int spool_writer_flush(struct spool_writer *w, struct err *err)
{
	uint64_t now = w->io->mono_ns(w->io->ctx);

	if (w->fd >= 0) {
		spool_pack_emit(&w->pack);
		if (write_out(w))
			keep_segment(w, w->segment, w->limits.segment_len, &w->origin);
		else if (now - w->synced_ns >= w->limits.sync_ns)
			sync_segment(w);
	}
	if (w->fd < 0) {
		if (now >= w->retry_ns)
			start_segment(w);
	} else if (w->limits.age_ns && w->pack.sample_total &&
		   age_of(w, &w->origin) > w->limits.age_ns / 8) {
		rotate(w);
	} else if (now - w->limits_ns >= w->limits.sync_ns) {
		apply_limits(w, 0);
	}
	if (w->unreported) {
		w->unreported = false;
		if (err)
			*err = w->err;
		return w->err.code;
	}
	return 0;
}

void spool_writer_close(struct spool_writer *w)
{
	if (!w)
		return;
	seal_segment(w);
	spool_pack_done(&w->pack);
	free(w->kept);
	if (w->fd >= 0)
		w->io->close(w->io->ctx, w->fd);
	if (w->lock_fd >= 0)
		w->io->close(w->io->ctx, w->lock_fd);
	if (w->dir_fd >= 0)
		w->io->close(w->io->ctx, w->dir_fd);
	free(w);
}
