/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_TYPE_DIES_H
#define RAWSTACK_PLAIN_TYPE_DIES_H
/* Private to plain_type*.c: follows references between DIEs of types, through libdwarf. */
#include "plain_priv.h"

/* A DIE of any file at hand. */
struct die_position {
	Dwarf_Debug dbg;
	Dwarf_Off off; /* 0: none */
	Dwarf_Bool is_info;
	bool unreadable; /* there is a reference, but not what it refers to */
};

struct type_unit {
	uint64_t signature;
	struct die_position type;
};

/* A DIE that can hold types, or a type: its parent is the next one up that can. */
struct parent {
	Dwarf_Off off, parent; /* 0: none */
	Dwarf_Half tag;
};

struct unit_parents {
	struct parent *list; /* by offset */
	size_t count, cap;
};

struct plain_types {
	struct plain_reader *r;
	struct type_unit *units; /* by signature; of copies the first */
	size_t unit_count, units_cap;
	struct intern seen; /* a file and a unit's offset */
	struct unit_parents *parents;
	size_t parents_cap;
	struct intern shared; /* origins of inlined calls */
	uint32_t *shared_types;
	size_t shared_cap;
	bool is_c;
};

/* The DIE at a position, to be freed by dwarf_dealloc(); NULL: none, or it cannot be read. */
Dwarf_Die plain_type_die(struct die_position at);
struct die_position plain_type_position(Dwarf_Debug dbg, Dwarf_Die die);
Dwarf_Half plain_type_tag(Dwarf_Debug dbg, Dwarf_Die die);
const char *plain_type_name(const struct plain_types *t, Dwarf_Debug dbg, Dwarf_Die die);

/* Finds the DIE that an attribute of a DIE refers to. */
struct die_position plain_type_refers_to(const struct plain_types *t, Dwarf_Debug dbg,
					 Dwarf_Die die, Dwarf_Half name);

/* The namespace, class or function that holds a DIE, which stands at `at`: tag 0 when none does. */
struct parent plain_type_parent(struct plain_types *t, struct die_position at, Dwarf_Die die);

void plain_type_free_error(Dwarf_Debug dbg, Dwarf_Error e);

#endif
