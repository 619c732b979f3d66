/* SPDX-License-Identifier: Apache-2.0 */
#include "spool_cursor.h"

#include <string.h>

#include "crc32c.h"

enum {
	WINDOW_LEN = 64 << 10
};

/* A record that is incomplete for so long is damage: our own writes take far less. */
#define SETTLE_NS UINT64_C(1000000000)

void spool_cursor_init(struct spool_cursor *c, struct spool_file *file, uint32_t off)
{
	*c = (struct spool_cursor){.file = file, .off = off};
}

void spool_cursor_done(struct spool_cursor *c)
{
	free(c->window);
	*c = (struct spool_cursor){.file = NULL};
}

/* Reads up to want bytes of the file at off; *ret_len is less only where the file ends. */
static int window_at(struct spool_cursor *c, uint32_t off, size_t want, const uint8_t **ret,
		     size_t *ret_len, struct err *err)
{
	size_t at, len = want > WINDOW_LEN ? want : WINDOW_LEN;

	if (off < c->window_off || off - c->window_off > c->window_len ||
	    want > c->window_len - (off - c->window_off)) {
		c->window_len = 0;
		c->window_off = off;
		if (!GROW(c->window, &c->window_cap, len, SIZE_MAX))
			return err_no_memory(err);
		while (c->window_len < len) {
			ssize_t n = spool_file_pread(c->file, c->window + c->window_len,
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

static uint32_t padded_record_len(uint32_t len)
{
	return (len + SPOOL_RECORD_ALIGN - 1) & ~(uint32_t)(SPOOL_RECORD_ALIGN - 1);
}

enum at {
	AT_RECORD,
	AT_ZEROS, /* nothing was ever written here */
	AT_OTHER, /* not a whole record */
	AT_END,   /* too few bytes left for a record, all zero */
};

/* Returns what is at off, an enum at, or negative. */
static int look_at(struct spool_cursor *c, uint32_t off, struct spool_record *ret, struct err *err)
{
	static const uint8_t zeros[sizeof(struct spool_record_head)];
	struct spool_record_head head;
	const uint8_t *p;
	size_t len = 0;

	TRY(window_at(c, off, sizeof(head), &p, &len, err));
	if (len < sizeof(head))
		return len == 0 || !memcmp(p, zeros, len) ? AT_END : AT_OTHER;
	memcpy(&head, p, sizeof(head));
	if (!memcmp(p, zeros, sizeof(zeros)))
		return AT_ZEROS;
	if (head.magic != SPOOL_RECORD_MAGIC || head.len > LIMIT_SPOOL_RECORD)
		return AT_OTHER;
	TRY(window_at(c, off, sizeof(head) + head.len, &p, &len, err));
	if (len < sizeof(head) + head.len)
		return AT_OTHER;
	if (crc32c(crc32c(0, &head.type, 8), p + sizeof(head), head.len) != head.crc) {
		c->wasted += head.len;
		return AT_OTHER;
	}
	*ret = (struct spool_record){off, head.type, p + sizeof(head), head.len};
	return AT_RECORD;
}

/* Finds the first whole record at or after off. Returns 1, 0 with *ret_off behind the last byte
 * that is not zero, or negative. */
static int resync_records(struct spool_cursor *c, uint32_t off, struct spool_record *ret,
			  uint32_t *ret_off, struct err *err)
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

/* Ends the search: the rest, except for unused room at the end, is damage. */
static int give_up_search(struct spool_cursor *c, struct err *err)
{
	uint32_t end = c->off;
	size_t len = 1;

	c->window_len = 0;
	for (uint32_t at = c->off; len; at += (uint32_t)len) {
		const uint8_t *p;

		TRY(window_at(c, at, WINDOW_LEN, &p, &len, err));
		for (size_t i = 0; i < len; i++)
			end = p[i] ? at + (uint32_t)i + 1 : end;
	}
	c->damaged_len += end - c->off;
	c->off = end;
	c->is_over = true;
	return 0;
}

/* Returns whether the incomplete record at c->off has been incomplete long enough to count as
 * damage. */
static bool damage_is_settled(struct spool_cursor *c)
{
	const struct io *io = c->file->io;
	uint64_t now = io->mono_ns(io->ctx);

	if (!c->wait_ns || c->wait_off != c->off) {
		c->wait_ns = now;
		c->wait_off = c->off;
		return false;
	}
	return now - c->wait_ns >= SETTLE_NS;
}

static int take_cursor_record(struct spool_cursor *c, const struct spool_record *rec)
{
	c->off = rec->off + (uint32_t)sizeof(struct spool_record_head) +
		 padded_record_len((uint32_t)rec->len);
	c->wait_ns = 0;
	return 1;
}

int spool_cursor_next(struct spool_cursor *c, bool finished, struct spool_record *ret,
		      struct err *err)
{
	struct spool_record rec;
	uint32_t end;
	int at;

	if (c->off >= LIMIT_SPOOL_SEGMENT || c->is_over)
		return 0;
	if (c->wasted > LIMIT_SPOOL_RESYNC)
		return finished ? give_up_search(c, err) : 0;
	at = look_at(c, c->off, &rec, err);
	if (at < 0)
		return at;
	if (at == AT_RECORD) {
		*ret = rec;
		return take_cursor_record(c, &rec);
	}
	/* The bytes read may change while a writer works. */
	if (!finished) {
		c->window_len = 0;
		if (at != AT_OTHER || !damage_is_settled(c))
			return 0;
	}
	at = resync_records(c, c->off, &rec, &end, err);
	if (at < 0)
		return at;
	if (at == 1) {
		c->damaged_len += rec.off - c->off;
		*ret = rec;
		return take_cursor_record(c, &rec);
	}
	c->window_len = 0;
	if (finished && c->wasted > LIMIT_SPOOL_RESYNC)
		return give_up_search(c, err);
	if (finished) {
		c->damaged_len += end - c->off;
		c->off = end;
	}
	return 0;
}
