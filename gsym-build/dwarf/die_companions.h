/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_COMPANIONS_H
#define RAWSTACK_DIE_COMPANIONS_H
/* The inputs of a DWARF reader besides the image, and its report besides the units. The reader of
 * every build (die_scan.h) and the plain one that checks it (plain_reader.h) share both. */
#include "buf.h"
#include "helper.h"
#include "image.h"

struct debug_report {
	uint64_t unit_count; /* units that were given to the sink */
	/* Units that could not be read. A split unit without its .dwo still gives its lines, so it
	 * counts here and in unit_count. */
	uint64_t units_skipped;
	uint64_t info_len, info_read; /* as in struct build_report; the plain reader sets neither */
	uint64_t lines_refused;       /* line tables that libdwarf refuses; plain reader only */
	bool needs_alt_file;          /* some names are in a missing dwz file (.gnu_debugaltlink) */
	char skipped[256];            /* the first reason, or "" */
};

/* Files that go with an image. */
struct die_companions {
	struct image *alt; /* dwz alternate file (.gnu_debugaltlink), or NULL */
	struct image *dwp; /* package of split units, or NULL */
	struct image **dwos;
	size_t dwo_count;
	/* Receives "comp_dir NUL name NUL" for each split unit that no companion has, or is NULL.
	 * Entries beyond the buffer's ceiling are dropped without an error. */
	struct buf *missing;
	/* Only units that describe these addresses (vaddr, with the image's bias) need to be read.
	 * If the count is 0, all units are read. */
	const uint64_t *wanted;
	size_t wanted_count;
	/* Receives a note (rsym_report.h) for each part that cannot be read, up to the buffer's
	 * ceiling, or is NULL. */
	struct buf *notes;
	struct helper *helper; /* inflates ahead for die_scan.h, or NULL */
	bool types;            /* whether debug_unit.types is filled in */
	bool columns;          /* whether columns and discriminators are read (column words) */
};

#endif
