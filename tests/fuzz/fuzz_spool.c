/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool directory made of the input, read to its end twice, the second time with names
 * that became known late, each batch made a profile, and acknowledged, then packed and read again.
 * The first byte says what the rest is: a segment file as it is (0); the blocks of a packed one
 * (0xff), {u32 raw_len, u32 block_len}, then each {u16 len, bytes}, with a header and checksums
 * made here; or (other) the records of one, each {u8 type, u16 len, payload}, likewise, so that
 * what lies behind the checksums is reached.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "bytes.h"
#include "crc32c.h"
#include "memory_io.h"
#include "spool.h"
#include "spool_account.h"
#include "spool_compress.h"
#include "spool_profile.h"
#include "spool_segment.h"

#define NAME "segment-0000000000000001.spool"

static void put_segment(struct memory_io *m, const uint8_t *p, size_t len)
{
	const struct spool_segment_info info = {.segment = 1, .segment_len = 1 << 20};
	uint8_t header[SPOOL_HEADER_MAX];
	struct buf out = BUF_INIT(LIMIT_SPOOL_SEGMENT);
	struct bytes in = bytes_of(p, len);

	buf_append(&out, header, spool_header_encode(&info, header));
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

static void put_packed(struct memory_io *m, const uint8_t *p, size_t len)
{
	struct spool_segment_info info = {.segment = 1, .segment_len = 1 << 20, .records_off = 512};
	struct buf out = BUF_INIT(LIMIT_SPOOL_SEGMENT);
	struct bytes in = bytes_of(p, len);
	uint8_t header[SPOOL_HEADER_MAX] = {0};

	info.raw_len = bytes_u32(&in);
	info.block_len = bytes_u32(&in);
	buf_append(&out, header, sizeof(header));
	while (in.left && info.block_count < SPOOL_BLOCKS_MAX) {
		struct spool_header_block *b = &info.blocks[info.block_count++];
		size_t want = bytes_u16(&in);
		const uint8_t *bytes;

		want = want < in.left ? want : in.left;
		bytes = bytes_take(&in, want);
		b->off = (uint32_t)out.len;
		b->len = (uint32_t)want;
		b->crc = crc32c(0, bytes, want);
		buf_append(&out, bytes, want);
	}
	if (info.block_count) {
		len = spool_header_encode(&info, header);
		memcpy(out.p, header, len);
	}
	memory_io_put(m, NAME, out.p, out.len);
	buf_done(&out);
}

/* Every index of a batch is inside its array, or none, and segments of files can be. */
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
	for (size_t i = 0; i < b->module_count; i++) {
		const struct spool_module *m = &b->modules[i];

		assert(m->path < b->string_count || m->path == LOCATION_NO_INDEX);
		assert(!file_segments_check(m->segments, m->segment_count, NULL));
	}
	for (size_t i = 0; i < b->string_count; i++)
		assert(b->strings[i].p && b->strings[i].len <= LIMIT_PATH_LEN);
}

/* As a profile, which is what tools and the shipper make of a batch, it weighs the same. */
static void convert(const struct spool_batch *b)
{
	struct spool_profile p;
	uint64_t before = 0, after = 0;
	struct err err;

	if (spool_profile_begin(&p, b, &err) || spool_profile_end(&p, &err))
		abort();
	for (size_t i = 0; i < b->sample_count; i++)
		before += b->samples[i].weight;
	for (uint32_t i = 0; i < p.profile.samples.count; i++)
		after += (uint64_t)profile_values(&p.profile, i)[0];
	assert(before == after);
	spool_profile_done(&p);
}

static size_t read_all(struct spool_reader *r, bool ack)
{
	struct spool_batch b;
	size_t count = 0;

	while (spool_reader_next(r, 7, &b, NULL) == 1) {
		check(&b);
		convert(&b);
		count += b.sample_count;
		if (ack)
			spool_reader_ack(r, &b, NULL);
	}
	return count;
}

/* What stands behind an account that speaks of nothing is what there is. */
static uint64_t catch_up(struct memory_io *m)
{
	uint64_t number = 1;
	const struct spool_segments found = {&number, 1};
	struct spool_account a = {.segment = 1};

	spool_account_catch_up(&m->io, 0, &found, true, &a);
	if (a.run_stored != spool_segment_samples(&m->io, 0, 1, 0))
		abort();
	return a.run_samples;
}

/* Packed, it holds what it held. */
static void pack(struct memory_io *m)
{
	uint64_t before = spool_segment_samples(&m->io, 0, 1, 0), packed_len;
	const uint64_t counted = catch_up(m);
	char temp[SPOOL_COMPRESSED_NAME_MAX];

	if (spool_compress(&m->io, 0, 1, &packed_len, NULL) != 1)
		return;
	m->io.rename(m, 0, spool_compressed_name(1, temp), NAME);
	if (spool_segment_samples(&m->io, 0, 1, 0) != before || catch_up(m) != counted)
		abort();
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
	if (p[0] == 0xff)
		put_packed(&m, p + 1, len - 1);
	else if (p[0])
		put_segment(&m, p + 1, len - 1);
	else
		memory_io_put(&m, NAME, p + 1, len - 1);
	if (spool_reader_open(&r, "spool", &m.io, NULL) == 0) {
		spool_reader_from_start(r);
		count = read_all(r, false);
		spool_reader_from_start(r);
		spool_reader_name_late(r);
		if (read_all(r, true) != count)
			abort();
		spool_reader_rewind(r);
		read_all(r, true);
		spool_reader_close(r);
	}
	pack(&m);
	memory_io_done(&m);
	return 0;
}
