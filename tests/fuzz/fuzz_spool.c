/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool directory made of the input, read to its end twice and acknowledged. The first byte says
 * what the rest is: a segment file as it is (0), or (other) the records of one with a good header,
 * each {u8 type, u16 len, payload}, framed and checksummed here, so that what lies behind the
 * checksums is reached.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "bytes.h"
#include "crc32c.h"
#include "memory_io.h"
#include "spool.h"
#include "spool_segment.h"

#define NAME "segment-0000000000000001.spool"

static void put_segment(struct memory_io *m, const uint8_t *p, size_t len)
{
	const struct spool_segment_info info = {.segment = 1, .segment_len = 1 << 20};
	uint8_t header[SPOOL_HEADER_LEN];
	struct buf out = BUF_INIT(LIMIT_SPOOL_SEGMENT);
	struct bytes in = bytes_of(p, len);

	spool_header_encode(&info, 1, header);
	buf_append(&out, header, sizeof(header));
	while (in.left) {
		struct spool_record_head head = {SPOOL_RECORD_MAGIC, bytes_u8(&in), 0, 0};
		size_t want = bytes_u16(&in);
		const uint8_t *payload;

		want = want < in.left ? want : in.left;
		payload = bytes_take(&in, want);
		head.len = (uint32_t)want;
		head.crc = crc32c(crc32c(0, &head.type, 8), payload, want);
		if (head.type == 0xff)
			head.crc ^= 1;
		buf_append(&out, &head, sizeof(head));
		buf_append(&out, payload, want);
		buf_align(&out, SPOOL_RECORD_ALIGN);
	}
	memory_io_put(m, NAME, out.p, out.len);
	buf_done(&out);
}

/* Every index of a batch is inside its array, or none. */
static void check(const struct spool_batch *b)
{
	assert(b->sample_count);
	for (size_t i = 0; i < b->sample_count; i++)
		assert(b->samples[i].stack < b->stack_count &&
		       b->samples[i].thread < b->thread_count && b->samples[i].weight);
	for (size_t i = 0; i < b->stack_count; i++)
		for (uint32_t k = 0; k < b->stacks[i].count; k++)
			assert(b->stacks[i].locations[k] < b->location_count);
	for (size_t i = 0; i < b->location_count; i++) {
		const struct location *l = &b->locations[i];

		assert(l->module < b->module_count || l->module == LOCATION_NO_INDEX);
		assert(l->name < b->string_count || l->name == LOCATION_NO_INDEX);
		assert(l->kind != LOCATION_FILE_OFF || l->module != LOCATION_NO_INDEX);
	}
	for (size_t i = 0; i < b->module_count; i++)
		assert(b->modules[i].path < b->string_count ||
		       b->modules[i].path == LOCATION_NO_INDEX);
	for (size_t i = 0; i < b->string_count; i++)
		assert(b->strings[i].p && b->strings[i].len <= LIMIT_PATH_LEN);
}

static size_t read_all(struct spool_reader *r, bool ack)
{
	struct spool_batch b;
	size_t count = 0;

	while (spool_reader_next(r, 7, &b, NULL) == 1) {
		check(&b);
		count += b.sample_count;
		if (ack)
			spool_reader_ack(r, &b, NULL);
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct memory_io m;
	struct spool_reader *r = NULL;
	size_t count;

	if (!len)
		return 0;
	memory_io_init(&m);
	if (p[0])
		put_segment(&m, p + 1, len - 1);
	else
		memory_io_put(&m, NAME, p + 1, len - 1);
	if (spool_reader_open(&r, "spool", &m.io, NULL) == 0) {
		spool_reader_from_start(r);
		count = read_all(r, false);
		spool_reader_from_start(r);
		if (read_all(r, true) != count)
			abort();
		spool_reader_rewind(r);
		read_all(r, true);
		spool_reader_close(r);
	}
	spool_segment_samples(&m.io, 0, 1, 0);
	memory_io_done(&m);
	return 0;
}
