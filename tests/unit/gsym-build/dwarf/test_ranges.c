/* SPDX-License-Identifier: Apache-2.0 */
/* Range lists and line programs byte by byte: each entry kind, and each cut. */
#include "buf.h"
#include "line_table.h"
#include "range_list.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char seen[400];

static int read_list(const struct range_source *s, uint64_t off, bool index)
{
	struct range_list list = {0};
	size_t at = 0;
	int rc = index ? range_list_read_index(s, off, &list, NULL)
		       : range_list_read(s, off, &list, NULL);

	seen[0] = 0;
	for (size_t i = 0; i < list.count; i++)
		at += (size_t)snprintf(seen + at, sizeof(seen) - at, "%llx-%llx ",
				       (unsigned long long)list.list[i].start,
				       (unsigned long long)list.list[i].end);
	free(list.list);
	return rc;
}

static void test_dwarf4(void **state _unused_)
{
	static const uint64_t pairs[] = {0x10, 0x20, 0x30, 0x30, UINT64_MAX, 0x5000,
					 0x1,  0x2,  0,    0,    0x7,        0x8};
	static const uint32_t narrow[] = {0x10, 0x20, UINT32_MAX, 0x5000, 1, 2, 0, 0};
	struct range_source s = {.ranges = (const uint8_t *)pairs,
				 .ranges_len = sizeof(pairs),
				 .version = 4,
				 .address_size = 8,
				 .base = 0x1000};

	assert_int_equal(read_list(&s, 0, false), 0);
	assert_string_equal(seen, "1010-1020 5001-5002 ");
	assert_int_equal(read_list(&s, 16, false), 0); /* from the second pair, an empty one */
	assert_string_equal(seen, "5001-5002 ");
	assert_int_equal(read_list(&s, 80, false), ERR_DATA); /* no end */
	assert_int_equal(read_list(&s, 1 << 20, false), ERR_DATA);
	s.ranges = (const uint8_t *)narrow;
	s.ranges_len = sizeof(narrow);
	s.address_size = 4;
	assert_int_equal(read_list(&s, 0, false), 0);
	assert_string_equal(seen, "1010-1020 5001-5002 ");
	s.ranges = NULL;
	s.ranges_len = 0;
	assert_int_equal(read_list(&s, 0, false), ERR_DATA);
}

static void test_dwarf5(void **state _unused_)
{
	static const uint64_t addresses[] = {0x77, 0x7000, 0x7010, 0x7020};
	static const uint8_t lists[] = {
		8, 0, 0,    0, 0xee, 0xee, 0xee, 0xee, /* offsets of the lists: the first */
		4, 1, 2,                               /* offset_pair, base of the unit */
		1, 0, 4,    3, 4,                      /* base_addressx, offset_pair */
		2, 0, 1,                               /* startx_endx */
		3, 2, 5,                               /* startx_length */
		5, 0, 0x90, 0, 0,    0,    0,    0,    0, 4, 5, 6, /* base_address, offset_pair */
		6, 0, 1,    0, 0,    0,    0,    0,    0, 0, 2, 0, 0, 0, 0, 0, 0, /* start_end */
		7, 0, 3,    0, 0,    0,    0,    0,    0, 8,                      /* start_length */
		0};
	static const char want[] = "1001-1002 7003-7004 7000-7010 7020-7025 9005-9006 100-200 "
				   "300-308 ";
	struct range_source s = {.rnglists = lists,
				 .rnglists_len = sizeof(lists),
				 .addr = (const uint8_t *)addresses,
				 .addr_len = sizeof(addresses),
				 .version = 5,
				 .address_size = 8,
				 .offset_size = 4,
				 .base = 0x1000,
				 .addr_base = 8};

	assert_int_equal(read_list(&s, 8, false), 0);
	assert_string_equal(seen, want);
	assert_int_equal(read_list(&s, 0, true), 0);
	assert_string_equal(seen, want);
	assert_int_equal(read_list(&s, 1, true), ERR_DATA);
	assert_int_equal(read_list(&s, UINT64_MAX, true), ERR_DATA);
	assert_int_equal(read_list(&s, 0, false), ERR_DATA); /* 8 is no entry kind */
	for (size_t len = 8; len < sizeof(lists); len++) {
		s.rnglists_len = len;
		assert_int_equal(read_list(&s, 8, false), ERR_DATA);
	}
	s.rnglists_len = sizeof(lists);
	s.addr_len = 31; /* the last address is cut */
	assert_int_equal(read_list(&s, 8, false), ERR_DATA);
}

/* A version 4 table: one directory, two files, and each kind of opcode. */
static const uint8_t program[] = {
	0,
	0,
	0,
	0,
	4,
	0, /* length (filled in), version */
	34,
	0,
	0,
	0, /* length of the header */
	1,
	1,
	1,
	(uint8_t)-3,
	12,
	13, /* units, line base and range, opcode base */
	0,
	1,
	1,
	1,
	1,
	0,
	0,
	0,
	1,
	0,
	0,
	1, /* operands of standard opcodes */
	'd',
	0,
	0, /* directories */
	'a',
	'.',
	'c',
	0,
	0,
	0,
	0,
	'b',
	0,
	1,
	0,
	0,
	0, /* files */
	0,
	9,
	2,
	0,
	0x10,
	0,
	0,
	0,
	0,
	0,
	0, /* set_address 0x1000 */
	1, /* copy: line 1 */
	3,
	4, /* advance_line 4 */
	4,
	2,               /* set_file 2 */
	13 + 3 + 2 * 12, /* special: line +0, address +2 */
	8,               /* const_add_pc: +20 */
	9,
	0x10,
	0, /* fixed_advance_pc: +16 */
	12,
	7, /* set_isa: skipped */
	0,
	2,
	0x80,
	9,  /* unknown extended: skipped */
	13, /* special: line -3 */
	2,
	0x90,
	0x01, /* advance_pc 144 */
	0,
	1,
	1, /* end_sequence */
};

static void test_lines(void **state _unused_)
{
	static const char want[] = "1000 1:1, 1002 2:5, 1026 2:2, 10b6 2:2 end, ";
	uint8_t bytes[sizeof(program)];
	struct line_sections s = {.line = bytes, .line_len = sizeof(bytes)};
	struct line_rows rows = {0};
	struct line_table t = {0};
	struct debug_text text;
	char got[400];
	size_t at = 0, len;
	struct debug_file f;
	int rc;

	memcpy(bytes, program, sizeof(bytes));
	bytes[0] = sizeof(bytes) - 4;
	debug_text_init(&text);
	assert_int_equal(line_table_read(&t, &s, 0, &rows, NULL), 0);
	for (size_t i = 0; i < rows.count; i++)
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%llx %u:%u%s, ",
				       (unsigned long long)rows.rows[i].vaddr, rows.rows[i].file,
				       rows.rows[i].line, rows.rows[i].end ? " end" : "");
	assert_string_equal(got, want);
	assert_int_equal(line_table_file(&t, 0, "/src", &text), DEBUG_NONE);
	assert_int_equal(line_table_file(&t, 3, "/src", &text), DEBUG_NONE);
	memcpy(&f, intern_get(&text.files, line_table_file(&t, 2, "/src", &text), NULL), sizeof(f));
	assert_memory_equal(intern_get(&text.strings, f.dir, &len), "/src/d", 6);
	assert_int_equal(len, 6);
	line_table_done(&t);
	/* Cut anywhere: an error, and no row that was not there before. */
	for (size_t cut = 0; cut + 4 < sizeof(bytes); cut++) {
		_cleanup_(freep) uint8_t *copy = malloc(cut + 4);

		memcpy(copy, bytes, cut + 4);
		copy[0] = (uint8_t)cut;
		s.line = copy;
		s.line_len = cut + 4;
		rc = line_table_read(&t, &s, 0, &rows, NULL);
		assert_true((rc == 0 || rc == ERR_DATA || rc == ERR_UNSUPPORTED) &&
			    rows.count <= 4);
		line_table_done(&t);
		copy[0] = sizeof(bytes) - 4; /* longer than the section */
		assert_int_equal(line_table_read(&t, &s, 0, &rows, NULL), ERR_DATA);
		line_table_done(&t);
	}
	free(rows.rows);
	debug_text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dwarf4),
		cmocka_unit_test(test_dwarf5),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
