/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of a kernel, from a tree laid out as /proc/modules and /sys/module are: the machines the
 * tests run on may have none. */
#include "kernel_modules.h"
#include "made_files.h"

static void test_modules(void **state _unused_)
{
	static const uint8_t note[] = {4, 0, 0,   0,   4,   0, 0,    0,    3,    0,
				       0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 1};
	struct kernel_modules m = {.count = 0};
	struct kernel_module_place place;

	made_file_put_text("proc_modules", "ext4 40960 1 - Live 0xffffffffc0200000\n"
					   "jbd2 8192 2 ext4, Live 0xffffffffc0100000 (E)\n"
					   "../evil 8192 0 - Live 0xffffffffc0300000\n"
					   "hidden 8192 0 - Live 0x0000000000000000\n"
					   "torn 81\n");
	made_file_put_text("sys/ext4/sections/.text", "0xffffffffc0200000\n");
	made_file_put_text("sys/ext4/sections/.text.unlikely", "0xffffffffc0204000\n");
	made_file_put_text("sys/ext4/sections/.rodata", "0xffffffffc0206000\n");
	made_file_put("sys/ext4/notes/.note.gnu.build-id", note, sizeof(note));
	made_file_put_text("sys/jbd2/sections/.text", "0xffffffffc0100000\n");
	kernel_modules_read(&m, "proc_modules", "sys");
	assert_int_equal(m.count, 2);
	assert_true(kernel_modules_find(&m, 0xffffffffc0200010, &place));
	assert_string_equal(place.module, "ext4");
	assert_string_equal(place.section, ".text");
	assert_int_equal(place.off, 0x10);
	assert_int_equal(place.id.len, 4);
	assert_int_equal(place.id.bytes[0], 0xab);
	assert_true(kernel_modules_find(&m, 0xffffffffc0204001, &place));
	assert_string_equal(place.section, ".text.unlikely");
	assert_int_equal(place.off, 1);
	assert_false(kernel_modules_find(&m, 0xffffffffc0206001, &place)); /* data */
	assert_false(kernel_modules_find(&m, 0xffffffffc020a000, &place)); /* behind its end */
	assert_false(kernel_modules_find(&m, 0xffffffffc0100000, &place)); /* without an id */
	assert_false(kernel_modules_find(&m, 0xffffffffc0000000, &place));
	/* Loaded anew, elsewhere. */
	made_file_put_text("proc_modules", "ext4 40960 1 - Live 0xffffffffc0500000\n");
	made_file_put_text("sys/ext4/sections/.text", "0xffffffffc0500000\n");
	kernel_modules_read(&m, "proc_modules", "sys");
	assert_false(kernel_modules_find(&m, 0xffffffffc0200010, &place));
	assert_true(kernel_modules_find(&m, 0xffffffffc0500010, &place));
	kernel_modules_read(&m, "absent", "sys");
	assert_int_equal(m.count, 0);
	kernel_modules_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
