/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_READER_H
#define RAWSTACK_PLAIN_READER_H
/*
 * DWARF 2 to 5 of an image as struct debug_unit, the plain way: DIEs and line tables through
 * libdwarf (plain_rows.h), range lists by a decoder of its own (plain_ranges.h). Every build uses
 * die_scan.h instead. This one checks that one, and shares no decoder with it, except that the
 * files and rows of a line table that libdwarf refuses come from line_table.h. It reports what the
 * file says and leaves every choice to others. Runs in the verifier only: the library behind it was
 * not written for hostile files.
 */
#include "debug_info.h"
#include "die_companions.h"

/*
 * Gives each unit to the sink. A unit that cannot be read is skipped and counted; the call fails
 * only when a section cannot be loaded at all, for memory, or when the sink does. An image without
 * .debug_info has no units.
 */
int plain_read(struct image *im, struct debug_text *text, const struct debug_sink *sink,
	       struct debug_report *report, struct err *err) _must_check_;

/* plain_read() with companions, which stay open as long. One that cannot be read is left out. */
int plain_read_with(struct image *im, const struct die_companions *companions,
		    struct debug_text *text, const struct debug_sink *sink,
		    struct debug_report *report, struct err *err) _must_check_;

/*
 * Once, before the first plain_read() of a process that will end soon: libdwarf stops tracking its
 * allocations, which halves its time and loses a little memory that we cannot free.
 */
void plain_read_untracked(void);

#endif
