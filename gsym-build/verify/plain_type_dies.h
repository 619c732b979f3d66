/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_TYPE_DIES_H
#define RAWSTACK_PLAIN_TYPE_DIES_H
/* Private to plain_type*.c: follows references between DIEs of types, through libdwarf. */
#include "plain_priv.h"

/* A DIE of any open file. */
struct die_position {
	Dwarf_Debug dbg;
	Dwarf_Off off; /* 0 if there is no DIE */
	Dwarf_Bool is_info;
	bool unreadable; /* the referenced DIE is missing or unreadable */
};

struct type_unit {
	uint64_t signature;
	struct die_position type;
};

/* A DIE and its parent: the nearest DIE around it that can hold types. */
struct parent {
	Dwarf_Off off, parent; /* 0 if there is none */
	Dwarf_Half tag;
};

struct unit_parents {
	struct parent *list; /* by offset */
	size_t count, cap;
};

struct plain_types {
	struct plain_reader *r;
	struct type_unit *units; /* by signature; of several copies the first is taken */
	size_t unit_count, units_cap;
	struct intern seen; /* file and offset of each unit */
	struct unit_parents *parents;
	size_t parents_cap;
	struct intern shared; /* origins of inlined calls */
	uint32_t *shared_types;
	size_t shared_cap;
	bool is_c;
};

/* Returns the DIE at a position, or NULL if there is none or it cannot be read. The caller frees it
 * by dwarf_dealloc(). */
Dwarf_Die plain_type_die(struct die_position at);
struct die_position plain_type_position(Dwarf_Debug dbg, Dwarf_Die die);
Dwarf_Half plain_type_tag(Dwarf_Debug dbg, Dwarf_Die die);
const char *plain_type_name(const struct plain_types *t, Dwarf_Debug dbg, Dwarf_Die die);

/* Returns the position of the DIE that an attribute of a DIE refers to. */
struct die_position plain_type_refers_to(const struct plain_types *t, Dwarf_Debug dbg,
					 Dwarf_Die die, Dwarf_Half name);

/* Returns the namespace, class or function around the DIE at `at`, or tag 0 if there is none. */
struct parent plain_type_parent(struct plain_types *t, struct die_position at, Dwarf_Die die);

void plain_type_free_error(Dwarf_Debug dbg, Dwarf_Error e);

#endif
