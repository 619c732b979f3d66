/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_LOOKUP_H
#define RAWSTACK_DIE_LOOKUP_H
/* Finds what units and references name by an offset: compiled abbreviation tables, of which it
 * keeps the last ones, and DIEs. One thread at a time. */
#include "die_file.h"

/* Number of compiled tables that are cached. Compilers emit one table for each unit, or one for all
 * of them. */
#define DIE_TABLES 32

/* All but the first two members are written by die_lookup.c only. */
struct die_lookup {
	struct die_unit *current; /* the unit that is read: its file need not have listed it */
	bool columns, types;      /* what else is extracted from DIEs */
	struct die_table tables[DIE_TABLES];
	const uint8_t *sections[DIE_TABLES]; /* the .debug_abbrev that each table is from */
	size_t next;                         /* index of the table to replace next */
};

void die_lookup_close(struct die_lookup *l);

/* The compiled abbreviations of a unit; valid until DIE_TABLES other tables have been requested.
 * Errors as die_table_compile(). */
int die_lookup_table(struct die_lookup *l, const struct die_unit *u, const struct die_table **ret,
		     struct err *err);

/* Reads the unit's own DIE, notes its bases in *u, and leaves *in behind it. Errors as
 * die_lookup_table() and die_next(); ERR_DATA when it is no DIE of a unit. */
int die_lookup_unit(struct die_lookup *l, struct die_unit *u, const struct die_table **ret_table,
		    struct bytes *in, struct die *ret, struct err *err);

/* Reads the DIE at an offset and leaves *ret_in behind its attributes. False when there is no DIE
 * whose values are extracted. */
bool die_lookup_die(struct die_lookup *l, const struct die_file *f, uint64_t off,
		    struct bytes *ret_in, struct die *ret);

#endif
