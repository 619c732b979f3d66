/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_NOTES_H
#define RAWSTACK_DIE_NOTES_H
/* What a scan tells about parts that it could not read. The members are the caller's. */
#include "buf.h"
#include "die_companions.h"

struct die_notes {
	struct debug_report *report;
	struct buf *missing, *notes; /* as in struct die_companions; may be NULL */
};

/* Keeps the first reason for the report. */
void die_notes_reason(struct die_notes *n, const char *part, const struct err *why);

/* Notes a part of the unit at an offset, with the reason. `what` stands before "unit at", or is "";
 * unit_name may be NULL. */
void die_notes_unit(struct die_notes *n, const char *what, uint64_t off, const char *unit_name,
		    const struct err *why);

/* Notes down a file of split units that no companion is. comp_dir may be NULL. */
void die_notes_missing(struct die_notes *n, const char *comp_dir, const char *name);

#endif
