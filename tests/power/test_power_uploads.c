/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power cuts under uploads: what a client took a ticket for is still there after a cut at any step
 * behind it, whole, and a table is owed of it, until it is built. And the files and directories of
 * a data directory have their names for good before the service answers anybody. RAWSTACK_FULL=1
 * looks at more cuts.
 */
#include "record_libc.h"
#include "service.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "limits.h"

enum {
	UPLOADS = 24,
	SIZE_MOST = 30000,
	ACKED = 1, /* kinds of marks */
	BUILT,
};

static size_t size_of(uint32_t n)
{
	return 1 + n * 7919u % SIZE_MOST;
}

static void fill(uint32_t n, uint8_t *p)
{
	for (size_t i = 0; i < size_of(n); i++)
		p[i] = (uint8_t)(n * 31 + i * 7 + (i >> 8));
}

static struct uploads *open_uploads(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct uploads *u;
	struct err err;

	assert_true(fd >= 0);
	if (uploads_open(&u, fd, &err))
		fail_msg("%s", err.message);
	close(fd);
	return u;
}

static struct build_id id_of(uint32_t n)
{
	const uint8_t bytes[20] = {1, 2, (uint8_t)n};
	struct build_id id;

	assert_int_equal(build_id_set(&id, BUILD_ID_GNU, bytes, sizeof(bytes), NULL), 0);
	return id;
}

static void begin(struct uploads *u, uint32_t n, uint8_t *token)
{
	static uint8_t sum[32];
	struct build_id id = id_of(n);
	Rawstack__V1__BeginRequest request = RAWSTACK__V1__BEGIN_REQUEST__INIT;
	struct upload_begun begun;

	request.build_id = (ProtobufCBinaryData){id.len, id.bytes};
	request.size = size_of(n);
	request.sha256 = (ProtobufCBinaryData){sizeof(sum), sum};
	assert_int_equal(uploads_begin(u, &request, 0, &begun, NULL), 0);
	assert_int_equal(begun.status, RAWSTACK__V1__BEGIN_STATUS__BEGIN_STATUS_NEEDED);
	memcpy(token, begun.token, UPLOAD_TOKEN_LEN);
}

static void send_all(struct uploads *u, uint32_t n, const uint8_t *token, uint64_t *seed)
{
	static uint8_t bytes[SIZE_MOST + 1];
	struct upload *up;
	uint64_t at = 0;

	fill(n, bytes);
	assert_int_equal(uploads_attach(u, token, UPLOAD_TOKEN_LEN, &up, NULL), 0);
	while (at < size_of(n)) {
		size_t len = 1 + (size_t)crash_random(seed, size_of(n) - at);

		assert_int_equal(uploads_append(u, up, at, bytes + at, len, &at, NULL), 0);
	}
	uploads_detach(u, up);
}

/* Builds, or cannot at the moment, whatever is first in the queue. */
static void work(struct uploads *u, struct crash_log *l, bool builds)
{
	const struct upload_result result = {0};
	struct upload *up = uploads_take(u);
	uint8_t n = up->id.bytes[2];

	if (builds) {
		/* Whoever made the table has stored it, durably, before he says so. */
		crash_log_add(l, CRASH_MARK, BUILT, n, NULL, 0, NULL, NULL);
		uploads_done(u, up, &result);
	} else {
		uploads_postpone(u, up);
		up->not_before_ns = 0;
	}
}

static void record(struct crash_log *l, uint64_t seed)
{
	uint8_t token[UPLOAD_TOKEN_LEN];
	struct upload_finished finished;
	struct uploads *u;
	int owed = 0;

	assert_int_equal(mkdir("recorded", 0700), 0);
	record_libc_dir(l, "uploads");
	u = open_uploads("recorded");
	for (uint32_t n = 0; n < UPLOADS; n++) {
		begin(u, n, token);
		if (n % 7 == 3)
			continue;
		send_all(u, n, token, &seed);
		if (n % 5 == 2)
			continue;
		assert_int_equal(
			uploads_finish(u, token, sizeof(token), NULL, false, &finished, NULL), 0);
		assert_false(finished.waits);
		crash_log_add(l, CRASH_MARK, ACKED, n, NULL, 0, NULL, NULL);
		if (++owed > 3)
			work(u, l, crash_random(&seed, 2));
	}
	record_libc_dir(NULL, NULL);
	uploads_close(u);
}

static void restore(const struct crash_image *image)
{
	char path[256];

	assert_int_equal(system("rm -rf cut && mkdir -p cut/uploads"), 0);
	for (size_t i = 0; i < image->count; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "cut/uploads/%s", image->files[i].name);
		f = fopen(path, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(image->files[i].p, 1, image->files[i].len, f),
				 image->files[i].len);
		assert_int_equal(fclose(f), 0);
	}
}

static void check_image(const struct crash_image *image, const bool *owed)
{
	uint8_t want[SIZE_MOST + 1], got[SIZE_MOST + 1];
	uint32_t count = 0, found = 0;
	struct uploads *u;

	restore(image);
	u = open_uploads("cut");
	for (uint32_t n = 0; n < UPLOADS; n++) {
		struct build_id id = id_of(n);

		count += owed[n];
		if (owed[n] && !uploads_is_building(u, &id))
			fail_msg("no table is owed of upload %u any more", n);
	}
	while (found < count) {
		struct upload *up = uploads_take(u);
		uint8_t n = up->id.bytes[2];

		found += owed[n];
		fill(n, want);
		assert_int_equal(up->received, size_of(n));
		assert_int_equal(pread(up->fd, got, sizeof(got), 0), size_of(n));
		/* Others may have been finished, and nobody was told; then a digest tells. */
		if (owed[n])
			assert_memory_equal(got, want, size_of(n));
	}
	uploads_close(u);
}

static void test_tickets(void **state _unused_)
{
	const char *full = getenv("RAWSTACK_FULL");
	uint64_t seed = 31, cuts = full && full[0] == '1' ? 100000 : 120, images = 0;
	bool owed[UPLOADS] = {false};
	struct crash_log log = {0};
	struct crash_disk *d;

	record(&log, 5);
	d = crash_disk_new(&log);
	for (size_t at = 0; crash_disk_step(d); at++) {
		const struct crash_entry *e = &log.entries[at];
		struct crash_image image;

		if (e->op == CRASH_MARK)
			owed[e->off] = e->id == ACKED;
		/* At each ticket, where the promise is newest, and at some other moments. */
		if (e->op != CRASH_MARK && crash_random(&seed, log.count) >= cuts)
			continue;
		crash_disk_image(d, UINT64_MAX, &seed, &image);
		check_image(&image, owed);
		crash_image_done(&image);
		images++;
	}
	print_message("%zu steps recorded, %llu images looked at\n", log.count,
		      (unsigned long long)images);
	assert_true(images > 50);
	crash_disk_free(d);
	crash_log_done(&log);
}

static bool has(const struct crash_image *image, const char *name)
{
	for (size_t i = 0; i < image->count; i++)
		if (!strcmp(image->files[i].name, name))
			return true;
	return false;
}

static void test_names(void **state _unused_)
{
	const struct service_config config = {.data_dir = "data", .store_bytes = 16 << 20};
	struct crash_log log = {0};
	struct crash_image image;
	struct crash_disk *d;
	struct service *s;
	uint64_t seed = 7;
	struct err err;

	record_libc_dir(&log, "data");
	if (service_open(&s, &config, &err))
		fail_msg("%s", err.message);
	record_libc_dir(NULL, NULL);
	assert_true(service_close(s));
	d = crash_disk_new(&log);
	while (crash_disk_step(d))
		;
	for (int i = 0; i < 32; i++) {
		crash_disk_image(d, UINT64_MAX, &seed, &image);
		assert_true(has(&image, "store.mdb"));
		assert_true(has(&image, "uploads"));
		assert_true(has(&image, "kept"));
		crash_image_done(&image);
	}
	crash_disk_free(d);
	crash_log_done(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tickets),
		cmocka_unit_test(test_names),
	};
	char dir[] = "power-XXXXXX";

	if (!mkdtemp(dir) || chdir(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
