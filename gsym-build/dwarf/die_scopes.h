/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_SCOPES_H
#define RAWSTACK_DIE_SCOPES_H
/* Turns the DIEs of one unit into scopes and spans. Only scopes with code, and those around inlined
 * calls, are kept. A struct is for one thread at a time. */
#include "current_unit.h"

/* The names in a scope's own DIE, and the DIE that its origin refers to. */
struct scope_name {
	const char *linkage_name, *name;
	const struct die_file *file; /* file of the origin */
	uint64_t origin;             /* offset of the origin in that file's .debug_info, or 0 */
	uint64_t off;                /* offset of the scope's own DIE */
};

/* Reads the names and origin of a scope. Sets needs_alt_file in the report when a name is in a
 * missing dwz file. */
struct scope_name die_scope_name(const struct die *d, struct debug_report *report);

/* The scopes of the current unit. A zeroed struct has none. */
struct die_scopes {
	struct debug_scope *list; /* die_names_resolve() fills in names and missing declarations */
	struct scope_name *names; /* parallel to list */
	struct debug_span *spans;
	size_t count, cap, names_cap, span_count, spans_cap;
};

/* Replaces the scopes by those below the unit's own DIE; `in` points behind that DIE. Returns
 * ERR_DATA, ERR_UNSUPPORTED, ERR_LIMIT or ERR_MEMORY. */
int die_scopes_read(struct die_scopes *x, struct current_unit *c, const struct unit_filter *wanted,
		    struct debug_report *report, const struct die_table *t, const struct bytes *in,
		    struct err *err) _must_check_;
void die_scopes_close(struct die_scopes *x);

#endif
