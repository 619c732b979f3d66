/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DWARF_TYPE_DIES_H
#define RAWSTACK_DWARF_TYPE_DIES_H
/* Shared by dwarf_type*.c only: from one DIE of a type to others, through libdwarf. */
#include "dwarf_priv.h"

/* A DIE of any file at hand. */
struct spot {
	Dwarf_Debug dbg;
	Dwarf_Off off; /* 0: none */
	Dwarf_Bool is_info;
	bool unreadable; /* there is a reference, but not what it refers to */
};

struct type_unit {
	uint64_t signature;
	struct spot type;
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

struct type_reader {
	struct reader *r;
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

/* The DIE at a spot, to be freed by dwarf_dealloc(); NULL: none, or it cannot be read. */
Dwarf_Die type_die(struct spot at);
struct spot type_spot(Dwarf_Debug dbg, Dwarf_Die die);
Dwarf_Half type_tag(Dwarf_Debug dbg, Dwarf_Die die);
const char *type_name(const struct type_reader *t, Dwarf_Debug dbg, Dwarf_Die die);

/* What an attribute of a DIE refers to. */
struct spot type_refers_to(const struct type_reader *t, Dwarf_Debug dbg, Dwarf_Die die,
			   Dwarf_Half name);

/* The namespace, class or function that holds a DIE, which stands at `at`: tag 0 when none does. */
struct parent type_parent(struct type_reader *t, struct spot at, Dwarf_Die die);

void type_forget(Dwarf_Debug dbg, Dwarf_Error e);

#endif
