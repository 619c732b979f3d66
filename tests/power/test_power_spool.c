/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts under the spool and the sink: a run is recorded, then the disk is looked at as a cut
 * after each of its steps may have left it. What was acknowledged is at the sink, once; what was
 * added before the stated bound is in the spool, or at the sink, or counted as dropped.
 *
 * By default some cuts of a long run by seed, and all of a short one; RAWSTACK_FULL=1 looks at
 * more.
 */
#include "crc32c.h"
#include "record_io.h"
#include "sink.h"
#include "spool_compress.h"
#include "spool_samples.h"
#include "spool_segment.h"

#include <stdio.h>
#include <string.h>

#define STEP_NS (SECOND / 4)

/* Under a sanitizer one image in so many; the build as shipped looks at all. */
#ifdef __SANITIZE_ADDRESS__
#define SPARED 4
#else
#define SPARED 1
#endif

enum {
	MARK_ADDED = 1, /* off: the next sample's number; len: when, in ms */
	MARK_ACKED,     /* off: samples before it were acknowledged */
	NUMBERS_MAX = 1 << 17,
	BATCH = 131,
};

static const struct spool_limits limits = {
	.segment_len = 64 << 10,
	.total_len = 5 * (64 << 10),
	.free_floor = 1,
	.sync_ns = 2 * SECOND,
};

/* --- delivering ------------------------------------------------------------------------------ */

/* A batch at the sink: u32 crc, u32 count, u64 number of each sample; a sample whose stack damage
 * took is there by its number. */
static int deliver(struct sink *sink, const struct spool_batch *b, uint64_t *ret_end)
{
	struct {
		uint32_t crc, count;
		uint64_t numbers[BATCH];
	} file = {.count = (uint32_t)b->sample_count};
	size_t len = 8 + 8 * b->sample_count;

	for (size_t i = 0; i < b->sample_count; i++)
		file.numbers[i] = sample_number(&b->samples[i]);
	*ret_end = file.numbers[b->sample_count - 1] + 1;
	file.crc = crc32c(0, &file.count, len - 4);
	struct err err = {0};
	int rc = sink_write(sink, b->id, sizeof(b->id), &file, len, &err);

	if (rc)
		print_message("%s\n", err.message);
	return rc;
}

/* Up to max batches to the sink; the end of what is acknowledged, 0: nothing. */
static uint64_t ship(const struct io *io, int max)
{
	_cleanup_(spool_reader_closep) struct spool_reader *r = NULL;
	_cleanup_(sink_closep) struct sink *sink = NULL;
	struct spool_batch b;
	uint64_t end = 0;
	struct err err;

	assert_int_equal(spool_reader_open(&r, "spool", io, &err), 0);
	assert_int_equal(sink_open(&sink, "out", SINK_PPROF, io, &err), 0);
	while (max-- && spool_reader_next(r, BATCH, &b, &err) == 1) {
		assert_int_equal(deliver(sink, &b, &end), 0);
		assert_int_equal(spool_reader_ack(r, &b, &err), 0);
	}
	return end;
}

/* --- the run that is recorded ---------------------------------------------------------------- */

static struct spool_writer *open_writer(const struct io *io)
{
	struct spool_writer *w = NULL;
	struct err err = {0};

	if (spool_writer_open(&w, "spool", &limits, &origin, io, &err))
		fail_msg("%s", err.message);
	return w;
}

static void mark(struct record_io *r, uint64_t kind, uint64_t n)
{
	crash_log_add(&r->log, CRASH_MARK, kind, n, NULL, (size_t)(r->m.mono_ns / 1000000), NULL,
		      NULL);
}

/* The oldest segment, as the writer's thread packs it. */
static void compress_oldest(struct record_io *r)
{
	const struct memory_file *f = memory_io_file(&r->m, SEGMENT, 0);
	uint64_t number = strtoull(f->name + strlen(SEGMENT), NULL, 16), len;
	char temp[SPOOL_COMPRESSED_NAME_MAX], name[SPOOL_NAME_MAX];

	if (memory_io_count(&r->m, SEGMENT) > 1 &&
	    spool_compress(&r->io, 0, number, &len, NULL) == 1)
		r->io.rename(r, 0, spool_compressed_name(number, temp),
			     spool_segment_name(number, name));
}

/* In phases: shipped at once, not at all until limits drop, then again; with restarts. */
static void record(struct record_io *r, uint64_t *seed, int steps, uint64_t most)
{
	struct spool_writer *w = open_writer(&r->io);
	uint64_t n = 0, end;

	for (int i = 0; i < steps; i++) {
		uint64_t count = 1 + crash_random(seed, most);

		add_many(w, n, count);
		n += count;
		r->m.mono_ns += STEP_NS;
		mark(r, MARK_ADDED, n);
		if (i % 7 == 3)
			compress_oldest(r);
		if (i % (steps / 3 + 1) == steps / 6) {
			spool_writer_close(w);
			w = open_writer(&r->io);
		}
		if (i % (steps / 2 + 1) < steps / 4)
			continue;
		end = ship(&r->io, 3);
		if (end)
			mark(r, MARK_ACKED, end);
	}
	spool_writer_close(w);
}

/* --- what is left of it ---------------------------------------------------------------------- */

static uint8_t seen_at_sink[NUMBERS_MAX];

/* Numbers in whole files of the sink, each counted. */
static uint64_t read_sink(struct memory_io *m)
{
	uint64_t end = 0;

	memset(seen_at_sink, 0, sizeof(seen_at_sink));
	for (size_t i = 0; i < MEMORY_FILES; i++) {
		const struct memory_file *f = &m->files[i];
		uint32_t head[2];
		uint64_t number;

		if (!f->in_use || strncmp(f->name, "30", 2)) /* hex of the host id */
			continue;

		assert_true(f->len >= 8);
		memcpy(head, f->p, 8);
		assert_int_equal(f->len, 8 + 8 * (size_t)head[1]);
		assert_int_equal(head[0], crc32c(0, f->p + 4, f->len - 4));
		for (uint32_t k = 0; k < head[1]; k++) {
			memcpy(&number, f->p + 8 + 8 * (size_t)k, 8);
			assert_true(number < NUMBERS_MAX);
			seen_at_sink[number]++;
			end = number + 1 > end ? number + 1 : end;
		}
	}
	return end;
}

/* What must have survived a cut after the entries before `at`. */
struct promise {
	uint64_t acked, durable;
};

static struct promise promise_of(const struct crash_log *l, size_t at)
{
	struct promise p = {0};
	size_t last_ms = 0;

	for (size_t i = at; i-- > 0;) {
		const struct crash_entry *e = &l->entries[i];

		if (e->op != CRASH_MARK)
			continue;
		if (e->id == MARK_ACKED && !p.acked)
			p.acked = e->off;
		if (e->id == MARK_ADDED && !last_ms)
			last_ms = e->len;
		/* In the spool as the header promises: the flush interval, here each step, and
		 * sync_ns ago, and the step that was under way. */
		if (e->id == MARK_ADDED && !p.durable &&
		    e->len + (STEP_NS + limits.sync_ns + STEP_NS) / 1000000 <= last_ms)
			p.durable = e->off;
	}
	return p;
}

static struct memory_io *mount(const struct crash_image *image)
{
	static struct memory_io m;

	memory_io_init(&m);
	m.random = 4711; /* another boot draws other names for its temporary files */
	for (size_t i = 0; i < image->count; i++)
		memory_io_put(&m, image->files[i].name, image->files[i].p, image->files[i].len);
	return &m;
}

/* A next run on what is left: a writer, then everything to the sink. */
static void check_image(const struct crash_image *image, const struct promise *p)
{
	struct memory_io *m = mount(image);
	struct spool_drops drops;
	uint64_t missing = 0, end;

	read_sink(m);
	for (uint64_t n = 0; n < p->acked; n++)
		if (seen_at_sink[n] != 1)
			missing++;
	spool_drops_read(&m->io, 0, &drops);
	/* Older ones may have been dropped before anything was acknowledged. */
	assert_true(missing <= drops.samples);
	m->mono_ns += 3600 * SECOND;
	spool_writer_close(open_writer(&m->io));
	ship(&m->io, -1);
	end = read_sink(m);
	missing = 0;
	for (uint64_t n = 0; n < end || n < p->durable; n++) {
		if (seen_at_sink[n] > 1)
			fail_msg("sample %llu is at the sink %u times", (unsigned long long)n,
				 seen_at_sink[n]);
		missing += n < p->durable && !seen_at_sink[n];
	}
	spool_drops_read(&m->io, 0, &drops);
	/* A batch that is at the sink, while its acknowledgement was cut off, counts as unsent when
	 * its segment is dropped: it is there and counted. There is one at a time. */
	if (missing > drops.samples || drops.samples - missing > BATCH)
		fail_msg("%llu samples of %llu are gone, %llu are counted as dropped",
			 (unsigned long long)missing, (unsigned long long)p->durable,
			 (unsigned long long)drops.samples);
	memory_io_done(m);
}

static bool is_full(void)
{
	const char *full = getenv("RAWSTACK_FULL");

	return full && full[0] == '1';
}

/* Cuts at random, about `cuts` of them, each with two images. */
static void test_long_run(void **state _unused_)
{
	static struct record_io r;
	uint64_t seed = 20240117, cuts = is_full() ? 20000 : 250 / SPARED, done = 0;
	struct crash_disk *d;

	record_io_init(&r);
	record(&r, &seed, 120, 700);
	d = crash_disk_new(&r.log);
	for (size_t at = 1; crash_disk_step(d); at++) {
		struct promise p;

		if (crash_random(&seed, r.log.count) >= cuts)
			continue;
		p = promise_of(&r.log, at);
		for (int i = 0; i < 2; i++, done++) {
			struct crash_image image;

			crash_disk_image(d, UINT64_MAX, &seed, &image);
			check_image(&image, &p);
			crash_image_done(&image);
		}
	}
	print_message("%zu steps recorded, %llu images looked at\n", r.log.count,
		      (unsigned long long)done);
	assert_true(done > 200 / SPARED);
	crash_disk_free(d);
	record_io_done(&r);
}

/* Every cut of a short run, in every way it can go where these can be counted. */
static void test_short_run(void **state _unused_)
{
	static struct record_io r;
	uint64_t seed = 7, images = 0, sampled = 0, most = is_full() ? 1 << 13 : 96 / SPARED;
	struct crash_disk *d;

	record_io_init(&r);
	record(&r, &seed, 24, 3);
	d = crash_disk_new(&r.log);
	for (size_t at = 1; crash_disk_step(d); at++) {
		struct promise p = promise_of(&r.log, at);
		size_t ways = crash_disk_ways(d);
		bool all = ways <= most;

		sampled += !all;
		for (uint64_t i = 0; i < (all ? ways : most); i++, images++) {
			struct crash_image image;

			crash_disk_image(d, all ? i : UINT64_MAX, &seed, &image);
			check_image(&image, &p);
			crash_image_done(&image);
		}
	}
	print_message("%zu steps recorded, %llu images looked at, %llu steps not exhaustively\n",
		      r.log.count, (unsigned long long)images, (unsigned long long)sampled);
	crash_disk_free(d);
	record_io_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_run),
		cmocka_unit_test(test_long_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
