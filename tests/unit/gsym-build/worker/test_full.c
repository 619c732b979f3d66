/* SPDX-License-Identifier: Apache-2.0 */
/* What is full says by what: a limit, or memory. The program is linked with realloc() wrapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "buf.h"
#include "intern.h"
#include "limits.h"
#include "line_table.h"
#include "profile.h"
#include "range_list.h"
#include "rsym_writer.h"

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

static bool has_memory = true;

void *__wrap_realloc(void *p, size_t size)
{
	return has_memory ? __real_realloc(p, size) : NULL;
}

static int with_memory(void **state _unused_)
{
	has_memory = true;
	return 0;
}

static void assert_memory(int rc, const struct err *err, const char *message)
{
	assert_int_equal(rc, ERR_MEMORY);
	assert_int_equal(err->code, ERR_MEMORY);
	assert_string_equal(err->message, message);
}

static void test_buf(void **state _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(100);
	struct err err;

	assert_null(buf_extend(&b, 101));
	assert_true(b.failed);
	assert_int_equal(err_full(&err, b.no_memory, "more than %d", 100), ERR_LIMIT);
	assert_string_equal(err.message, "more than 100");
	buf_reset(&b);
	has_memory = false;
	assert_null(buf_extend(&b, 100));
	assert_true(b.failed);
	assert_memory(err_full(&err, b.no_memory, "more than %d", 100), &err, "out of memory");
	buf_reset(&b);
	assert_false(b.no_memory);
}

static void test_intern(void **state _unused_)
{
	_cleanup_(intern_done) struct intern few = INTERN_INIT(1, 100);
	_cleanup_(intern_done) struct intern none = INTERN_INIT(100, 100);

	assert_int_equal(intern_add(&few, "a", 1, NULL), 0);
	assert_int_equal(intern_add(&few, "b", 1, NULL), INTERN_FULL);
	assert_false(few.no_memory);
	has_memory = false;
	assert_int_equal(intern_add(&none, "a", 1, NULL), INTERN_FULL);
	assert_true(none.no_memory);
}

static void test_ranges(void **state _unused_)
{
	struct range_list list = {0}, long_list = {.count = LIMIT_UNIT_SPANS};
	struct err err;

	assert_false(range_list_add(&long_list, 1, 2));
	assert_int_equal(range_list_full(&long_list, &err), ERR_LIMIT);
	assert_non_null(strstr(err.message, "address ranges"));
	has_memory = false;
	assert_false(range_list_add(&list, 1, 2));
	assert_memory(range_list_full(&list, &err), &err, "out of memory");
}

/* A list that a file gives, where memory runs out on the way. */
static void test_range_list(void **state _unused_)
{
	static const uint64_t pairs[] = {16, 32, 0, 0};
	const struct range_source source = {
		.ranges = (const uint8_t *)pairs,
		.ranges_len = sizeof(pairs),
		.version = 4,
		.address_size = 8,
	};
	struct range_list list = {0};
	struct err err;

	has_memory = false;
	assert_memory(range_list_read(&source, 0, &list, &err), &err, "out of memory");
	has_memory = true;
	assert_int_equal(range_list_read(&source, 0, &list, &err), 0);
	assert_int_equal(list.count, 1);
	free(list.list);
}

static void test_profile(void **state _unused_)
{
	static const struct profile_label labels[LIMIT_PROFILE_LABELS + 1];
	struct profile p;
	struct err err;

	profile_init(&p);
	assert_int_equal(profile_add_labels(&p, labels, ARRAY_LEN(labels)), PROFILE_NONE);
	assert_int_equal(profile_full(&p, &err, "file %d", 1), ERR_LIMIT);
	assert_string_equal(err.message, "file 1: more than the limits of a profile allow");
	/* Nothing of what follows changes the reason. */
	has_memory = false;
	assert_int_equal(profile_add_labels(&p, labels, 1), PROFILE_NONE);
	assert_int_equal(profile_full(&p, &err, "file %d", 1), ERR_LIMIT);
	has_memory = true;
	profile_done(&p);

	profile_init(&p);
	has_memory = false;
	assert_int_equal(profile_add_labels(&p, labels, 1), PROFILE_NONE);
	assert_true(p.failed);
	assert_memory(profile_full(&p, &err, "file %d", 1), &err, "file 1: out of memory");
	profile_done(&p);
}

static void test_table(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_TABLE_LEN);
	const struct rsym_writer_info info = {.text_base = 0};
	struct err err;
	struct rsym_writer *w = rsym_writer_new(&err);

	assert_non_null(w);
	has_memory = false;
	(void)rsym_writer_file(w, "/usr", 4, "a.c", 3);
	has_memory = true;
	assert_memory(rsym_writer_finish(w, &info, NULL, &out, &err), &err, "out of memory");
	rsym_writer_free(w);
}

/* A table of DWARF 4 with one directory, one file and one row. When memory is out it does not lack
 * a file in silence. */
static void test_line_table(void **state _unused_)
{
	static const uint8_t bytes[] = {
		/* the header, with one operand count; directories, files; the program */
		41, 0, 0,   0,   4,   0, 20, 0,   0,   0,   1, 1, 1, 0xfb, 14,
		2,  0, 's', 'u', 'b', 0, 0,  'a', '.', 'c', 0, 1, 0, 0,    0,
		0,  9, 2,   0,   16,  0, 0,  0,   0,   0,   0, 1, 0, 1,    1,
	};
	const struct line_sections sections = {.line = bytes, .line_len = sizeof(bytes)};
	struct debug_text text;
	struct line_table t = {0};
	struct line_rows rows = {0};
	struct err err;

	debug_text_init(&text);
	assert_int_equal(line_table_read(&t, &sections, 0, &rows, &err), 0);
	assert_int_equal(t.file_count, 1);
	has_memory = false;
	assert_int_equal(line_table_file(&t, 1, "/src", &text), DEBUG_NONE);
	assert_true(t.no_memory);
	has_memory = true;
	line_table_done(&t);
	free(rows.rows);
	t = (struct line_table){0};
	rows = (struct line_rows){0};
	has_memory = false;
	assert_memory(line_table_read(&t, &sections, 0, &rows, &err), &err, "out of memory");
	has_memory = true;
	line_table_done(&t);
	debug_text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_buf, with_memory),
		cmocka_unit_test_teardown(test_intern, with_memory),
		cmocka_unit_test_teardown(test_ranges, with_memory),
		cmocka_unit_test_teardown(test_range_list, with_memory),
		cmocka_unit_test_teardown(test_profile, with_memory),
		cmocka_unit_test_teardown(test_table, with_memory),
		cmocka_unit_test_teardown(test_line_table, with_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
