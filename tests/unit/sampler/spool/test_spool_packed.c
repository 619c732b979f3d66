/* SPDX-License-Identifier: Apache-2.0 */
/* Packed segments are the same segments; and the writer that never waits for its disk. */
#include "spool_compress.h"
#include "spool_samples.h"
#include "spool_segment.h"
#include "spool_stats.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Packs the segment as the writer's thread does. */
static int compress_segment(struct memory_io *m, uint64_t number)
{
	char temp[SPOOL_COMPRESSED_NAME_MAX], name[SPOOL_NAME_MAX];
	uint64_t len;
	struct err err = {0};
	int rc = spool_compress(&m->io, 0, number, &len, &err);

	if (rc == 1)
		assert_int_equal(m->io.rename(m, 0, spool_compressed_name(number, temp),
					      spool_segment_name(number, name)),
				 0);
	return rc;
}

static uint64_t number_of(const struct memory_file *f)
{
	return strtoull(f->name + strlen(SEGMENT), NULL, 16);
}

/* Bytes, batches, ids and acknowledgements are what they were. */
static void test_same_segment(void **state)
{
	static uint8_t ids[400][SPOOL_BATCH_ID_LEN];
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_writer *w;
	struct spool_reader *r, *old;
	struct spool_batch b;
	size_t batches = 0, acked = 0, files, before = 0, after = 0;
	uint64_t acked_samples = 0;
	struct err err;

	limits.segment_len = 1 << 20;
	limits.total_len = 8 << 20;
	w = writer(m, &limits);
	for (uint64_t n = 0; n < 60000; n += 50)
		add_many(w, n, 50);
	spool_writer_close(w);
	files = memory_io_count(m, SEGMENT);
	assert_true(files >= 3);
	old = reader(m); /* is in the middle of a segment when that is packed */
	assert_int_equal(spool_reader_next(old, 100, &b, &err), 1);
	r = reader(m);
	while (spool_reader_next(r, 777, &b, &err) == 1) {
		memcpy(ids[batches++], b.id, sizeof(b.id));
		acked_samples += acked ? 0 : b.sample_count;
		if (batches == 50) {
			assert_int_equal(spool_reader_ack(r, &b, &err), 0);
			acked = batches;
		}
	}
	spool_reader_close(r);
	for (size_t i = 0; i < files; i++) {
		struct memory_file *f = memory_io_file(m, SEGMENT, i);
		_cleanup_(freep) uint8_t *copy = malloc(f->len);
		const size_t len = f->len;
		const uint64_t number = number_of(f);
		struct spool_file file;
		uint8_t at[999];
		ssize_t got;

		memcpy(copy, f->p, len);
		before += len;
		assert_int_equal(compress_segment(m, number), 1);
		assert_int_equal(compress_segment(m, number), 0); /* it is */
		after += memory_io_file(m, SEGMENT, i)->len;
		assert_int_equal(spool_file_open(&file, &m->io, 0, number, &err), 0);
		for (uint64_t off = 0; off < len; off += (uint64_t)got) {
			got = spool_file_pread(&file, at, sizeof(at), off);
			assert_true(got > 0);
			assert_memory_equal(at, copy + off, (size_t)got);
		}
		assert_int_equal(spool_file_pread(&file, at, sizeof(at), len), 0);
		spool_file_close(&file);
	}
	print_message("%zu bytes, packed %zu\n", before, after);
	assert_true(after < before / 2);
	assert_int_equal(drain(old, 100).count, 60000 - 100);
	spool_reader_close(old);
	r = reader(m);
	for (size_t i = acked; i < batches; i++) {
		assert_int_equal(spool_reader_next(r, 777, &b, &err), 1);
		assert_memory_equal(b.id, ids[i], sizeof(b.id));
	}
	assert_int_equal(spool_reader_next(r, 777, &b, &err), 0);
	spool_reader_close(r);
	assert_int_equal(drain_all(m).count, 60000);
	/* A writer that takes them over drops them with the right count. */
	limits.total_len = 2 << 20;
	w = writer(m, &limits);
	for (uint64_t n = 60000; n < 120000; n += 50)
		add_many(w, n, 50);
	assert_int_equal(drain_all(m).count + spool_writer_lost(w, SPOOL_LOSS_SPOOL_DROPPED) +
				 acked_samples,
			 120000);
	spool_writer_close(w);
}

/* A flipped bit takes its block, not its neighbours; the samples around are there. */
static void test_damaged_block(void **state)
{
	const uint64_t count = 15000; /* as many stacks and twice the locations: one segment */
	struct memory_io *m = *state;
	struct spool_limits limits = small;
	struct spool_segment_info info;
	struct memory_file *f;
	struct spool_writer *w;
	struct err err;
	int fd;

	limits.segment_len = 4 << 20;
	limits.total_len = 16 << 20;
	w = writer(m, &limits);
	for (uint64_t n = 0; n < count; n += 50)
		add_many(w, n, 50);
	spool_writer_close(w);
	f = memory_io_file(m, SEGMENT, 0);
	assert_int_equal(compress_segment(m, number_of(f)), 1);
	f = memory_io_file(m, SEGMENT, 0);
	fd = m->io.open(m, 0, f->name, 0, 0);
	assert_int_equal(spool_header_read(&m->io, fd, &info, &err), 0);
	m->io.close(m, fd);
	assert_in_range(info.block_count, 3, 16);
	for (uint32_t i = 0; i < info.block_count; i++) {
		struct seen seen;

		f->p[info.blocks[i].off + info.blocks[i].len / 2] ^= 4;
		seen = drain_all_as(m, true);
		f->p[info.blocks[i].off + info.blocks[i].len / 2] ^= 4;
		assert_in_range(seen.count, count - count / (info.block_count - 1), count - 1);
		assert_true(seen.damaged_len >= SPOOL_BLOCK_LEN / 2 || i + 1 == info.block_count);
	}
	/* Cut short: what is gone is damage, what is left is read. */
	f->len = info.blocks[1].off + 10;
	assert_in_range(drain_all_as(m, true).count, 1000, count / 3 * 2);
	f->len = info.blocks[0].off;
	assert_int_equal(drain_all_as(m, true).count, 0);
}

/* --- a writer with threads of its own, over real files --------------------------------------- */

static char dir[] = "packed-XXXXXX";

static struct seen drain_dir(const char *path)
{
	struct spool_reader *r = NULL;
	struct err err = {0};
	struct seen seen;

	if (spool_reader_open(&r, path, NULL, &err))
		fail_msg("%s", err.message);
	spool_reader_from_start(r);
	seen = drain(r, 1000);
	spool_reader_close(r);
	return seen;
}

static struct spool_writer *detached(const char *path, const struct io *io,
				     const struct spool_limits *limits)
{
	struct spool_writer *w = NULL;
	struct err err = {0};

	if (spool_writer_open(&w, path, limits, &origin, io, &err) || spool_writer_detach(w, &err))
		fail_msg("%s", err.message);
	return w;
}

static void test_detached(void **state _unused_)
{
	struct spool_limits limits = small;
	struct spool_writer *w;
	struct seen seen;
	char path[64];

	snprintf(path, sizeof(path), "%s/plain", dir);
	limits.total_len = 64 << 20;
	limits.sync_ns = 1000000; /* much to do beside */
	w = detached(path, NULL, &limits);
	for (uint64_t n = 0; n < 50000; n += 50)
		add_many(w, n, 50);
	spool_writer_close(w);
	assert_int_equal(spool_writer_open(&w, path, &limits, &origin, NULL, NULL), 0);
	spool_writer_close(w);
	seen = drain_dir(path);
	assert_int_equal(seen.count, 50000);
	assert_int_equal(seen.gaps, 0);
	assert_int_equal(seen.damaged_len, 0);
}

static uint64_t packed_count(const char *path, uint64_t *ret_segments)
{
	struct spool_stats stats;
	struct err err = {0};

	if (spool_stats_read(&stats, path, &err))
		fail_msg("%s", err.message);
	*ret_segments = stats.segments;
	return stats.packed;
}

/* What a writer ends with is packed at once when it is large, by the next one when it is not. */
static void test_last_segment(void **state _unused_)
{
	const struct timespec moment = {.tv_nsec = 5000000};
	const struct spool_limits limits = {.free_floor = 1};
	struct spool_writer *w;
	uint64_t segments;
	char path[64], text[LIMIT_PATH_LEN];

	for (int is_large = 0; is_large < 2; is_large++) {
		snprintf(path, sizeof(path), "%s/last-%d", dir, is_large);
		w = detached(path, NULL, &limits);
		memset(text, 'x', sizeof(text));
		for (uint32_t i = 0; is_large && i < 300; i++) {
			memcpy(text, &i, sizeof(i));
			assert_int_not_equal(spool_writer_string(w, text, sizeof(text)),
					     LOCATION_NO_INDEX);
		}
		add_many(w, 0, 1000);
		spool_writer_close(w);
		assert_int_equal(packed_count(path, &segments), is_large);
		assert_int_equal(segments, 1);
		w = detached(path, NULL, &limits);
		add_many(w, 1000, 10);
		/* Ends when it is packed; else by the time limit of the test. */
		while (packed_count(path, &segments) == 0)
			nanosleep(&moment, NULL);
		spool_writer_close(w);
		assert_int_equal(packed_count(path, &segments), 1);
		assert_int_equal(segments, 2);
		assert_int_equal(drain_dir(path).count, 1010);
	}
}

/* A disk that hangs when told to. */
static struct gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool is_shut;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};

static void pass_gate(void)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.is_shut)
		pthread_cond_wait(&gate.opened, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void set_gate(bool shut)
{
	pthread_mutex_lock(&gate.lock);
	gate.is_shut = shut;
	pthread_cond_broadcast(&gate.opened);
	pthread_mutex_unlock(&gate.lock);
}

static int gated_sync(void *ctx, int fd)
{
	pass_gate();
	return io_system()->sync(ctx, fd);
}

static ssize_t gated_pwrite(void *ctx, int fd, const void *p, size_t len, off_t off)
{
	pass_gate();
	return io_system()->pwrite(ctx, fd, p, len, off);
}

/* Syncs that hang stop nothing: what is added meanwhile is in the file. */
static void test_hanging_sync(void **state _unused_)
{
	const struct timespec moment = {.tv_nsec = 5000000};
	struct spool_limits limits = {.segment_len = 4 << 20, .free_floor = 1, .sync_ns = 1};
	struct io io = *io_system();
	struct spool_writer *w;
	char path[64];

	snprintf(path, sizeof(path), "%s/sync", dir);
	io.sync = gated_sync;
	w = detached(path, &io, &limits);
	add_many(w, 0, 100);
	set_gate(true);
	for (uint64_t n = 100; n < 5000; n += 100)
		add_many(w, n, 100);
	/* Ends when the samples are there, although the disk still hangs; else by the time limit of
	 * the test. */
	while (drain_dir(path).count < 5000)
		nanosleep(&moment, NULL);
	set_gate(false);
	spool_writer_close(w);
	assert_int_equal(drain_dir(path).count, 5000);
}

/* A disk that hangs altogether: the capturer goes on, what does not fit in the queue is counted. */
static void test_hanging_write(void **state _unused_)
{
	struct spool_limits limits = {
		.segment_len = 1 << 20, .total_len = 1 << 30, .free_floor = 1, .sync_ns = 1};
	struct io io = *io_system();
	struct spool_writer *w;
	struct seen seen;
	uint64_t n = 0, lost = 0;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "%s/write", dir);
	io.pwrite = gated_pwrite;
	io.sync = gated_sync;
	w = detached(path, &io, &limits);
	add_many(w, 0, 1000);
	n += 1000;
	set_gate(true);
	for (; !lost; n += 1000) {
		add_many(w, n, 1000);
		lost = spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR);
		assert_true(n < 1000000);
	}
	add_many(w, n, 1000);
	n += 1000;
	set_gate(false);
	/* It takes up again by itself; else this ends by the time limit of the test. What is in the
	 * file has nothing before it that waits. */
	do {
		const struct timespec moment = {.tv_nsec = 50000000};

		for (int i = 0; i < 20; i++, n += 100)
			add_many(w, n, 100);
		nanosleep(&moment, NULL);
	} while (drain_dir(path).next != n);
	spool_writer_flush(w, &err);
	lost = spool_writer_lost(w, SPOOL_LOSS_SPOOL_ERROR);
	print_message("%llu of %llu samples lost to a disk that hung\n", (unsigned long long)lost,
		      (unsigned long long)n);
	spool_writer_close(w);
	seen = drain_dir(path);
	assert_int_equal(seen.count + lost, n);
	assert_int_equal(seen.next, n);
	assert_int_equal(seen.losses[SPOOL_LOSS_SPOOL_ERROR], lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_same_segment),
		TEST(test_damaged_block),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_last_segment),
		cmocka_unit_test(test_hanging_sync),
		cmocka_unit_test(test_hanging_write),
	};

	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
