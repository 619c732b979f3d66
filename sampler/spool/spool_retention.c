/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_retention.h"

#include <fcntl.h>
#include <string.h>

#include "bisect.h"

bool spool_retention_add(struct spool_retention *k, uint64_t number, uint64_t len,
			 const struct spool_origin *origin)
{
	if (!GROW(k->all, &k->cap, k->count + 1, LIMIT_SPOOL_FILES))
		return false;
	k->all[k->count++] = (struct spool_retained){
		.number = number, .len = len, .origin = *origin, .is_readable = true};
	return true;
}

struct spool_retained *spool_retention_find(struct spool_retention *k, uint64_t number)
{
	for (size_t i = k->count; i-- > 0;)
		if (k->all[i].number == number)
			return &k->all[i];
	return NULL;
}

struct spool_retained *spool_retention_unpacked(struct spool_retention *k)
{
	for (size_t i = k->count; i-- > 0;)
		if (!k->all[i].is_final)
			return &k->all[i];
	return NULL;
}

/* --- limits ---------------------------------------------------------------------------------- */

/* The uptime from which the wall clock is believed: a host that starts with a wrong one has set it
 * by then. */
#define BELIEVED_NS UINT64_C(86400000000000)

/* Nobody wrote a spool before 2024. */
#define REAL_NS_MIN UINT64_C(1704067200000000000)

uint64_t spool_retention_age(const struct spool_retention *k, const struct spool_origin *o)
{
	const uint64_t mono = k->io->mono_ns(k->io->ctx), real = k->io->real_ns(k->io->ctx);

	/* Within one boot the monotonic clock counts, which nobody sets. */
	if (!memcmp(o->boot_id, k->boot_id, sizeof(o->boot_id)))
		return mono > o->mono_ns ? mono - o->mono_ns : 0;
	if (mono < BELIEVED_NS || o->real_ns < REAL_NS_MIN)
		return mono;
	return real > o->real_ns ? real - o->real_ns : 0;
}

/* Removes the oldest segment; sent ones are always older than unsent ones. Samples that go unsent
 * are stated first, so that after a power cut they are counted, and the segment counts as dropped
 * even if its file is still there. If the statement cannot be written, the segment goes all the
 * same, and only the data state the count. */
static void drop_oldest(struct spool_retention *k, enum spool_drop_reason reason)
{
	const uint64_t number = k->all[0].number;
	uint64_t lost = 0, ack_segment, ack_place;
	char name[SPOOL_NAME_MAX];
	int rc;

	spool_ack_read(k->io, k->dir_fd, &ack_segment, &ack_place, NULL);
	if (number >= ack_segment)
		lost = spool_segment_samples(k->io, k->dir_fd, number,
					     number == ack_segment ? ack_place : 0);
	if (lost) {
		k->drops.samples += lost;
		k->drops.segment = number;
		if (spool_drops_write(k->io, k->dir_fd, &k->drops, NULL))
			k->drops.segment = 0;
	}
	rc = k->io->unlink(k->io->ctx, k->dir_fd, spool_segment_name(number, name));
	/* A segment that cannot be removed is not waited for; if it was stated as dropped, nobody
	 * reads it. */
	if (rc == 0 || k->drops.segment == number) {
		k->dropped += lost;
		k->dropped_by = lost ? reason : k->dropped_by;
	} else {
		k->drops.samples -= lost;
	}
	memmove(k->all, k->all + 1, --k->count * sizeof(*k->all));
}

bool spool_retention_apply(struct spool_retention *k, uint64_t held_len, uint64_t more)
{
	uint64_t total = held_len + more, free_len;
	enum spool_drop_reason reason;

	/* No room is needed, and there is nothing to drop. */
	if (!k->count && !more)
		return true;
	for (size_t i = 0; i < k->count; i++)
		total += k->all[i].len;
	for (;;) {
		free_len = k->io->free_bytes(k->io->ctx, k->dir_fd);
		if (!k->count)
			break;
		if (total > k->limits.total_len)
			reason = SPOOL_DROP_SIZE;
		else if (free_len < k->limits.free_floor + more)
			reason = SPOOL_DROP_FLOOR;
		else if (k->limits.age_ns &&
			 spool_retention_age(k, &k->all[0].origin) > k->limits.age_ns)
			reason = SPOOL_DROP_AGE;
		else
			break;
		total -= k->all[0].len;
		drop_oldest(k, reason);
	}
	return free_len >= k->limits.free_floor + more;
}

/* --- taking stock ---------------------------------------------------------------------------- */

/* Gives back the room that a killed writer left unused behind its last record. Returns the new
 * length, or 0 when it stays as it was. */
static uint64_t trim_segment(const struct spool_retention *k, int fd, uint64_t len)
{
	static const uint8_t zeros[4096];
	uint8_t block[4096];

	while (len > sizeof(block)) {
		off_t at = (off_t)((len - 1) / sizeof(block) * sizeof(block));
		ssize_t n = k->io->pread(k->io->ctx, fd, block, sizeof(block), at);

		if (n < 0)
			return 0;
		if (memcmp(block, zeros, (size_t)n)) {
			len = len < (uint64_t)(at + n) ? len : (uint64_t)(at + n);
			break;
		}
		len = (uint64_t)at;
	}
	return k->io->truncate(k->io->ctx, fd, (off_t)len) ? 0 : len;
}

/* Returns the length of an open file, which is at most LIMIT_SPOOL_SEGMENT and a header. */
static uint64_t length_of(const struct spool_retention *k, int fd)
{
	uint8_t byte;

	/* Searches for the last offset with a byte, for struct io does not tell lengths. */
	return BISECT(LIMIT_SPOOL_SEGMENT + SPOOL_HEADER_MAX, i,
		      k->io->pread(k->io->ctx, fd, &byte, 1, (off_t)i) > 0);
}

/* A segment whose header is damaged or of another format gets the origin of the next readable one,
 * which is younger, so that the age limit drops it and those behind it. Without a next one it
 * counts as begun now. */
static void guess_origins(struct spool_retention *k, const struct spool_origin *origin)
{
	struct spool_origin next = *origin;

	next.mono_ns = k->io->mono_ns(k->io->ctx);
	for (size_t i = k->count; i-- > 0;) {
		if (k->all[i].is_readable)
			next = k->all[i].origin;
		else
			k->all[i].origin = next;
	}
}

static int adopt_segment(struct spool_retention *k, uint64_t number, bool is_last,
			 const struct spool_origin *origin)
{
	struct spool_segment_info info = {.origin = *origin};
	char name[SPOOL_NAME_MAX];
	uint64_t len = k->limits.segment_len;
	int fd, rc = ERR_IO;

	fd = k->io->open(k->io->ctx, k->dir_fd, spool_segment_name(number, name),
			 O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd >= 0) {
		rc = spool_header_read(k->io, fd, &info, NULL);
		if (rc)
			info = (struct spool_segment_info){.origin = *origin};
		len = length_of(k, fd);
		/* The end of the bytes of another format is unknown. */
		if (is_last && !info.block_count && rc != ERR_UNSUPPORTED) {
			uint64_t trimmed = trim_segment(k, fd, len);

			len = trimmed ? trimmed : len;
		}
		k->io->close(k->io->ctx, fd);
	}
	if (!spool_retention_add(k, number, len, &info.origin))
		return ERR_MEMORY;
	k->all[k->count - 1].is_readable = rc == 0;
	k->all[k->count - 1].is_final = info.block_count || rc == ERR_UNSUPPORTED;
	return 0;
}

/* Adopts the segments that are found, and removes those that were dropped. */
static int adopt_segments(struct spool_retention *k, const struct spool_segments *found,
			  const struct spool_origin *origin, struct err *err)
{
	for (size_t i = 0; i < found->count; i++) {
		char name[SPOOL_NAME_MAX];

		if (found->numbers[i] <= k->drops.segment)
			k->io->unlink(k->io->ctx, k->dir_fd,
				      spool_segment_name(found->numbers[i], name));
		else if (adopt_segment(k, found->numbers[i], i + 1 == found->count, origin))
			return err_no_memory(err);
	}
	guess_origins(k, origin);
	return 0;
}

int spool_retention_init(struct spool_retention *k, const struct io *io, int dir_fd,
			 const struct spool_limits *limits, const struct spool_origin *origin,
			 uint64_t *ret_last, struct err *err)
{
	struct spool_segments found;
	uint64_t ack_place;
	int rc;

	*k = (struct spool_retention){.io = io, .dir_fd = dir_fd, .limits = *limits};
	memcpy(k->boot_id, origin->boot_id, sizeof(k->boot_id));
	TRY(spool_segments_list(io, dir_fd, &found, err));
	spool_drops_read(io, dir_fd, &k->drops);
	rc = adopt_segments(k, &found, origin, err);
	rc = rc ? rc : spool_ack_read(io, dir_fd, ret_last, &ack_place, err);
	if (found.count && found.numbers[found.count - 1] > *ret_last)
		*ret_last = found.numbers[found.count - 1];
	if (k->drops.segment > *ret_last)
		*ret_last = k->drops.segment;
	free(found.numbers);
	return rc;
}

void spool_retention_done(struct spool_retention *k)
{
	free(k->all);
	*k = (struct spool_retention){.count = 0};
}
