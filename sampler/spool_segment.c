/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"
#include "crc32c.h"

#define SEGMENT_PREFIX "segment-"
#define SEGMENT_SUFFIX ".spool"
#define ACK_NAME       "ack"

enum {
	WINDOW_LEN = 64 << 10,
	NUMBER_DIGITS = 16,
};

/* A write of ours is over long before; a reader that cannot see all of it by then sees damage. */
#define SETTLE_NS UINT64_C(1000000000)

static const char *const loss_names[] = {
	[SPOOL_LOSS_RING_FULL] = "ring_full",         [SPOOL_LOSS_STACK_FAULT] = "stack_fault",
	[SPOOL_LOSS_PERF_LOST] = "perf_lost",         [SPOOL_LOSS_THROTTLED] = "throttled",
	[SPOOL_LOSS_SPOOL_DROPPED] = "spool_dropped", [SPOOL_LOSS_SPOOL_ERROR] = "spool_error",
	[SPOOL_LOSS_UNRESOLVED] = "unresolved",
};
_Static_assert(ARRAY_LEN(loss_names) == SPOOL_LOSS_COUNT, "every loss has a name");

const char *spool_loss_name(enum spool_loss loss)
{
	return (unsigned int)loss < SPOOL_LOSS_COUNT ? loss_names[loss] : "unknown";
}

/* --- names ----------------------------------------------------------------------------------- */

const char *spool_segment_name(uint64_t segment, char name[static SPOOL_NAME_MAX])
{
	snprintf(name, SPOOL_NAME_MAX, SEGMENT_PREFIX "%016llx" SEGMENT_SUFFIX,
		 (unsigned long long)segment);
	return name;
}

static bool parse_name(const char *name, uint64_t *ret)
{
	const char *digits = name + strlen(SEGMENT_PREFIX);
	char again[SPOOL_NAME_MAX];

	if (strncmp(name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) ||
	    strlen(digits) != NUMBER_DIGITS + strlen(SEGMENT_SUFFIX))
		return false;
	*ret = strtoull(digits, NULL, 16);
	return *ret && !strcmp(name, spool_segment_name(*ret, again));
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

	if (!parse_name(name, &number))
		return;
	if (!grow_array((void **)&l->ret->numbers, &l->cap, l->ret->count + 1,
			sizeof(*l->ret->numbers), LIMIT_SPOOL_FILES)) {
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
	    !strncmp(name + 1, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)))
		c->io->unlink(c->io->ctx, c->dir_fd, name);
}

void spool_segments_clean(const struct io *io, int dir_fd)
{
	struct cleaning c = {io, dir_fd};

	io->list(io->ctx, dir_fd, clean_one, &c);
}

/* --- header ---------------------------------------------------------------------------------- */

static uint8_t *put(uint8_t *to, const void *p, size_t len)
{
	memcpy(to, p, len);
	return to + len;
}

void spool_header_encode(const struct spool_segment_info *info, uint64_t sync_ns,
			 uint8_t out[static SPOOL_HEADER_LEN])
{
	const struct spool_origin *o = &info->origin;
	struct spool_header head = {
		.magic = SPOOL_MAGIC,
		.major = SPOOL_MAJOR,
		.minor = SPOOL_MINOR,
		.header_len = SPOOL_HEADER_LEN,
		.segment = info->segment,
		.segment_len = info->segment_len,
		.entry_count = 2,
	};
	struct spool_header_origin origin = {
		.period_ns = o->period_ns,
		.mono_ns = o->mono_ns,
		.real_ns = o->real_ns,
		.cpu_count = o->cpu_count,
	};
	struct spool_header_bounds bounds = {SPOOL_FLUSH_NS, sync_ns};
	struct spool_header_entry entries[2] = {
		{.kind = SPOOL_HEADER_ORIGIN, .len = sizeof(origin)},
		{.kind = SPOOL_HEADER_BOUNDS, .len = sizeof(bounds)},
	};
	uint8_t *p;

	_Static_assert(sizeof(head) + sizeof(entries) + sizeof(origin) + sizeof(bounds) <=
			       SPOOL_HEADER_LEN,
		       "the header holds its parts");
	memcpy(origin.host_id, o->host_id, sizeof(origin.host_id));
	memcpy(origin.boot_id, o->boot_id, sizeof(origin.boot_id));
	memcpy(origin.host_name, o->host_name, sizeof(origin.host_name));
	memcpy(origin.event, o->event, sizeof(origin.event));
	memcpy(origin.backend, o->backend, sizeof(origin.backend));
	entries[0].off = sizeof(head) + sizeof(entries);
	entries[1].off = entries[0].off + entries[0].len;
	memset(out, 0, SPOOL_HEADER_LEN);
	p = put(out, &head, sizeof(head));
	p = put(p, entries, sizeof(entries));
	p = put(p, &origin, sizeof(origin));
	put(p, &bounds, sizeof(bounds));
	head.crc = crc32c(0, out, SPOOL_HEADER_LEN);
	put(out, &head, sizeof(head));
}

static void get_text(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
	to[len - 1] = 0;
}

static int decode_origin(const uint8_t *p, size_t len, struct spool_origin *ret)
{
	struct spool_header_origin in;

	if (len < sizeof(in))
		return ERR_DATA;
	memcpy(&in, p, sizeof(in));
	*ret = (struct spool_origin){
		.period_ns = in.period_ns,
		.mono_ns = in.mono_ns,
		.real_ns = in.real_ns,
		.cpu_count = in.cpu_count,
	};
	memcpy(ret->host_id, in.host_id, sizeof(ret->host_id));
	memcpy(ret->boot_id, in.boot_id, sizeof(ret->boot_id));
	get_text(ret->host_name, in.host_name, sizeof(ret->host_name));
	get_text(ret->event, in.event, sizeof(ret->event));
	get_text(ret->backend, in.backend, sizeof(ret->backend));
	return 0;
}

int spool_header_read(const struct io *io, int fd, struct spool_segment_info *ret, struct err *err)
{
	uint8_t block[SPOOL_HEADER_MAX] = {0};
	struct spool_header head;
	bool have_origin = false;
	uint32_t crc;
	int rc;

	rc = io_read_all(io, fd, block, sizeof(head), 0, err);
	if (rc)
		return rc;
	memcpy(&head, block, sizeof(head));
	if (memcmp(head.magic, SPOOL_MAGIC, sizeof(head.magic)))
		return err_set(err, ERR_DATA, "not a spool segment");
	if (head.major != SPOOL_MAJOR)
		return err_set(err, ERR_UNSUPPORTED,
			       "spool format %u; this program reads format %u", head.major,
			       SPOOL_MAJOR);
	if (head.header_len < sizeof(head) || head.header_len > sizeof(block) ||
	    head.header_len % SPOOL_RECORD_ALIGN)
		return err_set(err, ERR_DATA, "spool header of %u bytes", head.header_len);
	rc = io_read_all(io, fd, block, head.header_len, 0, err);
	if (rc)
		return rc;
	crc = head.crc;
	memset(block + offsetof(struct spool_header, crc), 0, sizeof(crc));
	if (crc32c(0, block, head.header_len) != crc)
		return err_set(err, ERR_DATA, "spool header fails its checksum");
	if (head.entry_count > SPOOL_HEADER_ENTRY_MAX ||
	    head.entry_count * sizeof(struct spool_header_entry) > head.header_len - sizeof(head))
		return err_set(err, ERR_DATA, "spool header with %u entries", head.entry_count);
	*ret = (struct spool_segment_info){
		.segment = head.segment,
		.segment_len = head.segment_len,
		.records_off = head.header_len,
	};
	for (uint32_t i = 0; i < head.entry_count; i++) {
		struct spool_header_entry e;

		memcpy(&e, block + sizeof(head) + i * sizeof(e), sizeof(e));
		if (e.off > head.header_len || e.len > head.header_len - e.off)
			return err_set(err, ERR_DATA, "spool header entry %u lies outside", i);
		if (e.kind == SPOOL_HEADER_ORIGIN &&
		    decode_origin(block + e.off, e.len, &ret->origin) == 0)
			have_origin = true;
	}
	return have_origin ? 0 : err_set(err, ERR_DATA, "spool header without an origin");
}

/* --- records --------------------------------------------------------------------------------- */

void spool_cursor_init(struct spool_cursor *c, const struct io *io, int fd, uint32_t off)
{
	*c = (struct spool_cursor){.io = io, .fd = fd, .off = off};
}

void spool_cursor_done(struct spool_cursor *c)
{
	free(c->window);
	*c = (struct spool_cursor){.fd = -1};
}

/* Up to want bytes of the file at off: *ret_len is less only where the file ends. */
static int window_at(struct spool_cursor *c, uint32_t off, size_t want, const uint8_t **ret,
		     size_t *ret_len, struct err *err)
{
	size_t at, len = want > WINDOW_LEN ? want : WINDOW_LEN;

	if (off < c->window_off || off - c->window_off > c->window_len ||
	    want > c->window_len - (off - c->window_off)) {
		c->window_len = 0;
		c->window_off = off;
		if (!grow_array((void **)&c->window, &c->window_cap, len, 1, SIZE_MAX))
			return err_set(err, ERR_MEMORY, "out of memory for a spool record");
		while (c->window_len < len) {
			ssize_t n = c->io->pread(c->io->ctx, c->fd, c->window + c->window_len,
						 len - c->window_len, off + c->window_len);

			if (n < 0)
				return err_sys(err, (int)-n, "spool segment");
			if (n == 0)
				break;
			c->window_len += (size_t)n;
		}
	}
	at = off - c->window_off;
	*ret = c->window + at;
	*ret_len = c->window_len - at < want ? c->window_len - at : want;
	return 0;
}

static uint32_t padded(uint32_t len)
{
	return (len + SPOOL_RECORD_ALIGN - 1) & ~(uint32_t)(SPOOL_RECORD_ALIGN - 1);
}

enum at {
	AT_RECORD,
	AT_ZEROS, /* nothing was ever written here */
	AT_OTHER, /* not a whole record */
	AT_END,   /* too few bytes left for a record, all zero */
};

/* What stands at off; an enum at, or negative. */
static int look_at(struct spool_cursor *c, uint32_t off, struct spool_record *ret, struct err *err)
{
	static const uint8_t zeros[sizeof(struct spool_record_head)];
	struct spool_record_head head;
	const uint8_t *p;
	size_t len = 0;
	int rc = window_at(c, off, sizeof(head), &p, &len, err);

	if (rc)
		return rc;
	if (len < sizeof(head))
		return len == 0 || !memcmp(p, zeros, len) ? AT_END : AT_OTHER;
	memcpy(&head, p, sizeof(head));
	if (!memcmp(p, zeros, sizeof(zeros)))
		return AT_ZEROS;
	if (head.magic != SPOOL_RECORD_MAGIC || head.len > LIMIT_SPOOL_RECORD)
		return AT_OTHER;
	rc = window_at(c, off, sizeof(head) + head.len, &p, &len, err);
	if (rc)
		return rc;
	if (len < sizeof(head) + head.len)
		return AT_OTHER;
	if (crc32c(crc32c(0, &head.type, 8), p + sizeof(head), head.len) != head.crc) {
		c->wasted += head.len;
		return AT_OTHER;
	}
	*ret = (struct spool_record){off, head.type, p + sizeof(head), head.len};
	return AT_RECORD;
}

/* The first whole record at or behind off: 1, or 0 with *ret_off behind the last byte that is not
 * zero. */
static int resync(struct spool_cursor *c, uint32_t off, struct spool_record *ret, uint32_t *ret_off,
		  struct err *err)
{
	*ret_off = off;
	for (; off < LIMIT_SPOOL_SEGMENT; off += SPOOL_RECORD_ALIGN) {
		int at = look_at(c, off, ret, err);

		if (at < 0)
			return at;
		if (at == AT_RECORD)
			return 1;
		if (at == AT_END)
			return 0;
		if (at == AT_OTHER)
			*ret_off = off + SPOOL_RECORD_ALIGN;
		if (c->wasted > LIMIT_SPOOL_RESYNC)
			return 0;
	}
	return 0;
}

/* Whether what is not whole at c->off has been so for long enough to be called damage. */
static bool is_settled(struct spool_cursor *c)
{
	uint64_t now = c->io->mono_ns(c->io->ctx);

	if (!c->wait_ns || c->wait_off != c->off) {
		c->wait_ns = now;
		c->wait_off = c->off;
		return false;
	}
	return now - c->wait_ns >= SETTLE_NS;
}

static int take_record(struct spool_cursor *c, const struct spool_record *rec)
{
	c->off = rec->off + (uint32_t)sizeof(struct spool_record_head) + padded((uint32_t)rec->len);
	c->wait_ns = 0;
	return 1;
}

int spool_cursor_next(struct spool_cursor *c, bool finished, struct spool_record *ret,
		      struct err *err)
{
	struct spool_record rec;
	uint32_t end;
	int at;

	if (c->off >= LIMIT_SPOOL_SEGMENT || c->wasted > LIMIT_SPOOL_RESYNC)
		return 0;
	at = look_at(c, c->off, &rec, err);
	if (at < 0)
		return at;
	if (at == AT_RECORD) {
		*ret = rec;
		return take_record(c, &rec);
	}
	/* What was read may change under a writer. */
	if (!finished) {
		c->window_len = 0;
		if (at != AT_OTHER || !is_settled(c))
			return 0;
	}
	at = resync(c, c->off, &rec, &end, err);
	if (at < 0)
		return at;
	if (at == 1) {
		c->damaged_len += rec.off - c->off;
		*ret = rec;
		return take_record(c, &rec);
	}
	c->window_len = 0;
	if (finished) {
		c->damaged_len += end - c->off;
		c->off = end;
	}
	return 0;
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
		return rc;
	if (rc || memcmp(ack.magic, SPOOL_ACK_MAGIC, sizeof(ack.magic)) ||
	    ack.crc != ack_crc(ack) || ack.major != SPOOL_MAJOR)
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
		.major = SPOOL_MAJOR,
		.minor = SPOOL_MINOR,
		.segment = segment,
		.place = place,
	};

	ack.crc = ack_crc(ack);
	return io_replace_file(io, dir_fd, ACK_NAME, &ack, sizeof(ack), err);
}

uint64_t spool_segment_samples(const struct io *io, int dir_fd, uint64_t segment, uint64_t place)
{
	struct spool_segment_info info = {0};
	struct spool_cursor c;
	struct spool_record rec;
	char name[SPOOL_NAME_MAX];
	uint64_t total = 0;
	int fd;

	fd = io->open(io->ctx, dir_fd, spool_segment_name(segment, name), O_RDONLY | O_NOFOLLOW, 0);
	if (fd < 0)
		return 0;
	if (!spool_header_read(io, fd, &info, NULL)) {
		spool_cursor_init(&c, io, fd, info.records_off);
		while (spool_cursor_next(&c, true, &rec, NULL) == 1) {
			struct bytes in = bytes_of(rec.payload, rec.len);
			uint32_t count, before;

			if (rec.type != SPOOL_RECORD_SAMPLES || rec.off < spool_place_off(place))
				continue;
			bytes_skip(&in, 8);
			count = bytes_u32(&in);
			before = rec.off == spool_place_off(place) ? spool_place_samples(place) : 0;
			total += count > before ? count - before : 0;
		}
		spool_cursor_done(&c);
	}
	io->close(io->ctx, fd);
	return total;
}
