/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_NOTES_H
#define RAWSTACK_DIE_NOTES_H
/* Reports parts that a scan could not read. The caller owns what the members point to. */
#include "buf.h"
#include "die_companions.h"

struct die_notes {
	struct debug_report *report;
	struct buf *missing, *notes; /* as in struct die_companions; may be NULL */
};

/* Stores a reason in the report if it is the first. */
void die_notes_reason(struct die_notes *n, const char *part, const struct err *why);

/* Notes that a part of the unit at an offset could not be read. The note says "`what`unit at ...";
 * `what` may be "", and unit_name may be NULL. */
void die_notes_unit(struct die_notes *n, const char *what, uint64_t off, const char *unit_name,
		    const struct err *why);

/* Adds a file of split units that is not among the companions to n->missing. comp_dir may be
 * NULL. */
void die_notes_missing(struct die_notes *n, const char *comp_dir, const char *name);

#endif
