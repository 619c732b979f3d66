/* SPDX-License-Identifier: Apache-2.0 */
#include "die_fixture.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "die_scan.h"
#include "plain_reader.h"

void fixture_init(struct fixture *f)
{
	made_init(&f->m);
	buf_init(&f->elf, SIZE_MAX);
	buf_init(&f->got, SIZE_MAX);
}

void fixture_done(struct fixture *f)
{
	made_done(&f->m);
	buf_done(&f->elf);
	buf_done(&f->got);
}

const char *report_of(struct fixture *f, made_reader *reader)
{
	struct err err = {0};

	buf_reset(&f->elf);
	buf_reset(&f->got);
	made_elf(&f->m, &f->elf);
	if (made_report(reader, f->elf.p, f->elf.len, &f->got, &err))
		fail_msg("%s", err.message);
	return buf_cstr(&f->got);
}

void expect(struct fixture *f, const char *want)
{
	assert_string_equal(report_of(f, die_scan), want);
}

void expect_both(struct fixture *f, const char *want)
{
	expect(f, want);
	assert_string_equal(report_of(f, plain_read), want);
}

void expect_skipped(struct fixture *f, const char *reason)
{
	const char *got = report_of(f, die_scan);

	if (!strstr(got, "skipped 1: ") || !strstr(got, reason))
		fail_msg("'%s' does not say '%s'", got, reason);
}

void unit_abbrev(struct made *m)
{
	made_abbrev(m, 1, DW_TAG_compile_unit, 1, -1);
}

void function_abbrev(struct made *m)
{
	made_abbrev(m, 2, DW_TAG_subprogram, 0, DW_AT_name, DW_FORM_string, DW_AT_low_pc,
		    DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, -1);
}

void put_function(struct made *m, const char *name, uint64_t low)
{
	made_leb(m, 2);
	made_text(m, name);
	made_u(m, m->address_size, low);
	made_u(m, 4, 0x10);
}

void end_abbrevs(struct made *m)
{
	buf_u8(&m->sections[MADE_ABBREV], 0);
}

void good_unit(struct made *m)
{
	uint64_t abbrevs = m->sections[MADE_ABBREV].len;

	unit_abbrev(m);
	function_abbrev(m);
	end_abbrevs(m);
	made_unit(m, 4, 4, 8, abbrevs);
	made_leb(m, 1);
	put_function(m, "good", 0x9000);
	made_u(m, 1, 0);
	made_unit_end(m);
}

void ups(struct made *m, unsigned int count)
{
	while (count--)
		made_u(m, 1, 0);
}
