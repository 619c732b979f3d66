/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_TYPES_H
#define RAWSTACK_DIE_TYPES_H
/* Makes the signatures of functions as text. A struct is for one thread at a time. */
#include "die_scopes.h"
#include "die_signatures.h"
#include "enclosing_scopes.h"

/* The first two members are set when the scan is opened; die_types.c writes the others. */
struct die_types {
	struct die_lookup *lookup;
	struct die_signatures signatures;
	struct enclosing_scopes enclosing;
	uint32_t *of_scopes; /* signatures of the current unit, by scope */
	struct intern seen;  /* the functions whose signature was made */
	uint32_t *ids;       /* their signatures */
	size_t of_scopes_cap, ids_cap;
};

void die_types_init(struct die_types *t, struct die_lookup *lookup);
void die_types_close(struct die_types *t);

/* Fills in t->of_scopes for the scopes of a unit whose names are resolved. Returns ERR_MEMORY. */
int die_types_resolve(struct die_types *t, const struct current_unit *c,
		      const struct die_scopes *scopes, struct err *err) _must_check_;

#endif
