/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_COMPANIONS_H
#define RAWSTACK_DIE_COMPANIONS_H
/*
 * What goes into a reader of DWARF beside the image, and what it reports beside the units. The
 * reader of every build (die_scan.h) and the one that checks it (plain_reader.h) take and give the
 * same.
 */
#include "buf.h"
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
	bool types;            /* are wanted: debug_unit.types */
	bool columns;          /* are wanted, and discriminators: column words */
};

#endif
