/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_NAMES_H
#define RAWSTACK_DIE_NAMES_H
/* Finds the names of scopes along their origins. A struct is for one thread at a time. */
#include "die_scopes.h"

/* Only die_names.c writes the members. */
struct die_names {
	struct die_lookup *lookup;
	struct die_text *strings; /* the image's */
	struct debug_report *report;
	struct origin_memo *origins;
	uint32_t stamp;    /* stamp of the current unit */
	unsigned int bits; /* width of the hash: 1 << bits entries are used */
};

/* The arguments must stay valid until die_names_close(). Returns ERR_MEMORY. */
int die_names_open(struct die_names *n, struct die_lookup *lookup, struct die_text *strings,
		   struct debug_report *report, struct err *err) _must_check_;
void die_names_close(struct die_names *n);

/* Fills in names and declarations of all scopes of the current unit. Returns ERR_MEMORY. */
int die_names_resolve(struct die_names *n, struct current_unit *c, const struct die_scopes *scopes,
		      struct err *err) _must_check_;

#endif
