/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_LOOKUP_H
#define RAWSTACK_DIE_LOOKUP_H
/* Finds compiled abbreviation tables, the last of which it caches, and DIEs by their offsets. A
 * struct is for one thread at a time. */
#include "die_file.h"

/* Number of compiled tables that are cached. Compilers emit one table for each unit, or one for all
 * of them. */
#define DIE_TABLES 32

/* Only die_lookup.c writes the members from `tables` on. */
struct die_lookup {
	struct die_unit *current; /* the unit being read, which its file need not have listed */
	bool columns, types;      /* what else is extracted from DIEs */
	struct die_table tables[DIE_TABLES];
	const uint8_t *sections[DIE_TABLES]; /* the .debug_abbrev that each table is from */
	size_t next;                         /* index of the table to replace next */
};

void die_lookup_close(struct die_lookup *l);

/* Returns in *ret the compiled abbreviations of a unit, valid until DIE_TABLES other tables have
 * been requested. Returns errors as die_table_compile(). */
int die_lookup_table(struct die_lookup *l, const struct die_unit *u, const struct die_table **ret,
		     struct err *err);

/* Reads the unit's own DIE, stores its bases in *u, and leaves *in behind it. Returns errors as
 * die_lookup_table() and die_next(), and ERR_DATA if it is not a unit's DIE. */
int die_lookup_unit(struct die_lookup *l, struct die_unit *u, const struct die_table **ret_table,
		    struct bytes *in, struct die *ret, struct err *err);

/* Reads the DIE at an offset and leaves *ret_in behind its attributes. Returns false if there is
 * none, or if the values of such a DIE are not extracted. */
bool die_lookup_die(struct die_lookup *l, const struct die_file *f, uint64_t off,
		    struct bytes *ret_in, struct die *ret);

#endif
