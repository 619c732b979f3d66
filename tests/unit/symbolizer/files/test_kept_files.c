/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads that are kept: what comes back is what was kept, within a budget of bytes, over a restart
 * too, and what was not used for the longest goes. */
#include "kept_files.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	FILE_LEN = 100000,
	BUDGET = 3 * FILE_LEN + FILE_LEN / 2, /* three files, for they cannot be packed */
};

static char dir[] = "/tmp/test_kept_files.XXXXXX";
static int data_fd;

static int begin(void **state _unused_)
{
	if (!mkdtemp(dir))
		return -1;
	data_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return data_fd < 0 ? -1 : 0;
}

static int end(void **state _unused_)
{
	char command[64];

	close(data_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct kept_files *opened(uint64_t budget)
{
	struct kept_files *k = NULL;
	struct err err = {0};

	assert_int_equal(kept_files_open(&k, data_fd, budget, &err), 0);
	return k;
}

static struct build_id id_of(unsigned int number)
{
	struct build_id id;
	char hex[16];

	snprintf(hex, sizeof(hex), "%08x", number);
	assert_int_equal(build_id_parse(&id, hex, NULL), 0);
	return id;
}

/* Bytes that nobody packs, and that tell whose they are (xorshift64). */
static void fill(uint8_t bytes[static FILE_LEN], unsigned int number)
{
	uint64_t x = number + UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < FILE_LEN; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (uint8_t)x;
	}
}

/* Dates of files go by the kernel's tick: two uses are further apart. */
static void pass_time(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int put(struct kept_files *k, unsigned int number, enum kept_role role)
{
	static uint8_t bytes[FILE_LEN];
	struct build_id id = id_of(number);
	struct err err = {0};
	int fd = memfd_create("input", MFD_CLOEXEC), rc;

	fill(bytes, number);
	assert_int_equal(write(fd, bytes, FILE_LEN), FILE_LEN);
	rc = kept_files_put(k, &id, role, fd, FILE_LEN, &err);
	close(fd);
	pass_time();
	return rc;
}

/* What kept_files_get() says; what it hands out is looked at. */
static int get(struct kept_files *k, unsigned int number, enum kept_role role)
{
	static uint8_t bytes[FILE_LEN], seen[FILE_LEN + 1];
	struct build_id id = id_of(number);
	struct err err = {0};
	int fd, rc = kept_files_get(k, &id, role, &fd, &err);

	if (rc == 1) {
		fill(bytes, number);
		assert_int_equal(pread(fd, seen, sizeof(seen), 0), FILE_LEN);
		assert_memory_equal(seen, bytes, FILE_LEN);
		close(fd);
		pass_time();
	}
	return rc;
}

static void counts(struct kept_files *k, uint64_t count)
{
	struct kept_files_stat stat;

	kept_files_stat(k, &stat);
	assert_int_equal(stat.count, count);
	assert_int_equal(stat.max_bytes, BUDGET);
	assert_in_range(stat.bytes, count * FILE_LEN, count * (FILE_LEN + 1000));
}

static void test_least_used_goes(void **state _unused_)
{
	struct kept_files *k = opened(BUDGET);

	for (unsigned int i = 1; i <= 3; i++)
		assert_int_equal(put(k, i, KEPT_DEBUG), 0);
	counts(k, 3);
	assert_int_equal(get(k, 1, KEPT_DEBUG), 1);
	assert_int_equal(put(k, 4, KEPT_DEBUG), 0);
	counts(k, 3);
	assert_int_equal(get(k, 2, KEPT_DEBUG), 0);
	assert_int_equal(get(k, 4, KEPT_DEBUG), 1);
	assert_int_equal(get(k, 3, KEPT_DEBUG), 1);
	kept_files_close(k);

	/* Which was used last outlives the process: now it is 1. */
	k = opened(BUDGET);
	counts(k, 3);
	assert_int_equal(put(k, 5, KEPT_ALT), 0);
	counts(k, 3);
	assert_int_equal(get(k, 1, KEPT_DEBUG), 0);
	assert_int_equal(get(k, 3, KEPT_DEBUG), 1);
	assert_int_equal(get(k, 4, KEPT_DEBUG), 1);
	assert_int_equal(get(k, 5, KEPT_DEBUG), 0);
	assert_int_equal(get(k, 5, KEPT_ALT), 1);
	kept_files_close(k);
}

/* A smaller budget holds from the start; what fits none is refused, and takes nothing with it. */
static void test_smaller_budget(void **state _unused_)
{
	struct kept_files_stat stat;
	struct kept_files *k = opened(FILE_LEN + FILE_LEN / 2);

	kept_files_stat(k, &stat);
	assert_int_equal(stat.count, 1);
	assert_int_equal(get(k, 5, KEPT_ALT), 1);
	kept_files_close(k);
	k = opened(FILE_LEN / 2);
	kept_files_stat(k, &stat);
	assert_int_equal(stat.count, 0);
	assert_int_equal(put(k, 6, KEPT_DEBUG), ERR_LIMIT);
	kept_files_stat(k, &stat);
	assert_int_equal(stat.count, 0);
	assert_int_equal(stat.bytes, 0);
	kept_files_close(k);
}

static void write_into(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/kept/%s", dir, name);
	f = fopen(path, "r+e");
	if (!f)
		f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_damaged_and_foreign(void **state _unused_)
{
	struct kept_files *k = opened(BUDGET);
	struct build_id id = id_of(7);
	struct err err = {0};
	char path[128];

	assert_int_equal(put(k, 7, KEPT_DEBUG), 0);
	assert_int_equal(put(k, 7, KEPT_DWP), 0);
	write_into("00000007.debug", "no frame");
	assert_int_equal(get(k, 7, KEPT_DEBUG), ERR_DATA);
	assert_false(kept_files_have(k, &id, KEPT_DEBUG));
	assert_true(kept_files_have(k, &id, KEPT_DWP));
	counts(k, 1);
	assert_int_equal(kept_files_remove_all(k, &id, &err), 0);
	counts(k, 0);
	kept_files_close(k);

	/* What a crash or somebody else left. */
	write_into("00000008.debug.new", "half");
	write_into("notes", "by hand");
	k = opened(BUDGET);
	counts(k, 0);
	snprintf(path, sizeof(path), "%s/kept/notes", dir);
	assert_int_equal(access(path, F_OK), 0); /* it has a name that we do not give */
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/kept/00000008.debug.new", dir);
	assert_int_equal(access(path, F_OK), -1);
	kept_files_close(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_used_goes),
		cmocka_unit_test(test_smaller_budget),
		cmocka_unit_test(test_damaged_and_foreign),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
