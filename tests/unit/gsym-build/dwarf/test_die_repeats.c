/* SPDX-License-Identifier: Apache-2.0 */
/* Range lists and line tables that many refer to: a few times they are read, then it is the file
 * that is damaged. */
#include "die_fixture.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "die_repeats.h"
#include "die_scan.h"

enum {
	LONG = 65536,          /* bytes of what is shared */
	FEW = 2,               /* read so often, it is no harm */
	OFTEN = LIMIT_REPEATS, /* and so often: producers may share more than was seen */
	MANY = LIMIT_REPEATS * (LONG + LIMIT_REPEATS_FREE) / LONG + 1,
	HARMFUL = 10000,
};

/* Range pairs up to the closing one. */
static void put_ranges(struct made *m)
{
	for (uint64_t i = 0; i < LONG / 16; i++) {
		buf_u64(&m->sections[MADE_RANGES], 0x1000 + 32 * i);
		buf_u64(&m->sections[MADE_RANGES], 0x1010 + 32 * i);
	}
	buf_u64(&m->sections[MADE_RANGES], 0);
	buf_u64(&m->sections[MADE_RANGES], 0);
}

static void functions_with_one_list(struct made *m, unsigned int count)
{
	put_ranges(m);
	unit_abbrev(m);
	made_abbrev(m, 2, DW_TAG_subprogram, 0, DW_AT_ranges, DW_FORM_sec_offset, -1);
	end_abbrevs(m);
	made_unit(m, 4, 4, 8, 0);
	made_leb(m, 1);
	while (count--) {
		made_leb(m, 2);
		made_u(m, 4, 0);
	}
	made_u(m, 1, 0);
	made_unit_end(m);
}

/* Nothing but rows (DWARF 4 section 6.2.4). */
static void put_lines(struct made *m)
{
	static const uint8_t head[] = {1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1,
				       1, 0, 0, 0,    1,  0,  0, 1, 0, 0};
	struct buf *line = &m->sections[MADE_LINE];

	buf_u32(line, 2 + 4 + sizeof(head) + LONG);
	buf_u16(line, 4);
	buf_u32(line, sizeof(head));
	buf_append(line, head, sizeof(head));
	memset(buf_extend(line, LONG), 0x2f, LONG);
}

static void units_with_one_table(struct made *m, unsigned int count)
{
	put_lines(m);
	made_abbrev(m, 1, DW_TAG_compile_unit, 0, DW_AT_stmt_list, DW_FORM_sec_offset, -1);
	end_abbrevs(m);
	while (count--) {
		made_unit(m, 4, 4, 8, 0);
		made_leb(m, 1);
		made_u(m, 4, 0);
		made_unit_end(m);
	}
}

/* How reading ends; what was handed out is in f->got. */
static int read_report(struct fixture *f, void (*put)(struct made *m, unsigned int count),
		       unsigned int count, struct err *err)
{
	fixture_init(f);
	put(&f->m, count);
	made_elf(&f->m, &f->elf);
	return made_report(die_scan, f->elf.p, f->elf.len, &f->got, err);
}

static void check(void (*put)(struct made *m, unsigned int count), const char *what)
{
	const unsigned int counts[] = {1, FEW, OFTEN, MANY, HARMFUL};
	size_t got[ARRAY_LEN(counts)];

	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		struct fixture f;
		struct err err = {0};
		int rc = read_report(&f, put, counts[i], &err);

		assert_int_equal(rc, counts[i] < MANY ? 0 : ERR_LIMIT);
		assert_true(!rc || strstr(err.message, what));
		got[i] = f.got.len;
		fixture_done(&f);
	}
	assert_true(got[0] > LONG / 16);
	assert_in_range(got[1], got[0] + got[0] / 2, 3 * got[0]);
	/* More of them cost no more. */
	assert_true(got[4] <= got[3] && got[4] < (MANY + 2) * got[0]);
}

static void test_range_lists(void **state _unused_)
{
	check(functions_with_one_list, "range lists");
}

static void test_line_tables(void **state _unused_)
{
	check(units_with_one_table, "line tables");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_range_lists),
		cmocka_unit_test(test_line_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
