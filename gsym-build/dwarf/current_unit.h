/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CURRENT_UNIT_H
#define RAWSTACK_CURRENT_UNIT_H
/*
 * The unit that a scan is reading: its own DIE, its ranges and its lines. A skeleton is replaced by
 * its split unit before scopes are read. A struct is for one thread at a time.
 */
#include "die_files.h"
#include "die_repeats.h"
#include "line_table.h"
#include "range_list.h"
#include "unit_filter.h"

/* The first group is set when the scan is opened; current_unit.c writes the others. */
struct current_unit {
	const struct die_files *files;
	struct debug_text *text;
	struct die_repeats *repeats; /* shared by both threads */
	bool columns;                /* whether columns and discriminators are read */

	struct die_unit unit;
	const char *name, *comp_dir; /* or NULL */
	bool is_c;         /* the language is C, where tags have a name space of their own */
	bool is_objective; /* the language is Objective C; is_c is set too */
	struct range_source source;
	uint64_t ranges_bias;      /* added to the range list offsets of a split unit */
	struct range_list ranges;  /* of the unit's own DIE */
	struct range_list scratch; /* of the DIE that current_unit_ranges() read last */
	struct line_table lines;
	struct line_rows rows;
};

/* Makes *u the current unit and drops what was read of the previous one. */
void current_unit_set(struct current_unit *c, const struct die_unit *u);
void current_unit_close(struct current_unit *c);

/*
 * Reads the unit's own DIE and its ranges, and leaves *in behind that DIE. Returns 1, 0 if the unit
 * has no DIEs to read (a partial or type unit, which is read only through references, or one that
 * holds no wanted address), or an error of die_lookup_unit() or current_unit_ranges().
 */
int current_unit_open(struct current_unit *c, struct die_lookup *lookup,
		      const struct die_table **ret_table, struct bytes *in, struct die *ret,
		      struct err *err) _must_check_;

/* Reads the lines of the unit whose DIE is d. A damaged line table is only noted, so that the
 * unit's functions are kept. Returns ERR_MEMORY. */
int current_unit_read_lines(struct current_unit *c, const struct die *d,
			    const struct unit_filter *wanted, struct die_notes *notes,
			    struct err *err) _must_check_;

/*
 * Replaces a skeleton, whose lines have been read, by its split unit: reads the split unit's DIE
 * and sets up its range lists and file table. Returns 1, 0 if the unit is no skeleton, its file is
 * missing or split units are read too often (die_repeats.h), or an error of die_lookup_unit().
 */
int current_unit_enter_split(struct current_unit *c, struct die_lookup *lookup,
			     const struct die *skeleton, const struct die_table **ret_table,
			     struct bytes *in, struct err *err) _must_check_;

/* Reads a DIE's ranges into c->scratch. Returns ERR_DATA, ERR_LIMIT or ERR_MEMORY. */
int current_unit_ranges(struct current_unit *c, const struct die *d, struct err *err) _must_check_;

/* Returns the file with this number in the unit's DIEs, or DEBUG_NONE if there is none. */
uint32_t current_unit_file(struct current_unit *c, uint64_t number);

#endif
