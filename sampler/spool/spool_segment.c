/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "crc32c.h"
#include "number.h"
#include "spool_halves.h"

#define ACK_NAME     "ack"
#define DROPPED_NAME "dropped"

enum {
	NUMBER_DIGITS = 16
};

static const char *const loss_names[] = {
	[SPOOL_LOSS_RING_FULL] = "ring_full",         [SPOOL_LOSS_STACK_FAULT] = "stack_fault",
	[SPOOL_LOSS_PERF_LOST] = "perf_lost",         [SPOOL_LOSS_THROTTLED] = "throttled",
	[SPOOL_LOSS_SPOOL_DROPPED] = "spool_dropped", [SPOOL_LOSS_SPOOL_ERROR] = "spool_error",
	[SPOOL_LOSS_UNRESOLVED] = "unresolved",       [SPOOL_LOSS_MISSED] = "missed",
	[SPOOL_LOSS_UNREADABLE] = "unreadable",
};
_Static_assert(ARRAY_LEN(loss_names) == SPOOL_LOSS_COUNT, "every loss has a name");

const char *spool_loss_name(enum spool_loss loss)
{
	return (unsigned int)loss < SPOOL_LOSS_COUNT ? loss_names[loss] : "unknown";
}

bool spool_loss_is_real(enum spool_loss loss)
{
	return loss != SPOOL_LOSS_UNRESOLVED && loss != SPOOL_LOSS_UNREADABLE;
}

bool spool_loss_is_of_samples(enum spool_loss loss)
{
	return spool_loss_is_real(loss) && loss != SPOOL_LOSS_PERF_LOST;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool parse_segment_name(const char *name, uint64_t *ret)
{
	const char *digits = name + strlen(SPOOL_SEGMENT_PREFIX);
	char again[SPOOL_NAME_MAX];

	if (strncmp(name, SPOOL_SEGMENT_PREFIX, strlen(SPOOL_SEGMENT_PREFIX)) ||
	    strlen(digits) != NUMBER_DIGITS + strlen(SPOOL_SEGMENT_SUFFIX))
		return false;
	return number_take(&digits, 16, ret) && *ret &&
	       !strcmp(name, spool_segment_name(*ret, again));
}

struct listing {
	struct spool_segments *ret;
	size_t cap;
	bool too_many;
};

static void list_segment(void *arg, const char *name)
{
	struct listing *l = arg;
	uint64_t number;

	if (!parse_segment_name(name, &number))
		return;
	if (!GROW(l->ret->numbers, &l->cap, l->ret->count + 1, LIMIT_SPOOL_FILES)) {
		l->too_many = true;
		return;
	}
	l->ret->numbers[l->ret->count++] = number;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int spool_segments_list(const struct io *io, int dir_fd, struct spool_segments *ret,
			struct err *err)
{
	struct spool_segments found = {0};
	struct listing l = {.ret = &found};
	int rc = io->list(io->ctx, dir_fd, list_segment, &l);

	if (rc || l.too_many) {
		free(found.numbers);
		return rc ? err_sys(err, -rc, "spool directory")
			  : err_set(err, ERR_LIMIT, "more than %llu segments in the spool",
				    (unsigned long long)LIMIT_SPOOL_FILES);
	}
	if (found.count)
		qsort(found.numbers, found.count, sizeof(*found.numbers), compare_numbers);
	*ret = found;
	return 0;
}

struct cleaning {
	const struct io *io;
	int dir_fd;
};

static void clean_one(void *arg, const char *name)
{
	const struct cleaning *c = arg;
	size_t len = strlen(name);

	if (name[0] == '.' && len > 4 && !strcmp(name + len - 4, ".tmp") &&
	    !strncmp(name + 1, SPOOL_SEGMENT_PREFIX, strlen(SPOOL_SEGMENT_PREFIX)))
		c->io->unlink(c->io->ctx, c->dir_fd, name);
}

void spool_segments_clean(const struct io *io, int dir_fd)
{
	struct cleaning c = {io, dir_fd};

	io->list(io->ctx, dir_fd, clean_one, &c);
}

/* --- acknowledgement ------------------------------------------------------------------------- */

static uint32_t ack_crc(struct spool_ack ack)
{
	ack.crc = 0;
	return crc32c(0, &ack, sizeof(ack));
}

int spool_ack_read(const struct io *io, int dir_fd, uint64_t *ret_segment, uint64_t *ret_place,
		   struct err *err)
{
	int fd = io->open(io->ctx, dir_fd, ACK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct spool_ack ack = {0};
	int rc;

	*ret_segment = *ret_place = 0;
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return err_sys(err, -fd, "acknowledgement of the spool");
	rc = io_read_all(io, fd, &ack, sizeof(ack), 0, err);
	io->close(io->ctx, fd);
	if (rc && rc != ERR_DATA)
		return err_prefix(err, "acknowledgement of the spool");
	if (rc || memcmp(ack.magic, SPOOL_ACK_MAGIC, sizeof(ack.magic)) ||
	    ack.crc != ack_crc(ack) || ack.major != SPOOL_STATE_MAJOR)
		return 0;
	*ret_segment = ack.segment;
	*ret_place = ack.place;
	return 0;
}

int spool_ack_write(const struct io *io, int dir_fd, uint64_t segment, uint64_t place,
		    struct err *err)
{
	struct spool_ack ack = {
		.magic = SPOOL_ACK_MAGIC,
		.major = SPOOL_STATE_MAJOR,
		.minor = SPOOL_MINOR,
		.segment = segment,
		.place = place,
	};

	ack.crc = ack_crc(ack);
	return io_replace_file(io, dir_fd, ACK_NAME, &ack, sizeof(ack), err);
}

/* --- what limits dropped --------------------------------------------------------------------- */

static uint32_t dropped_crc(struct spool_dropped dropped)
{
	dropped.crc = 0;
	return crc32c(0, &dropped, sizeof(dropped));
}

void spool_drops_read(const struct io *io, int dir_fd, struct spool_drops *ret)
{
	*ret = (struct spool_drops){0};
	for (int half = 0; half < 2; half++) {
		struct spool_dropped d;

		if (spool_halves_read(io, dir_fd, DROPPED_NAME, half, &d, sizeof(d)) ||
		    memcmp(d.magic, SPOOL_DROPPED_MAGIC, sizeof(d.magic)) ||
		    d.crc != dropped_crc(d) || d.major != SPOOL_STATE_MAJOR ||
		    d.sequence <= ret->sequence)
			continue;
		*ret = (struct spool_drops){d.samples, d.segment, d.sequence};
	}
}

int spool_drops_write(const struct io *io, int dir_fd, struct spool_drops *drops, struct err *err)
{
	struct spool_dropped d = {
		.magic = SPOOL_DROPPED_MAGIC,
		.major = SPOOL_STATE_MAJOR,
		.sequence = drops->sequence + 1,
		.samples = drops->samples,
		.segment = drops->segment,
	};
	int rc;

	d.crc = dropped_crc(d);
	rc = spool_halves_write(io, dir_fd, DROPPED_NAME, d.sequence, true, &d, sizeof(d));
	if (!rc && !drops->sequence)
		rc = io->sync(io->ctx, dir_fd);
	if (rc)
		return err_sys(err, -rc, "statement of what the spool dropped");
	drops->sequence++;
	return 0;
}

/* --- counting -------------------------------------------------------------------------------- */

uint32_t spool_samples_count(struct bytes in)
{
	const size_t most = in.left / 2; /* a sample has two bytes at least */
	uint32_t count;

	bytes_skip(&in, 8);
	count = bytes_u32(&in);
	return count < most ? count : (uint32_t)most;
}

uint64_t spool_segment_samples(const struct io *io, int dir_fd, uint64_t segment, uint64_t place)
{
	_cleanup_(spool_file_close) struct spool_file file;
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;
	uint64_t total = 0;

	if (spool_file_open(&file, io, dir_fd, segment, NULL))
		return 0;
	spool_cursor_init(&c, &file, file.info.records_off);
	while (spool_cursor_next(&c, true, &rec, NULL) == 1) {
		uint32_t count, before;

		if (rec.type != SPOOL_RECORD_SAMPLES || rec.off < spool_place_off(place))
			continue;
		count = spool_samples_count(bytes_of(rec.payload, rec.len));
		before = rec.off == spool_place_off(place) ? spool_place_samples(place) : 0;
		total += count > before ? count - before : 0;
	}
	return total;
}

uint32_t spool_segment_end(const struct io *io, int dir_fd, uint64_t segment)
{
	_cleanup_(spool_file_close) struct spool_file file;
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;

	if (spool_file_open(&file, io, dir_fd, segment, NULL))
		return 0;
	spool_cursor_init(&c, &file, file.info.records_off);
	while (spool_cursor_next(&c, true, &rec, NULL) == 1)
		;
	return c.off;
}

void spool_losses_read(struct bytes in, uint64_t losses[static SPOOL_LOSS_COUNT])
{
	uint32_t count = bytes_u32(&in);

	bytes_skip(&in, 4);
	while (count-- && !in.failed) {
		uint32_t loss = bytes_u32(&in);
		uint64_t cumulative;

		bytes_skip(&in, 4);
		cumulative = bytes_u64(&in);
		if (!in.failed && loss < SPOOL_LOSS_COUNT)
			losses[loss] = cumulative;
	}
}

void spool_segment_losses(const struct io *io, int dir_fd, uint64_t segment,
			  uint64_t losses[static SPOOL_LOSS_COUNT])
{
	_cleanup_(spool_file_close) struct spool_file file;
	_cleanup_(spool_cursor_done) struct spool_cursor c = {.file = NULL};
	struct spool_record rec;

	if (spool_file_open(&file, io, dir_fd, segment, NULL))
		return;
	spool_cursor_init(&c, &file, file.info.records_off);
	while (spool_cursor_next(&c, true, &rec, NULL) == 1)
		if (rec.type == SPOOL_RECORD_LOSSES)
			spool_losses_read(bytes_of(rec.payload, rec.len), losses);
}
