/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_FIXTURE_H
#define RAWSTACK_DIE_FIXTURE_H
/* What the tests of the DIE scanner share: a made file, what a reader says of it, small units. */
#include "made_dwarf.h"

/* In no version of DWARF. */
#define UNKNOWN_ATTRIBUTE 0x3000
#define UNKNOWN_TAG       0x4300

struct fixture {
	struct made m;
	struct buf elf, got;
};

void fixture_init(struct fixture *f);
void fixture_done(struct fixture *f);

/* What a reader reports of the file, as text; an error fails the test. Valid until the next call.
 */
const char *report_of(struct fixture *f, made_reader *reader);

/* The scanner finds this; and so does the plain reader. */
void expect(struct fixture *f, const char *want);
void expect_both(struct fixture *f, const char *want);

/* The scanner skips one unit for this reason. */
void expect_skipped(struct fixture *f, const char *reason);

/* Abbreviation 1: a unit with children. */
void unit_abbrev(struct made *m);

/* Abbreviation 2: a function with a name in place, at an address, 16 bytes long. */
void function_abbrev(struct made *m);
void put_function(struct made *m, const char *name, uint64_t low);

void end_abbrevs(struct made *m);

/* So many null entries. */
void ups(struct made *m, unsigned int count);

/* A good unit, so that a test sees that reading goes on. */
void good_unit(struct made *m);

#define GOOD_UNIT "unit\nscope 1 in 0 good entry 9000 decl -:0\nspan 9000 9010 of 1\n"

#endif
