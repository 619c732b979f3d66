/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of DIEs: scopes inside scopes, siblings, depth, names along origins, kinds of units. */
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "die_fixture.h"
#include "die_scan.h"
#include "limits.h"

/* --- the tree -------------------------------------------------------------------------------- */

enum {
	A_UNIT = 1,
	A_FUNCTION,
	A_INLINED,
	A_BLOCK,     /* any DIE with children */
	A_PARAMETER, /* with children and a sibling */
	A_ABSTRACT,  /* a function without code, with children */
	A_NO_CODE,   /* an inlined call without code, with children */
	A_DECLARED,  /* a function without code or children */
	A_NEXT,      /* name and origin */
	A_NEXT_UNIT, /* name and origin in another unit */
};

static void tree_abbrevs(struct made *m)
{
	made_abbrev(m, A_UNIT, DW_TAG_compile_unit, 1, -1);
	made_abbrev(m, A_FUNCTION, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
		    DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, -1);
	made_abbrev(m, A_INLINED, DW_TAG_inlined_subroutine, 1, DW_AT_abstract_origin, DW_FORM_ref4,
		    DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, DW_AT_call_line,
		    DW_FORM_data1, -1);
	made_abbrev(m, A_BLOCK, UNKNOWN_TAG, 1, -1);
	made_abbrev(m, A_PARAMETER, DW_TAG_formal_parameter, 1, DW_AT_sibling, DW_FORM_ref4, -1);
	made_abbrev(m, A_ABSTRACT, DW_TAG_subprogram, 1, DW_AT_name, DW_FORM_string, -1);
	made_abbrev(m, A_NO_CODE, DW_TAG_inlined_subroutine, 1, DW_AT_abstract_origin, DW_FORM_ref4,
		    DW_AT_call_line, DW_FORM_data1, -1);
	made_abbrev(m, A_DECLARED, DW_TAG_subprogram, 0, DW_AT_linkage_name, DW_FORM_string, -1);
	made_abbrev(m, A_NEXT, DW_TAG_subprogram, 0, DW_AT_specification, DW_FORM_ref4, -1);
	made_abbrev(m, A_NEXT_UNIT, DW_TAG_subprogram, 0, DW_AT_abstract_origin, DW_FORM_ref_addr,
		    DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, -1);
	end_abbrevs(m);
}

static void tree_function(struct made *m, const char *name, uint64_t low, unsigned int len)
{
	made_leb(m, A_FUNCTION);
	made_text(m, name);
	made_u(m, 8, low);
	made_u(m, 1, len);
}

static void tree_inlined(struct made *m, uint64_t origin, uint64_t low, unsigned int len,
			 unsigned int line)
{
	made_leb(m, A_INLINED);
	made_u(m, 4, origin);
	made_u(m, 8, low);
	made_u(m, 1, len);
	made_u(m, 1, line);
}

static uint64_t tree_declared(struct made *m, const char *name)
{
	uint64_t at = made_at(m);

	made_leb(m, A_DECLARED);
	made_text(m, name);
	return at;
}

static void tree_begin(struct fixture *f)
{
	fixture_init(f);
	tree_abbrevs(&f->m);
	made_unit(&f->m, 4, 4, 8, 0);
	made_leb(&f->m, A_UNIT);
}

/* Scopes without code hold no code: they are reported only when something below them has some, with
 * their place and name. Functions end chains. */
static void test_scopes(void **state _unused_)
{
	struct fixture f;
	uint64_t a, b;

	tree_begin(&f);
	a = tree_declared(&f.m, "a");
	b = tree_declared(&f.m, "b");
	tree_function(&f.m, "f", 0x1000, 0x80);
	made_leb(&f.m, A_BLOCK);
	tree_inlined(&f.m, a, 0x1010, 0x20, 10);
	made_leb(&f.m, A_NO_CODE);
	made_u(&f.m, 4, b);
	made_u(&f.m, 1, 11);
	tree_inlined(&f.m, a, 0x1018, 4, 12);
	ups(&f.m, 1);
	tree_inlined(&f.m, a, 0x101c, 4, 13);
	ups(&f.m, 3); /* out of a, b and a */
	tree_function(&f.m, "nested", 0x1040, 8);
	ups(&f.m, 3); /* out of nested, the block and f */
	made_leb(&f.m, A_ABSTRACT);
	made_text(&f.m, "abstract");
	made_leb(&f.m, A_NO_CODE);
	made_u(&f.m, 4, b);
	made_u(&f.m, 1, 14);
	ups(&f.m, 1);
	tree_inlined(&f.m, b, 0x2000, 4, 15);
	tree_inlined(&f.m, b, 0x2000, 0, 16); /* no code: no fact */
	ups(&f.m, 2);
	tree_function(&f.m, "body", 0x3000, 8);
	ups(&f.m, 3);
	made_unit_end(&f.m);
	expect_both(&f, "unit\n"
			"scope 1 in 0 f entry 1000 decl -:0\n"
			"scope 2 in 1 a decl -:0 call -:10\n"
			"scope 3 in 2 b decl -:0 call -:11\n"
			"scope 4 in 3 a decl -:0 call -:12\n"
			"scope 5 in 3 a decl -:0 call -:13\n"
			"scope 6 in 0 nested entry 1040 decl -:0\n"
			"scope 7 in 0 abstract decl -:0\n"
			"scope 8 in 7 b decl -:0 call -:15\n"
			"scope 9 in 0 body entry 3000 decl -:0\n"
			"span 1000 1080 of 1\nspan 1010 1030 of 2\nspan 1018 101c of 4\n"
			"span 101c 1020 of 5\nspan 1040 1048 of 6\nspan 2000 2004 of 8\n"
			"span 3000 3008 of 9\n");
	fixture_done(&f);
}

/* A sibling is a hint: one that leads back or out is not taken. Nothing below a parameter counts.
 */
static void sibling(uint64_t target, bool good)
{
	struct fixture f;
	uint64_t at;

	tree_begin(&f);
	made_leb(&f.m, A_PARAMETER);
	at = f.m.sections[MADE_INFO].len;
	made_u(&f.m, 4, target);
	tree_function(&f.m, "hidden", 0x1000, 0x10);
	ups(&f.m, 2);
	if (good) {
		target = made_at(&f.m);
		memcpy(f.m.sections[MADE_INFO].p + at, &target, 4);
	}
	tree_function(&f.m, "seen", 0x2000, 0x10);
	ups(&f.m, 2);
	made_unit_end(&f.m);
	expect(&f, "unit\nscope 1 in 0 seen entry 2000 decl -:0\nspan 2000 2010 of 1\n");
	fixture_done(&f);
}

static void test_sibling(void **state _unused_)
{
	sibling(0, true);
	sibling(0, false);
	sibling(12, false); /* itself */
	sibling(0x1000, false);
	sibling(UINT32_MAX, false);
}

/* Functions as deep as the limit are seen, deeper ones are not, and nothing grows with depth. */
static void depth(unsigned int blocks, bool seen)
{
	struct fixture f;

	tree_begin(&f);
	for (unsigned int i = 0; i < blocks; i++)
		made_leb(&f.m, A_BLOCK);
	tree_function(&f.m, "deep", 0x1000, 0x10);
	ups(&f.m, blocks + 1);
	tree_function(&f.m, "after", 0x2000, 0x10);
	ups(&f.m, 2);
	made_unit_end(&f.m);
	if (seen)
		expect_both(&f, "unit\nscope 1 in 0 deep entry 1000 decl -:0\n"
				"scope 2 in 0 after entry 2000 decl -:0\n"
				"span 1000 1010 of 1\nspan 2000 2010 of 2\n");
	else
		expect(&f, "unit\nscope 1 in 0 after entry 2000 decl -:0\nspan 2000 2010 of 1\n");
	fixture_done(&f);
}

static void test_depth(void **state _unused_)
{
	depth(10, true);
	depth(LIMIT_DIE_DEPTH - 1, true);
	depth(LIMIT_DIE_DEPTH, false);
	depth(1000000, false);
}

/* A chain of so many hops, then the name; or a circle. */
static void hops(unsigned int count, bool circle, bool named)
{
	struct fixture f;
	uint64_t at, first;

	tree_begin(&f);
	first = at = circle ? made_at(&f.m) : tree_declared(&f.m, "far");
	if (circle) { /* two that name each other */
		made_leb(&f.m, A_NEXT);
		made_u(&f.m, 4, first + 5);
		made_leb(&f.m, A_NEXT);
		made_u(&f.m, 4, first);
	}
	for (unsigned int i = 1; i < count; i++) {
		uint64_t next = made_at(&f.m);

		made_leb(&f.m, A_NEXT);
		made_u(&f.m, 4, at);
		at = next;
	}
	tree_function(&f.m, "f", 0x1000, 0x10);
	tree_inlined(&f.m, at, 0x1000, 4, 1);
	ups(&f.m, 3);
	made_unit_end(&f.m);
	expect_both(&f, named ? "unit\nscope 1 in 0 f entry 1000 decl -:0\n"
				"scope 2 in 1 far decl -:0 call -:1\n"
				"span 1000 1010 of 1\nspan 1000 1004 of 2\n"
			      : "unit\nscope 1 in 0 f entry 1000 decl -:0\n"
				"scope 2 in 1 - decl -:0 call -:1\n"
				"span 1000 1010 of 1\nspan 1000 1004 of 2\n");
	fixture_done(&f);
}

static void test_hops(void **state _unused_)
{
	hops(1, false, true);
	hops(LIMIT_ORIGIN_HOPS, false, true);
	hops(LIMIT_ORIGIN_HOPS + 1, false, false);
	hops(1, true, false);
}

/* Names that stand in another unit, before or behind; references to nowhere. */
static void other_unit(uint64_t origin, const char *want)
{
	struct fixture f;
	uint64_t at;

	tree_begin(&f);
	at = tree_declared(&f.m, "before");
	assert_int_equal(at, 12);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	assert_int_equal(f.m.sections[MADE_INFO].len, 21);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, A_UNIT);
	made_leb(&f.m, A_NEXT_UNIT);
	made_u(&f.m, 4, origin);
	made_u(&f.m, 8, 0x1000);
	made_u(&f.m, 1, 0x10);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	assert_int_equal(f.m.sections[MADE_INFO].len, 48);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, A_UNIT);
	tree_declared(&f.m, "behind");
	ups(&f.m, 1);
	made_unit_end(&f.m);
	expect(&f, want);
	fixture_done(&f);
}

static void test_other_unit(void **state _unused_)
{
	other_unit(12, "unit\nunit\nscope 1 in 0 before entry 1000 decl -:0\n"
		       "span 1000 1010 of 1\nunit\n");
	other_unit(60, "unit\nunit\nscope 1 in 0 behind entry 1000 decl -:0\n"
		       "span 1000 1010 of 1\nunit\n");
	for (uint64_t origin = 0; origin < 80; origin += origin == 11 || origin == 59 ? 2 : 1)
		if (origin != 13 && origin != 61) /* code of a DIE by chance */
			other_unit(origin, "unit\nunit\nscope 1 in 0 - entry 1000 decl -:0\n"
					   "span 1000 1010 of 1\nunit\n");
	other_unit(UINT32_MAX, "unit\nunit\nscope 1 in 0 - entry 1000 decl -:0\n"
			       "span 1000 1010 of 1\nunit\n");
}

/* Types and shared declarations are not units of code. */
static void test_unit_kinds(void **state _unused_)
{
	struct fixture f;
	uint64_t abbrevs;

	fixture_init(&f);
	made_abbrev(&f.m, 1, DW_TAG_partial_unit, 1, -1);
	function_abbrev(&f.m);
	end_abbrevs(&f.m);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, 1);
	put_function(&f.m, "shared", 0x1000);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	abbrevs = f.m.sections[MADE_ABBREV].len;
	made_abbrev(&f.m, 1, DW_TAG_type_unit, 1, -1);
	function_abbrev(&f.m);
	end_abbrevs(&f.m);
	made_unit(&f.m, 5, 4, 8, abbrevs);
	f.m.sections[MADE_INFO].p[f.m.unit + 6] = DW_UT_type;
	made_u(&f.m, 8, 0x1122334455667788); /* signature */
	made_u(&f.m, 4, 24);
	made_leb(&f.m, 1);
	put_function(&f.m, "typed", 0x2000);
	ups(&f.m, 1);
	made_unit_end(&f.m);
	good_unit(&f.m);
	expect_both(&f, GOOD_UNIT);
	fixture_done(&f);
}

/* A skeleton unit: it covers [0x1000, 0x1000 + len). */
static void skeleton(struct made *m, unsigned int version, unsigned int len)
{
	uint64_t abbrevs = m->sections[MADE_ABBREV].len;

	made_abbrev(m, 1, version == 5 ? DW_TAG_skeleton_unit : DW_TAG_compile_unit, 0,
		    version == 5 ? DW_AT_dwo_name : DW_AT_GNU_dwo_name, DW_FORM_string,
		    DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, -1);
	end_abbrevs(m);
	made_unit(m, version, 4, 8, abbrevs);
	if (version == 5) {
		m->sections[MADE_INFO].p[m->unit + 6] = DW_UT_skeleton;
		made_u(m, 8, 0x1122334455667788); /* id of the .dwo file */
	}
	made_leb(m, 1);
	made_text(m, "a.dwo");
	made_u(m, 8, 0x1000);
	made_u(m, 1, len);
	made_unit_end(m);
}

/* What is described in a .dwo file is missed, and said so; where there is no code, nothing is. */
static void test_skeletons(void **state _unused_)
{
	for (unsigned int version = 4; version <= 5; version++) {
		struct fixture f;

		fixture_init(&f);
		good_unit(&f.m);
		skeleton(&f.m, version, 0);
		expect_both(&f, GOOD_UNIT "unit\n");
		f.m.sections[MADE_INFO].len = f.m.unit;
		skeleton(&f.m, version, 0x10);
		expect_both(&f, GOOD_UNIT
			    "unit\nrange 1000 1010\n"
			    "skipped 1: unit at 0x1f: its code is described in 'a.dwo', which "
			    "is not there\n");
		fixture_done(&f);
	}
}

/* A file with something of everything, for cuts and flips. */
static void whole(struct made *m)
{
	tree_abbrevs(m);
	made_unit(m, 4, 4, 8, 0);
	made_leb(m, A_UNIT);
	tree_function(m, "f", 0x1000, 0x80);
	tree_inlined(m, tree_declared(m, "a"), 0x1010, 0x20, 10);
	made_leb(m, A_PARAMETER);
	made_u(m, 4, made_at(m) + 5);
	ups(m, 5);
	made_unit_end(m);
	good_unit(m);
}

/* Every cut and every changed byte: no crash, no endless run; sanitizers watch the bounds. */
static void test_every_byte(void **state _unused_)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};

	for (int section = MADE_INFO; section <= MADE_ABBREV; section++) {
		struct fixture f;
		struct buf *b = &f.m.sections[section];
		size_t len;

		fixture_init(&f);
		whole(&f.m);
		len = b->len;
		for (b->len = 1; b->len < len; b->len++)
			report_of(&f, die_scan);
		for (size_t i = 0; i < len; i++) {
			uint8_t good = b->p[i];

			for (size_t j = 0; j < ARRAY_LEN(values); j++) {
				b->p[i] = values[j];
				report_of(&f, die_scan);
			}
			b->p[i] = good;
		}
		fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),     cmocka_unit_test(test_sibling),
		cmocka_unit_test(test_depth),      cmocka_unit_test(test_hops),
		cmocka_unit_test(test_other_unit), cmocka_unit_test(test_unit_kinds),
		cmocka_unit_test(test_every_byte), cmocka_unit_test(test_skeletons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
