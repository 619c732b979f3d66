/* SPDX-License-Identifier: Apache-2.0 */
/* The profile model, and pprof in and out: what was written reads back equal; what is damaged is
 * refused in one line, whatever it is. */
#include "gzip.h"
#include "pprof_read.h"
#include "pprof_write.h"
#include "profile.h"
#include "utf8.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DONE_PROFILE _cleanup_(profile_done) struct profile
#define DONE_BUF     _cleanup_(buf_done) struct buf

static uint32_t add_function(struct profile *p, const char *name, const char *file)
{
	return profile_add_function(p,
				    &(struct profile_function){.name = profile_cstr(p, name),
							       .system_name = profile_cstr(p, name),
							       .file = profile_cstr(p, file),
							       .start_line = 7});
}

/* Two stacks over a resolved location with an inlined call, a kernel one, and one nobody named. */
static void fill(struct profile *p)
{
	struct profile_line lines[2];
	struct profile_label labels[2] = {0};
	uint32_t app, kernel, lib, l[4], stack, set;

	profile_init(p);
	profile_value_type(p, "samples", "count");
	profile_value_type(p, "cpu", "nanoseconds");
	p->default_type = profile_cstr(p, "cpu");
	p->period_type = p->value_types[1];
	p->period = 10101010;
	p->time_ns = 1700000000000000000;
	p->duration_ns = 5000000000;
	profile_comment(p, "host %s", "unit");
	app = profile_add_module(p, &(struct profile_module){.path = profile_cstr(p, "/bin/app"),
							     .build_id = profile_cstr(p, "abcd")});
	kernel = profile_add_module(
		p, &(struct profile_module){.path = profile_cstr(p, PROFILE_KERNEL_TEXT)});
	lib = profile_add_module(
		p, &(struct profile_module){.path = profile_cstr(p, "/lib/li\xff.so")});
	lines[0] = (struct profile_line){add_function(p, "inlined", "a.h"), 11};
	lines[1] = (struct profile_line){add_function(p, "outer", "a.c"), 22};
	profile_module_mark(p, app, PROFILE_HAS_FUNCTIONS | PROFILE_HAS_INLINES);
	l[0] = profile_add_location(
		p, &(struct profile_location){
			   .address = 0x1234, .module = app, .lines = lines, .line_count = 2});
	lines[0] = (struct profile_line){add_function(p, "do_syscall_64", ""), 0};
	l[1] = profile_add_location(
		p, &(struct profile_location){
			   .address = 0x99, .module = kernel, .lines = lines, .line_count = 1});
	l[2] = profile_add_location(p,
				    &(struct profile_location){.address = 0x5000, .module = lib});
	l[3] = profile_add_location(
		p, &(struct profile_location){.address = 0xdead, .module = PROFILE_NONE});
	labels[0].key = profile_cstr(p, "thread");
	labels[0].text = profile_cstr(p, "worker");
	labels[1].key = profile_cstr(p, "pid");
	labels[1].num = -42;
	set = profile_add_labels(p, labels, 2);
	stack = profile_add_stack(p, (uint32_t[]){l[1], l[0], l[2]}, 3);
	profile_add_sample(p, stack, set, (int64_t[]){3, 30});
	profile_add_sample(p, profile_add_stack(p, &l[3], 1), profile_add_labels(p, NULL, 0),
			   (int64_t[]){1, 10});
	profile_add_sample(p, stack, set, (int64_t[]){2, 20});
	assert_false(p->failed);
}

static void test_model(void **state _unused_)
{
	DONE_PROFILE p;
	struct profile_location l;
	struct profile_text t;

	fill(&p);
	assert_int_equal(p.samples.count, 2);
	assert_int_equal(profile_values(&p, 0)[0], 5); /* equal samples add up */
	assert_int_equal(profile_values(&p, 0)[1], 50);
	l = profile_location(&p, 0);
	assert_int_equal(l.line_count, 2);
	t = profile_text(&p, profile_function(&p, l.lines[0].function).name);
	assert_int_equal(t.len, 7);
	assert_memory_equal(t.p, "inlined", 7);
	assert_int_equal(p.modules[0].limit, 0x2000); /* widened to the page of 0x1234 */
	assert_true(profile_is_kernel(&p, 1));
	assert_false(profile_is_kernel(&p, 0));
	assert_false(profile_is_kernel(&p, PROFILE_NONE));
	assert_int_equal(profile_value_index(&p, "cpu"), 1);
	assert_int_equal(profile_value_index(&p, "none"), PROFILE_NONE);
	profile_add_sample(&p, 1, 1, (int64_t[]){INT64_MAX, INT64_MAX});
	assert_int_equal(profile_values(&p, 1)[0], INT64_MAX); /* no overflow */
}

static void test_placeholder(void **state _unused_)
{
	static const struct {
		const char *name;
		bool placeholder;
	} rows[] = {
		{"", true},         {"[no user stack]", true}, {"/lib/x.so+0x1f", true},
		{"+0x", false},     {"main", false},           {"operator+", false},
		{"x+0x1g", false},  {"f[abi:cxx11]x", false},  {"f[abi:cxx11]", false},
		{"/x+0xAB", false},
	};
	DONE_PROFILE p;
	struct profile_text t;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		t = (struct profile_text){rows[i].name, strlen(rows[i].name)};
		if (profile_is_placeholder(t) != rows[i].placeholder)
			fail_msg("%s", rows[i].name);
	}
	fill(&p);
	t = profile_text(&p, profile_placeholder(&p, 0, 0x1f));
	assert_int_equal(t.len, strlen("/bin/app+0x1f"));
	assert_memory_equal(t.p, "/bin/app+0x1f", t.len);
	t = profile_text(&p, profile_placeholder(&p, PROFILE_NONE, 0x1f));
	assert_memory_equal(t.p, "[0x1f]", t.len);
}

static void write_of(const struct profile *p, struct buf *out)
{
	struct err err = {0};

	if (pprof_write(p, out, &err))
		fail_msg("%s", err.message);
}

static void test_inverse(void **state _unused_)
{
	DONE_BUF once = BUF_INIT(MIB), twice = BUF_INIT(MIB);
	DONE_PROFILE p, q;
	struct profile_text t;
	struct err err = {0};
	size_t count;

	fill(&p);
	write_of(&p, &once);
	write_of(&p, &twice);
	assert_int_equal(once.len, twice.len); /* the same bytes for the same profile */
	assert_memory_equal(once.p, twice.p, once.len);

	profile_init(&q);
	if (pprof_read(once.p, once.len, &q, &err))
		fail_msg("%s", err.message);
	assert_int_equal(q.value_count, 2);
	assert_int_equal(q.time_ns, p.time_ns);
	assert_int_equal(q.duration_ns, p.duration_ns);
	assert_int_equal(q.period, p.period);
	assert_int_equal(q.comment_count, 1);
	assert_int_equal(q.samples.count, 2);
	assert_int_equal(profile_values(&q, 0)[1], 50);
	assert_int_equal(profile_location(&q, 2).line_count, 0);
	assert_int_equal(profile_location(&q, 3).module, PROFILE_NONE);
	assert_int_equal(profile_labels(&q, profile_sample(&q, 0).labels, &count)[1].num, -42);
	assert_int_equal(count, 2);
	t = profile_text(&q, q.modules[2].path);
	assert_int_equal(t.len, strlen("/lib/li\xef\xbf\xbd.so")); /* UTF-8 in the file */
	buf_reset(&twice);
	write_of(&q, &twice);
	buf_reset(&once); /* \xff is written as U+FFFD: from then on it is stable */
	profile_done(&p);
	profile_init(&p);
	assert_int_equal(pprof_read(twice.p, twice.len, &p, &err), 0);
	write_of(&p, &once);
	assert_int_equal(once.len, twice.len);
	assert_memory_equal(once.p, twice.p, once.len);
}

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* More of everything than the reader adds at a time: 600 functions, inlined calls as deep as is
 * allowed, empty and long stacks, samples that repeat. */
static void fill_many(struct profile *p)
{
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];
	uint32_t stack[3000], seed = 7;

	fill(p);
	for (uint32_t i = 0; i < 600; i++) {
		struct profile_location l = {.address = i * 16, .module = i % 3, .lines = lines};
		char name[32];

		snprintf(name, sizeof(name), "function_%u", i);
		lines[i % ARRAY_LEN(lines)] = (struct profile_line){
			profile_add_function(
				p, &(struct profile_function){.name = profile_cstr(p, name)}),
			i};
		l.line_count = i % 97 ? i % 3 : i < ARRAY_LEN(lines) ? i : ARRAY_LEN(lines);
		profile_add_location(p, &l);
	}
	for (uint32_t i = 0; i < 400; i++) {
		size_t depth = i % 50 ? draw(&seed) % 20 : ARRAY_LEN(stack) * (i % 3) / 2;
		struct profile_label label = {.key = 1, .num = draw(&seed) % 3};

		for (size_t k = 0; k < depth; k++)
			stack[k] = draw(&seed) % (i % 2 ? 600 : 2);
		profile_add_sample(p, profile_add_stack(p, stack, depth),
				   profile_add_labels(p, &label, i % 2),
				   (int64_t[]){1 + i, -(int64_t)i});
	}
	assert_false(p->failed);
}

static void test_many(void **state _unused_)
{
	DONE_BUF once = BUF_INIT(16 * MIB), twice = BUF_INIT(16 * MIB);
	DONE_PROFILE p, q;
	struct err err = {0};

	fill_many(&p);
	write_of(&p, &once);
	profile_init(&q);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(pprof_read(once.p, once.len, &q, &err), 0);
		assert_int_equal(q.samples.count, p.samples.count);
		assert_int_equal(q.locations.count, p.locations.count);
		assert_int_equal(q.duration_ns, i * p.duration_ns);
		for (uint32_t k = 0; k < p.samples.count; k++) {
			size_t a, b;

			profile_stack(&p, profile_sample(&p, k).stack, &a);
			profile_stack(&q, profile_sample(&q, k).stack, &b);
			assert_int_equal(a, b);
			assert_int_equal(profile_values(&q, k)[0], i * profile_values(&p, k)[0]);
			assert_int_equal(profile_values(&q, k)[1], i * profile_values(&p, k)[1]);
		}
		if (i == 1)
			write_of(&q, &twice);
	}
	profile_done(&q);
	profile_init(&q);
	assert_int_equal(pprof_read(twice.p, twice.len, &q, &err), 0);
	buf_reset(&once);
	write_of(&q, &once);
	assert_int_equal(once.len, twice.len);
	assert_memory_equal(once.p, twice.p, once.len);
}

static bool keep_first(void *ctx, const struct profile *from _unused_, uint32_t sample)
{
	++*(int *)ctx;
	return sample == 0;
}

static void test_merge(void **state _unused_)
{
	DONE_PROFILE a, b, into;
	struct err err = {0};
	int seen = 0;

	fill(&a);
	profile_init(&into);
	assert_int_equal(profile_merge(&into, &a, NULL, NULL, &err), 0);
	assert_int_equal(profile_merge(&into, &a, keep_first, &seen, &err), 0);
	assert_int_equal(seen, 2);
	assert_int_equal(into.samples.count, 2);
	assert_int_equal(profile_values(&into, 0)[0], 10);
	assert_int_equal(profile_values(&into, 1)[0], 1);
	assert_int_equal(into.module_keys.count, 3);
	assert_int_equal(into.duration_ns, 2 * a.duration_ns);
	assert_int_equal(into.locations.count, 4);

	profile_init(&b);
	profile_value_type(&b, "space", "bytes");
	profile_add_sample(&b, profile_add_stack(&b, NULL, 0), profile_add_labels(&b, NULL, 0),
			   (int64_t[]){1});
	assert_int_equal(profile_merge(&into, &b, NULL, NULL, &err), ERR_MISMATCH);
}

static int read_bytes(const void *p, size_t len)
{
	DONE_PROFILE profile;
	struct err err = {0};
	int rc;

	profile_init(&profile);
	rc = pprof_read(p, len, &profile, &err);
	assert_int_equal(rc, err.code);
	if (rc)
		assert_true(err.message[0]);
	return rc;
}

static void plain_of(struct buf *out)
{
	DONE_BUF file = BUF_INIT(MIB);
	DONE_PROFILE p;
	struct err err;

	fill(&p);
	write_of(&p, &file);
	assert_int_equal(gzip_inflate(file.p, file.len, out, &err), 0);
}

/* Exact-size copies, so that a sanitizer sees the first byte read too far. */
static void test_truncated(void **state _unused_)
{
	DONE_BUF plain = BUF_INIT(MIB), file = BUF_INIT(MIB);
	DONE_PROFILE p;

	plain_of(&plain);
	for (size_t len = 0; len < plain.len; len++) {
		_cleanup_(freep) uint8_t *copy = malloc(len + !len);

		memcpy(copy, plain.p, len);
		(void)read_bytes(copy, len);
	}
	fill(&p);
	write_of(&p, &file);
	for (size_t len = 0; len < file.len; len++) {
		_cleanup_(freep) uint8_t *copy = malloc(len + !len);

		memcpy(copy, file.p, len);
		assert_int_not_equal(read_bytes(copy, len), 0);
	}
	assert_int_equal(read_bytes(file.p, file.len), 0);
}

static void test_bit_flips(void **state _unused_)
{
	DONE_BUF plain = BUF_INIT(MIB);
	unsigned int refused = 0;

	plain_of(&plain);
	for (size_t bit = 0; bit < plain.len * 8; bit++) {
		plain.p[bit / 8] ^= 1 << bit % 8;
		refused += read_bytes(plain.p, plain.len) != 0;
		plain.p[bit / 8] ^= 1 << bit % 8;
	}
	assert_true(refused > plain.len);
}

#define TYPE   "\x0a\x02\x08\x01"  /* sample_type { type: 1 } */
#define TABLE  "\x32\x00\x32\x01x" /* string_table: "", "x" */
#define FN1    "\x2a\x04\x08\x01\x10\x01"
#define VARINT "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"

static void test_hostile(void **state _unused_)
{
	static const struct {
		const char *what, *bytes;
		size_t len;
		int code;
	} rows[] = {
#define ROW(what, bytes, code) {what, bytes, sizeof(bytes) - 1, code}
		ROW("the least", TYPE TABLE, 0),
		ROW("nothing", "", ERR_DATA),
		ROW("text", "this is no profile\n", ERR_DATA),
		ROW("no types", TABLE, ERR_DATA),
		ROW("first string not empty", TYPE "\x32\x01x", ERR_DATA),
		ROW("type beyond the table", "\x0a\x02\x08\x02" TABLE, ERR_DATA),
		ROW("unknown field",
		    TYPE TABLE "\xfa\x3f\x03"
			       "abc",
		    0),
		ROW("unknown varint", TYPE TABLE "\xf8\x3f\x07", 0),
		ROW("field number 0", TYPE TABLE "\x00\x00", ERR_DATA),
		ROW("group", TYPE TABLE "\xfb\x3f", ERR_DATA),
		ROW("length of 2^64-1", TYPE TABLE "\x32" VARINT, ERR_DATA),
		ROW("time of -1", TYPE TABLE "\x48" VARINT, 0),
		ROW("function without an id", TYPE TABLE "\x2a\x02\x10\x01", ERR_DATA),
		ROW("two functions with one id", TYPE TABLE FN1 FN1, ERR_DATA),
		ROW("function, huge name", TYPE TABLE "\x2a\x0d\x08\x01\x10" VARINT, ERR_DATA),
		ROW("location, no such function", TYPE TABLE "\x22\x06\x08\x01\x22\x02\x08\x01",
		    ERR_DATA),
		ROW("location before its function",
		    TYPE TABLE "\x22\x06\x08\x01\x22\x02\x08\x01" FN1, 0),
		ROW("location, no such mapping", TYPE TABLE "\x22\x04\x08\x01\x10\x09", ERR_DATA),
		ROW("huge ids",
		    TYPE TABLE "\x22\x0b\x08" VARINT "\x12\x0f\x0a\x0a" VARINT "\x12\x01\x05", 0),
		ROW("sample, no such location", TYPE TABLE "\x12\x06\x0a\x01\x01\x12\x01\x05",
		    ERR_DATA),
		ROW("sample without values", TYPE TABLE "\x12\x00", ERR_DATA),
		ROW("sample with two values", TYPE TABLE "\x12\x04\x12\x02\x05\x06", ERR_DATA),
		ROW("unpacked value", TYPE TABLE "\x12\x02\x10\x05", 0),
		ROW("label beyond the table", TYPE TABLE "\x12\x07\x12\x01\x05\x1a\x02\x08\x07",
		    ERR_DATA),
		ROW("comment beyond the table", TYPE TABLE "\x68\x07", ERR_DATA),
#undef ROW
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (read_bytes(rows[i].bytes, rows[i].len) != rows[i].code)
			fail_msg("%s", rows[i].what);
}

static void test_gzip(void **state _unused_)
{
	static const uint8_t zeros[65536];
	DONE_BUF bomb = BUF_INIT(64 * MIB), out = BUF_INIT(MIB), exact = BUF_INIT(64 * MIB);
	_cleanup_(gzip_writer_closep) struct gzip_writer *w = NULL;
	struct err err = {0};

	assert_int_equal(gzip_writer_open(&w, &bomb, &err), 0);
	for (int i = 0; i < 16 * 64; i++)
		assert_int_equal(gzip_writer_add(w, zeros, sizeof(zeros), &err), 0);
	assert_int_equal(gzip_writer_finish(w, &err), 0);
	assert_int_equal(gzip_inflate(bomb.p, bomb.len, &out, &err), ERR_LIMIT);
	assert_int_equal(out.len, out.max);
	assert_int_equal(gzip_inflate(bomb.p, bomb.len, &exact, &err), 0);
	assert_int_equal(exact.len, 64 * MIB);
	assert_int_equal(read_bytes(bomb.p, bomb.len), ERR_LIMIT); /* 64 MiB in 64 KiB */
	assert_int_equal(read_bytes("\x1f\x8b", 2), ERR_DATA);
	assert_int_equal(read_bytes("\x1f\x8b\x08 no gzip at all....", 20), ERR_DATA);
}

static void test_many_lines(void **state _unused_)
{
	DONE_PROFILE p;
	struct profile_line *lines = calloc(LIMIT_INLINE_DEPTH + 2, sizeof(*lines));
	struct profile_location l = {.lines = lines, .line_count = LIMIT_INLINE_DEPTH + 1};

	fill(&p);
	assert_int_not_equal(profile_add_location(&p, &l), PROFILE_NONE);
	l.line_count++;
	assert_int_equal(profile_add_location(&p, &l), PROFILE_NONE);
	assert_true(p.failed);
	assert_int_equal(profile_cstr(&p, "anything"), PROFILE_NONE); /* failure sticks */
	free(lines);
}

static void test_utf8(void **state _unused_)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"plain", "plain"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"a\xff"
		 "b",
		 "a\xef\xbf\xbd"
		 "b"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}, /* cut */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		DONE_BUF out = BUF_INIT(256);

		assert_true(utf8_append(&out, rows[i].in, strlen(rows[i].in)));
		assert_string_equal(buf_cstr(&out), rows[i].out);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),     cmocka_unit_test(test_placeholder),
		cmocka_unit_test(test_inverse),   cmocka_unit_test(test_many),
		cmocka_unit_test(test_merge),     cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_bit_flips), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_gzip),      cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
