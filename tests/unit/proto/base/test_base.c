/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of proto/base: each table row is an input and what must come of it. */
#include "arena.h"
#include "buf.h"
#include "build_id.h"
#include "bytes.h"
#include "crc32c.h"
#include "err.h"
#include "file_segments.h"
#include "file_view.h"
#include "helper.h"
#include "intern.h"
#include "io.h"
#include "number.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void test_err(void **state _unused_)
{
	struct err err;

	assert_int_equal(err_set(&err, ERR_DATA, "section %d\n\x1b[31m", 3), ERR_DATA);
	assert_string_equal(err.message, "section 3??[31m");
	assert_int_equal(err_prefix(&err, "file %s", "x"), ERR_DATA);
	assert_string_equal(err.message, "file x: section 3??[31m");
	assert_int_equal(err_sys(&err, EPERM, "open"), ERR_DENIED);
	assert_string_equal(err.message, "open: Operation not permitted");
	assert_int_equal(err_sys(NULL, ENOMEM, "open"), ERR_MEMORY);
	/* An override of direction, a C1 control, a byte that is none of UTF-8; letters stay. */
	err_set(&err, ERR_DATA,
		"a\xe2\x80\xae"
		"b\xc2\x9b"
		"c\xff\xc3\xa4");
	assert_string_equal(err.message, "a???b??c?\xc3\xa4");
	assert_int_equal(err_exit_status(0), 0);
	assert_int_equal(err_exit_status(ERR_USAGE), 2);
	assert_int_equal(err_exit_status(ERR_IO), 1);
}

static void test_number(void **state _unused_)
{
	static const struct {
		const char *text;
		unsigned int base;
		bool is_number, is_all;
		uint64_t n;
		const char *rest;
	} cases[] = {
		{"0", 10, true, true, 0, ""},
		{"18446744073709551615", 10, true, true, UINT64_MAX, ""},
		{"18446744073709551616", 10, false, false, 0, "18446744073709551616"},
		{"12-34", 10, true, false, 12, "-34"},
		{"12a", 10, true, false, 12, "a"},
		{"fFfFfFfFfFfFfFfF", 16, true, true, UINT64_MAX, ""},
		{"10000000000000000", 16, false, false, 0, "10000000000000000"},
		{"7f00 x", 16, true, false, 0x7f00, " x"},
		{"0x10", 16, true, false, 0, "x10"},
		{"", 10, false, false, 0, ""},
		{" 1", 10, false, false, 0, " 1"},
		{"-1", 10, false, false, 0, "-1"},
		{"+1", 16, false, false, 0, "+1"},
		{"g", 16, false, false, 0, "g"},
		{"a", 10, false, false, 0, "a"},
		{":", 16, false, false, 0, ":"},
		{"@", 16, false, false, 0, "@"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *at = cases[i].text;
		uint64_t n = 99;

		assert_int_equal(number_take(&at, cases[i].base, &n), cases[i].is_number);
		assert_string_equal(at, cases[i].rest);
		assert_int_equal(n, cases[i].is_number ? cases[i].n : 99);
		n = 99;
		assert_int_equal(number_read(cases[i].text, cases[i].base, &n), cases[i].is_all);
		assert_int_equal(n, cases[i].is_all ? cases[i].n : 99);
	}
}

static void test_number_real(void **state _unused_)
{
	double n = 0;

	assert_true(number_read_real("0.25", &n));
	assert_true(n == 0.25);
	assert_true(number_read_real("1e3", &n));
	assert_true(n == 1000);
	assert_false(number_read_real("", &n));
	assert_false(number_read_real("1s", &n));
	assert_false(number_read_real("one", &n));
	assert_true(n == 1000);
}

static void test_number_next(void **state _unused_)
{
	const char *at = "12 \t 34  x";
	uint64_t n = 0;

	assert_true(number_take_next(&at, 10, &n));
	assert_int_equal(n, 12);
	assert_true(number_take_next(&at, 10, &n));
	assert_int_equal(n, 34);
	/* What is no number leaves the blanks in front of it as well. */
	assert_false(number_take_next(&at, 10, &n));
	assert_string_equal(at, "  x");
	assert_int_equal(n, 34);
	at = "\n5"; /* the end of a line is no blank */
	assert_false(number_take_next(&at, 10, &n));
}

static void test_bytes(void **state _unused_)
{
	static const uint8_t in[] = {1, 2, 0, 4, 0, 0, 0, 'h', 'i', 0, 9};
	struct bytes b = bytes_of(in, sizeof(in));
	size_t len;

	assert_int_equal(bytes_u8(&b), 1);
	assert_int_equal(bytes_u16(&b), 2);
	assert_int_equal(bytes_u32(&b), 4);
	assert_memory_equal(bytes_cstr(&b, &len), "hi", 3);
	assert_int_equal(len, 2);
	assert_null(bytes_cstr(&b, &len));
	assert_true(b.failed);
	assert_int_equal(bytes_u8(&b), 0); /* failure sticks, though a byte was left */
}

static void test_leb(void **state _unused_)
{
	static const uint64_t values[] = {0, 1, 127, 128, 300, UINT32_MAX, INT64_MAX, UINT64_MAX};
	static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0x02};
	struct bytes in;

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT(64);

		buf_uleb(&b, values[i]);
		buf_sleb(&b, (int64_t)values[i]);
		buf_sleb(&b, -(int64_t)(values[i] >> 1));
		in = bytes_of(b.p, b.len);
		assert_int_equal(bytes_uleb(&in), values[i]);
		assert_int_equal(bytes_sleb(&in), (int64_t)values[i]);
		assert_int_equal(bytes_sleb(&in), -(int64_t)(values[i] >> 1));
		assert_false(in.failed);
		assert_int_equal(in.left, 0);
	}
	in = bytes_of(too_long, sizeof(too_long));
	bytes_uleb(&in);
	assert_true(in.failed);
}

static void test_buf(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(10);

	assert_true(buf_printf(&b, "%d-%s", 42, "ab"));
	assert_string_equal(buf_cstr(&b), "42-ab");
	assert_true(buf_align(&b, 4));
	assert_int_equal(b.len, 8);
	assert_false(buf_u32(&b, 1)); /* 12 > 10 */
	assert_false(buf_u8(&b, 1));  /* sticks */
	assert_int_equal(b.len, 8);
	buf_reset(&b);
	assert_true(buf_u8(&b, 1));
}

/* As printf() has it, at every fill of the buffer. */
static void test_buf_text(void **state _unused_)
{
	static const uint64_t values[] = {0,  1,   9,          10,        15,
					  16, 255, 4294967296, INT64_MAX, UINT64_MAX};
	char want[128];

	for (size_t before = 0; before < 80; before++)
		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			_cleanup_(buf_done) struct buf b = BUF_INIT(1000);
			unsigned long long v = values[i];

			assert_non_null(buf_extend(&b, before));
			buf_reset(&b);
			assert_non_null(buf_extend(&b, before));
			assert_true(buf_decimal(&b, v) && buf_u8(&b, ' ') && buf_hex(&b, v, 1) &&
				    buf_u8(&b, ' ') && buf_hex(&b, v, 16) &&
				    buf_printf(&b, " %llu %s", v, "and so on"));
			snprintf(want, sizeof(want), "%llu %llx %016llx %llu and so on", v, v, v,
				 v);
			assert_string_equal(buf_cstr(&b) + before, want);
		}
}

static void test_arena(void **state _unused_)
{
	struct arena a = ARENA_INIT(1 << 20);
	uint8_t *p;

	for (size_t n = 0; n < 1000; n++) {
		p = arena_alloc(&a, n);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xee, n);
	}
	assert_null(arena_alloc(&a, 1 << 20));
	assert_null(arena_array(&a, SIZE_MAX / 2, 4));
	arena_reset(&a);
	assert_non_null(arena_alloc(&a, 1 << 20));
	arena_reset(&a);
	assert_string_equal(arena_copy(&a, "text, cut", 4), "text");
	arena_done(&a);
}

static void test_build_id(void **state _unused_)
{
	static const struct {
		const char *hex;
		int want;
	} rows[] = {
		{"abcd", 0},        {"ABcd", 0},         {"", ERR_USAGE},      {"ab", ERR_USAGE},
		{"abc", ERR_USAGE}, {"abxd", ERR_USAGE}, {"../ab", ERR_USAGE}, {"ab cd", ERR_USAGE},
	};
	char hex[BUILD_ID_HEX_MAX], lengthy[2 * BUILD_ID_MAX + 3];
	struct build_id id, same;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(build_id_parse(&id, rows[i].hex, &err), rows[i].want);
	memset(lengthy, 'a', sizeof(lengthy));
	lengthy[2 * BUILD_ID_MAX + 2] = 0;
	assert_int_equal(build_id_parse(&id, lengthy, &err), ERR_USAGE);
	lengthy[2 * BUILD_ID_MAX] = 0;
	assert_int_equal(build_id_parse(&id, lengthy, &err), 0);
	assert_string_equal(build_id_hex(&id, hex), lengthy);
	assert_int_equal(build_id_set(&same, BUILD_ID_HTLHASH, id.bytes, 20, &err), ERR_DATA);
	assert_int_equal(build_id_set(&same, BUILD_ID_GNU, id.bytes, 64, &err), 0);
	assert_true(build_id_equal(&id, &same));
	same.bytes[63] ^= 1;
	assert_false(build_id_equal(&id, &same));
}

static void test_intern(void **state _unused_)
{
	struct intern in = INTERN_INIT(10000, 1 << 20);
	char key[16];
	size_t len;
	bool fresh;

	assert_int_equal(intern_find(&in, "x", 1), INTERN_FULL);
	assert_int_equal(intern_add(&in, "", 0, &fresh), 0);
	assert_true(fresh);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 1; i < 10000; i++) {
			int n = snprintf(key, sizeof(key), "%u", i);

			assert_int_equal(intern_add(&in, key, (size_t)n, &fresh), i);
			assert_int_equal(fresh, round == 0);
		}
	}
	assert_int_equal(intern_add(&in, "one more", 8, NULL), INTERN_FULL);
	assert_memory_equal(intern_get(&in, 1234, &len), "1234", 4);
	assert_int_equal(len, 4);
	assert_int_equal(intern_find(&in, "77", 2), 77);
	intern_reset(&in);
	assert_int_equal(intern_find(&in, "77", 2), INTERN_FULL);
	assert_int_equal(intern_add(&in, "77", 2, NULL), 0);
	intern_done(&in);
}

/* A mapped file that gets shorter reads as zeros, and says so; a small one is a copy. */
static void test_file_view(void **state _unused_)
{
	static uint8_t block[65536];
	char path[] = "/tmp/rawstack-view-XXXXXX";
	int fd = mkstemp(path);
	struct file_view v, small;
	struct err err;

	assert_true(fd >= 0);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 64; i++)
		assert_int_equal(write(fd, block, sizeof(block)), (ssize_t)sizeof(block));
	assert_int_equal(file_view_open(&v, path, 1 << 20, &err), ERR_LIMIT);
	assert_int_equal(file_view_open(&v, path, 1 << 30, &err), 0);
	assert_int_equal(v.len, 64 * sizeof(block));
	for (size_t i = 0; i < v.len; i += 512) {
		assert_int_equal(v.p[i], 'x');
		file_view_pass(&v, 65536); /* pages are given back now and then */
	}
	assert_int_equal(v.p[77], 'x');
	assert_int_equal(file_view_check(&v, &err), 0);
	file_view_release(&v);
	assert_int_equal(ftruncate(fd, 100000), 0);
	assert_int_equal(v.p[99999], 'x');
	assert_int_equal(file_view_check(&v, &err), 0);
	assert_int_equal(v.p[v.len - 1], 0);
	assert_int_equal(v.p[2000000], 0);
	assert_int_equal(file_view_check(&v, &err), ERR_IO);
	file_view_done(&v);

	assert_int_equal(file_view_open(&small, path, 1 << 30, &err), 0);
	assert_int_equal(small.len, 100000);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(small.p[99999], 'x');
	assert_int_equal(file_view_check(&small, &err), 0);
	file_view_done(&small);
	assert_int_equal(file_view_open(&small, path, 1 << 30, &err), 0);
	assert_int_equal(small.len, 0);
	file_view_done(&small);
	assert_int_equal(file_view_open(&small, "/tmp", 1 << 30, &err), ERR_UNSUPPORTED);
	unlink(path);
	close(fd);
}

/* Many at a time is one after the other, whatever repeats, within a turn and over several. */
static void test_intern_many(void **state _unused_)
{
	struct intern one = INTERN_INIT(3000, 1 << 20), many = INTERN_INIT(3000, 1 << 20);
	static char text[5000][24];
	static struct intern_key keys[5000];
	static uint32_t ids[5000];
	uint32_t seed = 1;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		seed = seed * 1664525u + 1013904223u;
		keys[i].p = text[i];
		keys[i].len =
			(size_t)snprintf(text[i], sizeof(text[i]), "%.*s%u", (int)(seed >> 28),
					 "----------------", (seed >> 8) % 1000);
	}
	keys[77].len = keys[78].len = 0;
	for (size_t at = 0, n = 0; at < ARRAY_LEN(keys); at += n) {
		n = 1 + at % 67;
		if (n > ARRAY_LEN(keys) - at)
			n = ARRAY_LEN(keys) - at;
		intern_add_many(&many, keys + at, n, ids + at);
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		assert_int_equal(ids[i], intern_add(&one, keys[i].p, keys[i].len, NULL));
	assert_int_equal(many.count, 3000); /* and what did not fit had no id */
	assert_int_equal(ids[ARRAY_LEN(ids) - 1], INTERN_FULL);
	intern_done(&one);
	intern_done(&many);
}

static void test_crc32c(void **state _unused_)
{
	uint8_t zeros[32] = {0};

	/* RFC 3720 appendix B.4 */
	assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void assert_mode(const char *path, mode_t want)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, want);
}

static void test_io(void **state _unused_)
{
	const struct io *io = io_system();
	_cleanup_(freep) uint8_t *p = NULL;
	_cleanup_(closep) int dir = open(".", O_RDONLY | O_DIRECTORY);
	struct err err;
	mode_t mask;
	size_t len;

	unlink("file");
	assert_int_equal(io_replace_file(io, dir, "file", "first", 5, &err), 0);
	assert_int_equal(io_replace_file(io, dir, "file", "second", 6, &err), 0);
	assert_mode("file", 0600);
	assert_int_equal(io_read_file("file", 6, &p, &len, &err), 0);
	assert_int_equal(len, 6);
	assert_string_equal((char *)p, "second");
	freep(&p);
	p = NULL;
	assert_int_equal(io_read_file("file", 5, &p, &len, &err), ERR_LIMIT);
	mask = umask(0077);
	assert_int_equal(io_write_file("file", "for others", 10, 0644, &err), 0);
	umask(mask);
	assert_mode("file", 0644);
	assert_int_equal(io_read_file("/dev/null", 5, &p, &len, &err), ERR_UNSUPPORTED);
	assert_int_equal(io_read_file("absent", 5, &p, &len, &err), ERR_NOT_FOUND);
	assert_int_equal(io_read_file("/proc/self/stat", 1 << 20, &p, &len, &err), 0);
	assert_true(len > 0);
}

static void add_one(void *ctx)
{
	++*(int *)ctx;
}

static void test_helper(void **state _unused_)
{
	_cleanup_(helper_freep) struct helper *h = NULL;
	int count = 0;

	assert_int_equal(helper_new(&h, NULL), 0);
	helper_wait(h);
	for (int i = 1; i <= 1000; i++) {
		helper_start(h, add_one, &count);
		helper_wait(h);
		assert_int_equal(count, i);
	}
	helper_start(h, add_one, &count);
	helper_start(h, add_one, &count); /* after the one before */
	helper_wait(h);
	assert_int_equal(count, 1002);
	helper_start(NULL, add_one, &count);
	assert_int_equal(count, 1003);
	helper_wait(NULL);
	helper_start(h, add_one, &count); /* done before the thread ends */
	helper_free(TAKE_PTR(h));
	assert_int_equal(count, 1004);
}

/* What is wrong with segments is said; those that are right convert, and come through a spool. */
static void test_file_segments(void **state _unused_)
{
	static const struct {
		size_t count;
		struct file_segment rows[LIMIT_FILE_SEGMENTS + 1];
		const char *wrong; /* NULL: nothing */
	} cases[] = {
		{0, {{0}}, NULL},
		{1, {{0x1000, 0x401000, 0x800}}, NULL},
		{2, {{0, UINT64_MAX - 1, 1}, {1, 0, UINT64_MAX - 1}}, NULL},
		{8,
		 {{0, 0, 1},
		  {1, 1, 1},
		  {2, 2, 1},
		  {3, 3, 1},
		  {4, 4, 1},
		  {5, 5, 1},
		  {6, 6, 1},
		  {7, 7, 1}},
		 NULL},
		{9, {{0, 0, 1}}, "9 segments, at most 8"},
		{1, {{0x1000, 0x401000, 0}}, "segment 0 is empty"},
		{1, {{UINT64_MAX, 0, 1}}, "segment 0 does not end below 2^64"},
		{2, {{0, 0, 1}, {1, UINT64_MAX, 1}}, "segment 1 does not end below 2^64"},
		{2, {{1, 0, 1}, {0, 1, 1}}, "segment 1 begins before the one in front of it"},
		{2, {{0, 0x1000, 2}, {1, 0x2000, 1}}, "segment 1 overlaps another one"},
		{3,
		 {{0, 0x1000, 1}, {1, 0x2000, 1}, {2, 0xfff, 2}},
		 "segment 2 overlaps another one"},
	};
	const struct file_segment *s = cases[1].rows;
	_cleanup_(buf_done) struct buf packed = BUF_INIT(4096);
	struct file_segments got;
	uint64_t vaddr = 0;
	struct bytes in;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const bool is_right = !cases[i].wrong;

		assert_int_equal(file_segments_check(cases[i].rows, cases[i].count, &err),
				 is_right ? 0 : ERR_DATA);
		if (!is_right)
			assert_string_equal(err.message, cases[i].wrong);
		buf_reset(&packed);
		file_segments_put(&packed, cases[i].rows, cases[i].count);
		assert_true(cases[i].count > 8 || packed.len <= FILE_SEGMENTS_PACKED_MAX);
		in = bytes_of(packed.p, packed.len);
		assert_int_equal(file_segments_get(&in, &got), is_right ? 0 : -1);
		assert_int_equal(got.count, is_right ? cases[i].count : 0);
		assert_memory_equal(got.rows, cases[i].rows, got.count * sizeof(*got.rows));
		/* One that cannot be is passed over, so that what is behind it can be read. */
		assert_int_equal(in.failed, cases[i].count > 8);
		for (size_t len = 0; len < packed.len; len++) {
			in = bytes_of(packed.p, len);
			assert_int_equal(file_segments_get(&in, &got), -1);
			assert_true(in.failed && !got.count);
		}
	}
	assert_int_equal(file_segments_vaddr(s, 1, 0xfff, &vaddr), 0);
	assert_int_equal(file_segments_vaddr(s, 1, 0x1800, &vaddr), 0);
	assert_int_equal(file_segments_vaddr(s, 0, 0x1000, &vaddr), 0);
	assert_int_equal(file_segments_vaddr(s, 1, 0x17ff, &vaddr), 1);
	assert_int_equal(vaddr, 0x4017ff);
	assert_int_not_equal(file_segments_hash(s, 1, 0), file_segments_hash(s, 1, 1));
	assert_int_not_equal(file_segments_hash(s, 1, 0), file_segments_hash(cases[2].rows, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_number_real),
		cmocka_unit_test(test_number_next),
		cmocka_unit_test(test_leb),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_buf_text),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_intern),
		cmocka_unit_test(test_intern_many),
		cmocka_unit_test(test_file_view),
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_io),
		cmocka_unit_test(test_helper),
		cmocka_unit_test(test_file_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
