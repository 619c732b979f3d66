/* SPDX-License-Identifier: Apache-2.0 */
/* The files of loaded modules, from a tree laid out as /proc/modules, /sys/module and /lib/modules
 * are: the machines the tests run on may have none. */
#include "loaded_modules.h"
#include "made_files.h"

static const struct loaded_modules_places places = {"tree/modules", "tree/sys", "tree/lib"};

static void test_files(void **state _unused_)
{
	static const uint8_t note[] = {4, 0, 0,   0,   4,   0, 0,    0,    3,    0,
				       0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 0xef, 1};
	_cleanup_(push_files_done) struct push_files files = {0};
	char hex[BUILD_ID_HEX_MAX];
	struct err err = {0};

	made_file_put_text("tree/modules", "virtio_net 73728 0 - Live 0x0000000000000000\n"
					   "net 4096 1 virtio_net, Live 0x0000000000000000 (OE)\n"
					   "gone 4096 0 - Live 0x0000000000000000\n"
					   "ext4 983040 1 - Live 0xffffffffc0000000\n"
					   "own 4096 0 - Live 0xffffffffc0000000 (OE)\n"
					   "../lib 4096 0 - Live 0xffffffffc0000000\n");
	made_file_put("tree/sys/virtio_net/notes/.note.gnu.build-id", note, sizeof(note));
	made_file_put_text("tree/sys/ext4/notes/.note.gnu.build-id", "cut");
	made_file_put_text("tree/lib/modules.dep",
			   "kernel/net/virtio-net2.ko: kernel/drivers/net/virtio-net.ko\n"
			   "kernel/drivers/net/virtio-net.ko.xz: kernel/net/net.ko\n"
			   "kernel/net/net.ko:\n"
			   "/opt/drivers/own.ko:\n"
			   "kernel/fs/ext4.ko.zst:");
	assert_int_equal(loaded_modules_add(&places, &files, &err), 0);
	assert_int_equal(files.count, 4);
	assert_string_equal(files.list[0].path, "tree/lib/kernel/drivers/net/virtio-net.ko.xz");
	assert_string_equal(build_id_hex(&files.list[0].loaded, hex), "abcdef01");
	assert_string_equal(files.list[1].path, "tree/lib/kernel/net/net.ko");
	assert_int_equal(files.list[1].loaded.kind, BUILD_ID_NONE);
	assert_string_equal(files.list[2].path, "tree/lib/kernel/fs/ext4.ko.zst");
	assert_int_equal(files.list[2].loaded.kind, BUILD_ID_NONE);
	assert_string_equal(files.list[3].path, "/opt/drivers/own.ko");
	assert_false(files.list[3].found);
}

/* No kernel with modules, or none of its files: nothing to push, and no failure. */
static void test_none(void **state _unused_)
{
	const struct loaded_modules_places no_proc = {"nowhere", "tree/sys", "tree/lib"};
	const struct loaded_modules_places no_lib = {"tree/modules", "tree/sys", "nowhere"};
	_cleanup_(push_files_done) struct push_files files = {0};
	struct err err = {0};

	assert_int_equal(loaded_modules_add(&no_proc, &files, &err), 0);
	assert_int_equal(loaded_modules_add(&no_lib, &files, &err), 0);
	assert_int_equal(files.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
