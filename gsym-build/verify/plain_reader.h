/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_READER_H
#define RAWSTACK_PLAIN_READER_H
/*
 * Reads DWARF 2 to 5 of an image as struct debug_unit in a simple way: DIEs and line tables through
 * libdwarf (plain_rows.h), range lists by a decoder of its own (plain_ranges.h). Builds use
 * die_scan.h instead. This reader checks that one and shares no decoder with it, except that line
 * tables that libdwarf refuses are read by line_table.h. It reports what the file says and leaves
 * every choice to its caller. It runs in the verifier only, because libdwarf was not written for
 * hostile files.
 */
#include "debug_info.h"
#include "die_companions.h"

/*
 * Gives each unit to the sink. A unit that cannot be read is skipped and counted; the call fails
 * only if a section cannot be loaded, if memory is out, or if the sink fails. An image without
 * .debug_info has no units.
 */
int plain_read(struct image *im, struct debug_text *text, const struct debug_sink *sink,
	       struct debug_report *report, struct err *err) _must_check_;

/* plain_read() with companions, which must stay open until it returns. A companion that cannot be
 * read is left out. */
int plain_read_with(struct image *im, const struct die_companions *companions,
		    struct debug_text *text, const struct debug_sink *sink,
		    struct debug_report *report, struct err *err) _must_check_;

/*
 * Makes libdwarf stop tracking its allocations, which halves its time and leaks a little memory.
 * For processes that end soon; call it before the first plain_read().
 */
void plain_read_untracked(void);

#endif
