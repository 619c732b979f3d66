/* SPDX-License-Identifier: Apache-2.0 */
/* Values of DIEs: each form in each shape of unit, stepped over and taken; range lists. */
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "die_fixture.h"
#include "die_scan.h"

struct shape {
	unsigned int version, offset_size, address_size;
};

/* Runs a test with each shape of unit that there is. */
static void each_shape(void (*test)(struct shape s))
{
	for (unsigned int version = 2; version <= 5; version++)
		for (unsigned int bits = 0; bits < 4; bits++)
			test((struct shape){version, bits & 1 ? 8 : 4, bits & 2 ? 8 : 4});
}

/* --- stepping over each form ----------------------------------------------------------------- */

/* A value of a form, not all zeros; false when the shape does not have the form. */
static bool put_value(struct made *m, int form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		break;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		made_u(m, 1, 0x81);
		break;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		made_u(m, 2, 0x8182);
		break;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		made_u(m, 3, 0x818283);
		break;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		made_u(m, 4, 0x81828384);
		break;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		made_u(m, 8, 0x8182838485868788);
		break;
	case DW_FORM_data16:
		made_u(m, 8, 0x8182838485868788);
		made_u(m, 8, 0x8182838485868788);
		break;
	case DW_FORM_addr:
		made_u(m, m->address_size, 0x81828384);
		break;
	case DW_FORM_ref_addr:
		made_u(m, m->version == 2 ? m->address_size : m->offset_size, 0x81828384);
		break;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		made_u(m, m->offset_size, 0x81828384);
		break;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		made_leb(m, 0x123456);
		break;
	case DW_FORM_string:
		made_text(m, "text");
		break;
	case DW_FORM_block1:
		made_u(m, 1, 3);
		made_u(m, 3, 0x818283);
		break;
	case DW_FORM_block2:
		made_u(m, 2, 3);
		made_u(m, 3, 0x818283);
		break;
	case DW_FORM_block4:
		made_u(m, 4, 3);
		made_u(m, 3, 0x818283);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		made_leb(m, 3);
		made_u(m, 3, 0x818283);
		break;
	case DW_FORM_indirect:
		made_leb(m, DW_FORM_data2);
		made_u(m, 2, 0x8182);
		break;
	default:
		return false;
	}
	return true;
}

static void put_name_of(struct made *m, int form)
{
	char name[16];

	snprintf(name, sizeof(name), "f%x", form);
	made_text(m, name);
}

/* A DIE that is stepped over, and a function that has the form between the values it needs. */
static void skip_form(struct shape s, int form)
{
	struct fixture f;
	char want[256];

	fixture_init(&f);
	unit_abbrev(&f.m);
	if (form == DW_FORM_implicit_const) {
		made_abbrev(&f.m, 2, UNKNOWN_TAG, 0, UNKNOWN_ATTRIBUTE, DW_FORM_data2,
			    UNKNOWN_ATTRIBUTE + 1, form, -70, -1);
		made_abbrev(&f.m, 3, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string,
			    UNKNOWN_ATTRIBUTE, form, 70, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			    DW_FORM_data1, -1);
	} else {
		made_abbrev(&f.m, 2, UNKNOWN_TAG, 0, UNKNOWN_ATTRIBUTE, DW_FORM_data2,
			    UNKNOWN_ATTRIBUTE + 1, form, -1);
		made_abbrev(&f.m, 3, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string,
			    UNKNOWN_ATTRIBUTE, form, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			    DW_FORM_data1, -1);
	}
	end_abbrevs(&f.m);
	made_unit(&f.m, s.version, s.offset_size, s.address_size, 0);
	made_leb(&f.m, 1);
	made_leb(&f.m, 2);
	made_u(&f.m, 2, 0xffff);
	assert_true(put_value(&f.m, form));
	made_leb(&f.m, 3);
	put_name_of(&f.m, form);
	put_value(&f.m, form);
	made_u(&f.m, s.address_size, 0x1000);
	made_u(&f.m, 1, 0x20);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	snprintf(want, sizeof(want),
		 "unit\nscope 1 in 0 f%x entry 1000 decl -:0\nspan 1000 1020 of 1\n", form);
	expect(&f, want);
	fixture_done(&f);
}

static void skip_each_form(struct shape s)
{
	static const int forms[] = {
		0x01, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,   0x0a,   0x0b,   0x0c,   0x0d,
		0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,   0x16,   0x17,   0x18,   0x19,
		0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0x21,   0x22,   0x23,   0x24,   0x25,
		0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x1f01, 0x1f02, 0x1f20, 0x1f21,
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		skip_form(s, forms[i]);
}

static void test_skip(void **state _unused_)
{
	each_shape(skip_each_form);
}

/* --- taking values --------------------------------------------------------------------------- */

struct number {
	int form;
	unsigned int size; /* 0: LEB128 */
	bool address;
};

/* high_pc and the declared line in one form. */
static void number_form(struct shape s, const struct number *n)
{
	struct fixture f;

	fixture_init(&f);
	unit_abbrev(&f.m);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
		    n->form, DW_AT_decl_line, n->address ? DW_FORM_udata : n->form, -1);
	end_abbrevs(&f.m);
	made_unit(&f.m, s.version, s.offset_size, s.address_size, 0);
	made_leb(&f.m, 1);
	made_leb(&f.m, 2);
	made_u(&f.m, s.address_size, 0x1000);
	if (n->address) {
		made_u(&f.m, s.address_size, 0x1020);
		made_leb(&f.m, 0x21);
	} else if (n->size) {
		made_u(&f.m, n->size, 0x20);
		made_u(&f.m, n->size, 0x21);
	} else {
		made_leb(&f.m, 0x20);
		made_leb(&f.m, 0x21);
	}
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	expect_both(&f, "unit\nscope 1 in 0 - entry 1000 decl -:33\nspan 1000 1020 of 1\n");
	fixture_done(&f);
}

static void numbers(struct shape s)
{
	static const struct number forms[] = {
		{DW_FORM_data1, 1, false}, {DW_FORM_data2, 2, false}, {DW_FORM_data4, 4, false},
		{DW_FORM_data8, 8, false}, {DW_FORM_udata, 0, false}, {DW_FORM_sdata, 0, false},
		{DW_FORM_addr, 0, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		number_form(s, &forms[i]);
}

static void test_numbers(void **state _unused_)
{
	each_shape(numbers);
}

static void test_implicit_const(void **state _unused_)
{
	struct fixture f;

	fixture_init(&f);
	unit_abbrev(&f.m);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_low_pc, DW_FORM_addr, DW_AT_decl_line,
		    DW_FORM_implicit_const, 77, DW_AT_high_pc, DW_FORM_implicit_const, 0x20, -1);
	end_abbrevs(&f.m);
	made_unit(&f.m, 5, 4, 8, 0);
	made_leb(&f.m, 1);
	made_leb(&f.m, 2);
	made_u(&f.m, 8, 0x1000);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	expect_both(&f, "unit\nscope 1 in 0 - entry 1000 decl -:77\nspan 1000 1020 of 1\n");
	fixture_done(&f);
}

/* An indirect form stands before its value, in the DIE. */
static void test_indirect(void **state _unused_)
{
	struct fixture f;

	fixture_init(&f);
	unit_abbrev(&f.m);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_indirect, DW_AT_low_pc,
		    DW_FORM_indirect, DW_AT_high_pc, DW_FORM_indirect, -1);
	end_abbrevs(&f.m);
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, 1);
	made_leb(&f.m, 2);
	made_leb(&f.m, DW_FORM_string);
	made_text(&f.m, "name");
	made_leb(&f.m, DW_FORM_addr);
	made_u(&f.m, 8, 0x1000);
	made_leb(&f.m, DW_FORM_data2);
	made_u(&f.m, 2, 0x20);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	expect_both(&f, "unit\nscope 1 in 0 name entry 1000 decl -:0\nspan 1000 1020 of 1\n");
	fixture_done(&f);
}

struct string_form {
	int form;
	unsigned int size; /* 0: LEB128; 99: an offset */
	uint64_t value;
	const char *name;
};

static void string_form(struct shape s, const struct string_form *n)
{
	struct fixture f;
	char want[128];

	fixture_init(&f);
	made_abbrev(&f.m, 1, DW_TAG_compile_unit, 1, DW_AT_str_offsets_base, DW_FORM_sec_offset,
		    -1);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_linkage_name, n->form, DW_AT_low_pc,
		    DW_FORM_addr, DW_AT_high_pc, DW_FORM_data1, -1);
	end_abbrevs(&f.m);
	buf_append(&f.m.sections[MADE_STR], "one\0two\0three", 14);
	buf_append(&f.m.sections[MADE_LINE_STR], "uno\0due", 8);
	/* A header of 8 or 16 bytes, then offsets. */
	buf_append(&f.m.sections[MADE_STR_OFFSETS], "################", s.offset_size * 2);
	for (uint64_t i = 0; i <= 8; i += 4)
		buf_append(&f.m.sections[MADE_STR_OFFSETS], &i, s.offset_size);
	made_unit(&f.m, s.version, s.offset_size, s.address_size, 0);
	made_leb(&f.m, 1);
	made_u(&f.m, s.offset_size, s.offset_size * 2);
	made_leb(&f.m, 2);
	if (n->size)
		made_u(&f.m, n->size == 99 ? s.offset_size : n->size, n->value);
	else
		made_leb(&f.m, n->value);
	made_u(&f.m, s.address_size, 0x1000);
	made_u(&f.m, 1, 0x20);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	snprintf(want, sizeof(want),
		 "unit\nscope 1 in 0 %s entry 1000 decl -:0\nspan 1000 1020 of 1\n", n->name);
	expect(&f, want);
	fixture_done(&f);
}

static void strings(struct shape s)
{
	static const struct string_form forms[] = {
		{DW_FORM_strp, 99, 4, "two"},       {DW_FORM_strp, 99, 13, "-"},
		{DW_FORM_strp, 99, 14, "-"},        {DW_FORM_strp, 99, 0x7fffffff, "-"},
		{DW_FORM_line_strp, 99, 4, "due"},  {DW_FORM_line_strp, 99, 8, "-"},
		{DW_FORM_strx, 0, 2, "three"},      {DW_FORM_strx, 0, 3, "-"},
		{DW_FORM_strx, 0, UINT64_MAX, "-"}, {DW_FORM_strx1, 1, 1, "two"},
		{DW_FORM_strx2, 2, 1, "two"},       {DW_FORM_strx3, 3, 2, "three"},
		{DW_FORM_strx4, 4, 0, "one"},       {DW_FORM_GNU_str_index, 0, 1, "two"},
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		string_form(s, &forms[i]);
}

static void test_strings(void **state _unused_)
{
	each_shape(strings);
}

struct address_form {
	int form;
	unsigned int size; /* 0: LEB128 */
	uint64_t index;
	bool found;
};

static void address_form(struct shape s, const struct address_form *n)
{
	struct fixture f;

	fixture_init(&f);
	made_abbrev(&f.m, 1, DW_TAG_compile_unit, 1, DW_AT_addr_base, DW_FORM_sec_offset, -1);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_low_pc, n->form, DW_AT_high_pc,
		    DW_FORM_data1, -1);
	end_abbrevs(&f.m);
	buf_append(&f.m.sections[MADE_ADDR], "########", 8);
	for (uint64_t i = 0x1000; i <= 0x4000; i += 0x1000)
		buf_append(&f.m.sections[MADE_ADDR], &i, s.address_size);
	made_unit(&f.m, s.version, s.offset_size, s.address_size, 0);
	made_leb(&f.m, 1);
	made_u(&f.m, s.offset_size, 8);
	made_leb(&f.m, 2);
	if (n->size)
		made_u(&f.m, n->size, n->index);
	else
		made_leb(&f.m, n->index);
	made_u(&f.m, 1, 0x20);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	expect(&f, n->found ? "unit\nscope 1 in 0 - entry 3000 decl -:0\nspan 3000 3020 of 1\n"
			    : "unit\n");
	fixture_done(&f);
}

static void addresses(struct shape s)
{
	static const struct address_form forms[] = {
		{DW_FORM_addrx, 0, 2, true},
		{DW_FORM_addrx1, 1, 2, true},
		{DW_FORM_addrx2, 2, 2, true},
		{DW_FORM_addrx3, 3, 2, true},
		{DW_FORM_addrx4, 4, 2, true},
		{DW_FORM_GNU_addr_index, 0, 2, true},
		{DW_FORM_addrx, 0, 4, false},
		{DW_FORM_addrx, 0, UINT64_MAX, false},
		{DW_FORM_addrx4, 4, UINT32_MAX, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		address_form(s, &forms[i]);
}

static void test_addresses(void **state _unused_)
{
	each_shape(addresses);
}

/* --- range lists ----------------------------------------------------------------------------- */

static void test_ranges(void **state _unused_)
{
	static const uint64_t list[] = {
		0x10,       0x20,            /* from the unit's low_pc */
		0x30,       0x30,            /* empty */
		UINT64_MAX, 0x8000, 0, 0x10, /* a new base */
		0,          0,
	};
	struct fixture f;

	fixture_init(&f);
	made_abbrev(&f.m, 1, DW_TAG_compile_unit, 1, DW_AT_low_pc, DW_FORM_addr, DW_AT_ranges,
		    DW_FORM_sec_offset, -1);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_ranges, DW_FORM_sec_offset, -1);
	end_abbrevs(&f.m);
	buf_append(&f.m.sections[MADE_RANGES], list, sizeof(list));
	made_unit(&f.m, 4, 4, 8, 0);
	made_leb(&f.m, 1);
	made_u(&f.m, 8, 0x1000);
	made_u(&f.m, 4, 0);
	made_leb(&f.m, 2);
	made_u(&f.m, 4, 0);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	expect_both(&f, "unit\nrange 1010 1020\nrange 8000 8010\n"
			"scope 1 in 0 - entry 1010 decl -:0\n"
			"span 1010 1020 of 1\nspan 8000 8010 of 1\n");
	/* The list's end is cut: the unit cannot be trusted, the next one can. */
	f.m.sections[MADE_RANGES].len -= 16;
	good_unit(&f.m);
	expect_skipped(&f, "unit at 0x0: range list at 0x0 leaves .debug_ranges");
	assert_non_null(strstr(report_of(&f, die_scan), GOOD_UNIT));
	fixture_done(&f);
}

static void test_rnglists(void **state _unused_)
{
	struct fixture f;
	struct buf *b = &f.m.sections[MADE_RNGLISTS];
	size_t list;

	fixture_init(&f);
	made_abbrev(&f.m, 1, DW_TAG_compile_unit, 1, DW_AT_low_pc, DW_FORM_addr,
		    DW_AT_rnglists_base, DW_FORM_sec_offset, DW_AT_addr_base, DW_FORM_sec_offset,
		    -1);
	made_abbrev(&f.m, 2, DW_TAG_subprogram, 0, DW_AT_ranges, DW_FORM_rnglistx, -1);
	end_abbrevs(&f.m);
	for (uint64_t i = 0x1000; i <= 0x4000; i += 0x1000)
		buf_u64(&f.m.sections[MADE_ADDR], i);
	buf_append(b, "############", 12); /* the header */
	buf_u32(b, 0);
	buf_u32(b, 8);
	list = b->len;
	buf_u8(b, 4), buf_uleb(b, 0x10), buf_uleb(b, 0x20);                /* offset_pair */
	buf_u8(b, 1), buf_uleb(b, 2);                                      /* base_addressx */
	buf_u8(b, 4), buf_uleb(b, 0), buf_uleb(b, 4);                      /* offset_pair */
	buf_u8(b, 5), buf_u64(b, 0x8000);                                  /* base_address */
	buf_u8(b, 4), buf_uleb(b, 0), buf_uleb(b, 8);                      /* offset_pair */
	buf_u8(b, 2), buf_uleb(b, 0), buf_uleb(b, 1);                      /* startx_endx */
	buf_u8(b, 3), buf_uleb(b, 3), buf_uleb(b, 0x10);                   /* startx_length */
	buf_u8(b, 6), buf_u64(b, 0x9000), buf_u64(b, 0x9010);              /* start_end */
	buf_u8(b, 7), buf_u64(b, 0xa000), buf_uleb(b, 0x10), buf_u8(b, 0); /* start_length */
	memcpy(b->p + 16, &(uint32_t){(uint32_t)(list - 12)}, 4);
	made_unit(&f.m, 5, 4, 8, 0);
	made_leb(&f.m, 1);
	made_u(&f.m, 8, 0x500);
	made_u(&f.m, 4, 12);
	made_u(&f.m, 4, 0);
	made_leb(&f.m, 2);
	made_leb(&f.m, 1);
	made_u(&f.m, 1, 0);
	made_unit_end(&f.m);
	expect_both(&f, "unit\nscope 1 in 0 - entry 510 decl -:0\n"
			"span 510 520 of 1\nspan 3000 3004 of 1\nspan 8000 8008 of 1\n"
			"span 1000 2000 of 1\nspan 4000 4010 of 1\nspan 9000 9010 of 1\n"
			"span a000 a010 of 1\n");
	b->p[b->len - 1] = 0x40;
	expect_skipped(&f, "unknown entry 64");
	fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skip),           cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_implicit_const), cmocka_unit_test(test_indirect),
		cmocka_unit_test(test_strings),        cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_ranges),         cmocka_unit_test(test_rnglists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
