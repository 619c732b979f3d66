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
#include "buf.h"
#include "facts.h"
#include "helper.h"
#include "image.h"

struct debug_report {
	uint64_t unit_count; /* given to the sink */
	/* Could not be read; of split units whose .dwo is not there the lines are given all the
	 * same, so they count in both. */
	uint64_t units_skipped;
	uint64_t info_len, info_read; /* as in struct build_report. Not of the plain reader */
	uint64_t lines_refused;       /* plain reader: line tables that libdwarf does not read */
	bool needs_alt_file;          /* names lie in a dwz file (.gnu_debugaltlink) */
	char skipped[256];            /* the first reason, or "" */
};

/*
 * Gives each unit to the sink. A unit that cannot be read is skipped and counted; the call fails
 * only when a section cannot be loaded at all, for memory, or when the sink does. An image without
 * .debug_info has no units.
 */
int debug_read(struct image *im, struct facts_text *text, const struct facts_sink *sink,
	       struct debug_report *report, struct err *err) _must_check_;

/* Files that go with an image. */
struct die_companions {
	struct image *alt; /* dwz alternate file (.gnu_debugaltlink), or NULL */
	struct image *dwp; /* package of split units, or NULL */
	struct image **dwos;
	size_t dwo_count;
	/*
	 * Gets a "comp_dir NUL name NUL" for each split unit that none of them has; up to its
	 * ceiling, no error beyond. NULL: nobody asks.
	 */
	struct buf *missing;
	/* Only what names these addresses (vaddr, with the image's bias) has to be given. Count 0:
	 * everything. */
	const uint64_t *wanted;
	size_t wanted_count;
	/* Gets a note (rsym_report.h) for each part that cannot be read; up to its ceiling. NULL:
	 * nobody asks. */
	struct buf *notes;
	struct helper *helper; /* of the fast reader: NULL, or inflates ahead */
	bool types;            /* are wanted: facts_unit.types */
	bool columns;          /* are wanted, and discriminators: spots of facts.h */
};

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
