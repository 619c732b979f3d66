/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged units: skipped, named, and the rest goes on. */
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "die_fixture.h"
#include "die_scan.h"

/* --- damage ---------------------------------------------------------------------------------- */

/* A unit whose second DIE is damaged by `damage`; a good unit follows. */
static void damaged(int form, void (*damage)(struct made *m), const char *reason)
{
	struct fixture f;

	fixture_init(&f);
	unit_abbrev(&f.m);
	function_abbrev(&f.m);
	made_abbrev(&f.m, 3, UNKNOWN_TAG, 0, UNKNOWN_ATTRIBUTE, form, -1);
	end_abbrevs(&f.m);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, 1);
	damage(&f.m);
	made_unit_end(&f.m);
	good_unit(&f.m);
	expect_skipped(&f, reason);
	assert_non_null(strstr(report_of(&f, die_scan), GOOD_UNIT));
	fixture_done(&f);
}

static void no_such_code(struct made *m)
{
	made_leb(m, 4);
}

static void huge_code(struct made *m)
{
	made_leb(m, UINT64_MAX);
}

static void endless_leb(struct made *m)
{
	made_leb(m, 3);
	for (int i = 0; i < 30; i++)
		made_u(m, 1, 0xff);
}

static void long_block(struct made *m)
{
	made_leb(m, 3);
	made_u(m, 4, 0xffffff00);
	made_u(m, 8, 0);
}

static void unending_string(struct made *m)
{
	made_leb(m, 3);
	made_u(m, 8, 0x4141414141414141);
}

static void cut_value(struct made *m)
{
	made_leb(m, 3);
	made_u(m, 3, 0);
}

static void cut_function(struct made *m)
{
	made_leb(m, 2);
	made_text(m, "cut");
	made_u(m, 3, 0);
}

static void indirect_indirect(struct made *m)
{
	made_leb(m, 3);
	made_leb(m, DW_FORM_indirect);
	made_leb(m, DW_FORM_data1);
	made_u(m, 1, 0);
}

static void indirect_implicit(struct made *m)
{
	made_leb(m, 3);
	made_leb(m, DW_FORM_implicit_const);
	made_u(m, 1, 0);
}

static void unknown_value(struct made *m)
{
	made_leb(m, 3);
	made_u(m, 8, 0);
}

static void test_damaged(void **state _unused_)
{
	damaged(DW_FORM_data4, no_such_code, "unit at 0x0: DIE at 0xc: no abbreviation 4");
	damaged(DW_FORM_data4, huge_code, "no abbreviation 18446744073709551615");
	damaged(DW_FORM_udata, endless_leb, "DIE at 0xc leaves its unit");
	damaged(DW_FORM_block4, long_block, "DIE at 0xc leaves its unit");
	damaged(DW_FORM_string, unending_string, "DIE at 0xc leaves its unit");
	damaged(DW_FORM_data4, cut_value, "DIE at 0xc leaves its unit");
	damaged(DW_FORM_data4, cut_function, "DIE at 0xc leaves its unit");
	damaged(DW_FORM_indirect, indirect_indirect, "DIE at 0xc leaves its unit");
	damaged(DW_FORM_indirect, indirect_implicit, "DIE at 0xc leaves its unit");
	damaged(0x7f, unknown_value, "DIE at 0xc: unknown form 0x7f");
}

/* An abbreviation that nothing uses may be as odd as it likes. */
static void test_unknown_unused(void **state _unused_)
{
	struct fixture f;

	fixture_init(&f);
	made_abbrev(&f.m, 9, UNKNOWN_TAG, 0, UNKNOWN_ATTRIBUTE, 0x7f, -1);
	unit_abbrev(&f.m);
	function_abbrev(&f.m);
	made_abbrev(&f.m, 1000000, UNKNOWN_TAG, 0, UNKNOWN_ATTRIBUTE, DW_FORM_data1, -1);
	end_abbrevs(&f.m);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, 1);
	made_leb(&f.m, 1000000); /* codes need not be dense */
	made_u(&f.m, 1, 0);
	put_function(&f.m, "f", 0x1000);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	expect(&f, "unit\nscope 1 in 0 f entry 1000 decl -:0\nspan 1000 1010 of 1\n");
	fixture_done(&f);
}

static void header(unsigned int at, unsigned int value, const char *reason, bool goes_on)
{
	struct fixture f;
	const char *got;

	fixture_init(&f);
	unit_abbrev(&f.m);
	made_abbrev(&f.m, 2, UNKNOWN_TAG, 1, -1);
	end_abbrevs(&f.m);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, 1);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	good_unit(&f.m);
	f.m.sections[MADE_INFO].p[at] = (uint8_t)value;
	expect_skipped(&f, reason);
	got = report_of(&f, die_scan);
	assert_int_equal(strstr(got, GOOD_UNIT) != NULL, goes_on);
	fixture_done(&f);
}

static void test_headers(void **state _unused_)
{
	header(3, 0x7f, "unit at 0x0: its length leaves .debug_info", false);
	header(4, 1, "unknown DWARF version 1", true);
	header(4, 6, "unknown DWARF version 6", true);
	header(5, 4, "unknown DWARF version 1028", true);
	header(10, 3, "addresses of 3 bytes", true);
	header(10, 0, "addresses of 0 bytes", true);
	header(9, 0x7f, "abbreviation table at 0x7f000000 leaves .debug_abbrev", true);
	header(11, 2, "its first DIE is not that of a unit", true);
}

static void test_unit_types(void **state _unused_)
{
	struct fixture f;

	fixture_init(&f);
	unit_abbrev(&f.m);
	end_abbrevs(&f.m);
	made_unit(&f.m, 5, 4, 8, 0);
	f.m.sections[MADE_INFO].p[6] = 0x50;
	made_leb(&f.m, 1);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	good_unit(&f.m);
	expect_skipped(&f, "unknown unit type 80");
	f.m.sections[MADE_INFO].p[6] = DW_UT_skeleton; /* its id leaves the unit */
	expect_skipped(&f, "it ends inside its header");
	assert_non_null(strstr(report_of(&f, die_scan), GOOD_UNIT));
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_unknown_unused),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_unit_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
