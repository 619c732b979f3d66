/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_expand.h"

#include <linux/perf_event.h>
#include <zstd.h>

#include "perf_record.h"

/* Bytes that are expanded at a time. */
#define CHUNK ((size_t)131072)

struct expander {
	ZSTD_DStream *zstd;
	struct buf *out;
	struct buf rest; /* expanded, but no whole record yet: at most a record and a chunk */
	size_t max;      /* the most bytes that may be expanded */
	size_t made;
};

static void expander_done(struct expander *x)
{
	ZSTD_freeDStream(x->zstd);
	buf_done(&x->rest);
}

/* Takes the next whole record of the data. Returns false at the end, or if there is no record. */
static bool next_record(struct bytes *data, uint32_t *type, struct bytes *record)
{
	struct bytes in = *data;
	size_t len;

	*type = bytes_u32(&in);
	bytes_skip(&in, 2);
	len = bytes_u16(&in);
	if (in.failed || len < PERF_HEADER_LEN || !perf_part(*data, 0, len, record))
		return false;
	bytes_skip(data, len);
	return true;
}

/* Extends a record by the bytes behind it that are not a record. */
static bool take_behind(struct bytes *data, uint32_t type, struct bytes *record)
{
	struct bytes body = *record;
	uint64_t behind;

	bytes_skip(&body, PERF_HEADER_LEN);
	behind = perf_record_behind(type, body);
	if (behind > data->left)
		return false;
	bytes_skip(data, behind);
	record->left += behind;
	return true;
}

bool perf_expand_is_needed(struct bytes data)
{
	struct bytes record;
	uint32_t type;

	while (next_record(&data, &type, &record) && take_behind(&data, type, &record))
		if (type == RECORD_COMPRESSED || type == RECORD_COMPRESSED2)
			return true;
		else if (type == PERF_RECORD_SAMPLE)
			break;
	return false;
}

/* Finds the piece of the stream that a record holds. Returns false if it is damaged. */
static bool piece_of(uint32_t type, struct bytes record, struct bytes *ret)
{
	uint64_t len;

	bytes_skip(&record, PERF_HEADER_LEN);
	*ret = record;
	if (type == RECORD_COMPRESSED)
		return true;
	/* The piece is padded to whole words; its length comes first. */
	len = bytes_u64(&record);
	return !record.failed && perf_part(record, 0, len, ret);
}

/* Appends the whole records to the output; the rest waits for the next piece. Returns false if the
 * bytes are no record. */
static bool give_whole(struct expander *x)
{
	struct bytes in = bytes_of(x->rest.p, x->rest.len), record;
	uint32_t type = 0;
	size_t done = 0;

	/* perf compresses only what the kernel recorded, so a stream has no compressed records in
	 * it. */
	while (next_record(&in, &type, &record) && type < RECORD_HEADER_ATTR)
		done += record.left;
	buf_append(x->out, x->rest.p, done);
	memmove(x->rest.p, x->rest.p + done, x->rest.len - done);
	x->rest.len -= done;
	/* A record has at most 64 KiB, so a longer rest does not begin with a record. */
	return type < RECORD_HEADER_ATTR && x->rest.len <= UINT16_MAX;
}

/* Expands one piece. Returns 1, 0 if the stream is damaged, or an error. */
static int expand_piece(struct expander *x, struct bytes piece, struct err *err)
{
	ZSTD_inBuffer in = {piece.p, piece.left, 0};
	bool full = true;

	while (in.pos < in.size || full) {
		ZSTD_outBuffer out = {buf_extend(&x->rest, CHUNK), CHUNK, 0};
		size_t rc;

		if (!out.dst)
			return err_no_memory(err);
		rc = ZSTD_decompressStream(x->zstd, &out, &in);
		x->rest.len -= CHUNK - out.pos;
		x->made += out.pos;
		if (ZSTD_isError(rc))
			return 0;
		if (x->made > x->max)
			return err_set(err, ERR_LIMIT,
				       "perf.data: its compressed records expand to more than %zu "
				       "bytes",
				       x->max);
		if (!give_whole(x))
			return 0;
		full = out.pos == CHUNK;
	}
	return 1;
}

int perf_expand(struct bytes data, struct buf *out, size_t *ret_lost, struct err *err)
{
	_cleanup_(expander_done) struct expander x = {
		.zstd = ZSTD_createDStream(),
		.out = out,
		.rest = BUF_INIT(2 * CHUNK),
		.max = out->max,
	};
	struct bytes record, piece;
	size_t left = data.left;
	uint32_t type;

	if (!x.zstd)
		return err_no_memory(err);
	if (data.left < x.max / LIMIT_PERF_RATIO)
		x.max = data.left * LIMIT_PERF_RATIO + CHUNK;
	for (; next_record(&data, &type, &record) && take_behind(&data, type, &record);
	     left = data.left) {
		int rc = 1;

		if (type != RECORD_COMPRESSED && type != RECORD_COMPRESSED2)
			buf_append(out, record.p, record.left);
		else
			rc = piece_of(type, record, &piece) ? expand_piece(&x, piece, err) : 0;
		if (rc < 0)
			return rc;
		if (out->failed)
			return err_set(err, ERR_LIMIT,
				       "perf.data: its records expand to more than %zu bytes",
				       out->max);
		if (!rc)
			break;
	}
	*ret_lost = left ? left : x.rest.len;
	return 0;
}
