/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DWARF_READER_H
#define RAWSTACK_DWARF_READER_H
/*
 * DWARF 2 to 5 of an image as facts, the plain way: DIEs and line tables through libdwarf
 * (dwarf_rows.h), range lists by a decoder of its own (dwarf_spans.h). Every build uses die_scan.h
 * instead; this one is its judge, and shares no decoder with it, except that the files and rows of
 * a line table that libdwarf refuses come from dwarf_lines.h. It reports what the file says and
 * leaves every choice to others. Runs in the worker process only: the library behind it was not
 * written for hostile files.
 */
#include "die_companions.h"
#include "facts.h"

/*
 * Gives each unit to the sink. A unit that cannot be read is skipped and counted; the call fails
 * only when a section cannot be loaded at all, for memory, or when the sink does. An image without
 * .debug_info has no units.
 */
int debug_read(struct image *im, struct facts_text *text, const struct facts_sink *sink,
	       struct debug_report *report, struct err *err) _must_check_;

/* debug_read() with companions, which stay open as long. One that cannot be read is left out. */
int debug_read_with(struct image *im, const struct die_companions *companions,
		    struct facts_text *text, const struct facts_sink *sink,
		    struct debug_report *report, struct err *err) _must_check_;

/*
 * Once, before the first debug_read() of a process that will end soon: libdwarf stops tracking its
 * allocations, which halves its time and loses a little memory that we cannot free.
 */
void debug_untracked(void);

#endif
