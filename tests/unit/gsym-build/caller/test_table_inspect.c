/* SPDX-License-Identifier: Apache-2.0 */
/* Files looked at by the worker: it says what this process reads in them, and is not believed. */
#include "table_inspect.h"

#include "rsym.h"
#include "rsym_writer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

static int self = -1;

static const char *worker(void)
{
	static char path[4096];

	assert_non_null(getenv("RAWSTACK_BIN"));
	snprintf(path, sizeof(path), "%s/rawstack-table-worker", getenv("RAWSTACK_BIN"));
	return path;
}

static int file_of(const void *p, size_t len)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, len), len);
	return fd;
}

static void test_self(void **state _unused_)
{
	struct image_summary here, there;
	struct build_id id, other;
	struct err err;

	assert_int_equal(image_summary_read(self, &here, NULL), 0);
	if (table_inspect(self, worker(), &there, &err))
		fail_msg("%s", err.message);
	assert_int_equal(there.kind, IMAGE_BOTH);
	assert_int_equal(there.kind, here.kind);
	assert_int_equal(there.id.file_len, here.id.file_len);
	assert_int_equal(there.id.in_ends, here.id.in_ends);
	assert_int_equal(there.alt_id.kind, BUILD_ID_NONE);
	assert_int_equal(image_summary_identity(self, &here, &id, NULL), 0);
	assert_int_equal(image_summary_identity(self, &there, &other, NULL), 0);
	assert_true(build_id_equal(&id, &other));
}

static void test_other_files(void **state _unused_)
{
	_cleanup_(closep) int text = file_of("hello, world: text", 18);
	_cleanup_(closep) int cut = file_of("\x7f"
					    "ELF\2\1\1\0\0\0\0\0\0\0\0\0\0",
					    17);
	struct image_summary s;
	struct err err;

	assert_int_equal(table_inspect(text, worker(), &s, &err), ERR_UNSUPPORTED);
	assert_string_equal(err.message, "not an ELF file");
	assert_int_equal(table_inspect(cut, worker(), &s, &err), ERR_DATA);
}

static void test_tables(void **state _unused_)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	const struct rsym_writer_info info = {.id = {.kind = BUILD_ID_GNU, .len = 4}};
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	_cleanup_(closep) int good = -1, bad = -1;
	struct err err;

	rsym_writer_row(w, 0x1000, RSYM_NONE, RSYM_NONE, 0);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), 0);
	good = file_of(out.p, out.len);
	if (table_check(good, worker(), &err))
		fail_msg("%s", err.message);
	out.p[200] ^= 1;
	bad = file_of(out.p, out.len);
	assert_int_equal(table_check(bad, worker(), &err), ERR_DATA);
	assert_int_equal(table_check(self, worker(), &err), ERR_DATA);
}

static const char *script(const char *body)
{
	static char path[] = "inspect_worker.sh";
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", body);
	assert_int_equal(fchmod(fileno(f), 0755), 0);
	fclose(f);
	return path;
}

/* A worker that hostile bytes have broken: one line, whatever it did. */
static void test_worker_ends(void **state _unused_)
{
	static const struct {
		const char *body;
		int want;
		const char *says;
	} rows[] = {
		{"exit 3", ERR_INTERNAL, "ended with status 3"},
		{"head -c 4096 /dev/zero >&4", ERR_INTERNAL, "ended with status 0"},
		{"kill -SEGV $$", ERR_INTERNAL, "crashed (SIGSEGV)"},
		{"kill -XCPU $$", ERR_LIMIT, "CPU"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct image_summary s;
		struct err err = {0};

		assert_int_equal(table_inspect(self, script(rows[i].body), &s, &err), rows[i].want);
		assert_non_null(strstr(err.message, rows[i].says));
		assert_int_equal(table_check(self, script(rows[i].body), &err), rows[i].want);
		assert_non_null(strstr(err.message, rows[i].says));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_worker_ends),
	};

	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
