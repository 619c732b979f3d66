/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves names along DW_AT_specification and DW_AT_abstract_origin: the first linkage name in the
 * chain is taken, else the first plain name. Chains may leave the unit; a hop limit ends cycles.
 * Only scopes with code are resolved. Origins are cached, which serves nine inlined calls in ten.
 */
#include "die_names.h"

#include <stdlib.h>

#include "limits.h"

/* The name and declaration that the chain of origins from one DIE leads to. */
struct origin_name {
	uint32_t name; /* id of the linkage name, else of the plain one, or DEBUG_NONE */
	uint32_t decl_file, decl_line;
	bool is_linkage, has_decl_file;
};

/* An entry of a direct-mapped cache of origins, indexed by a hash of the offset. On a collision the
 * newer entry replaces the older, which is resolved again when it is needed. */
struct origin_memo {
	const struct die_file *file;
	uint64_t off;
	uint32_t stamp; /* the unit's stamp, because file numbers differ between units; 0 if free */
	struct origin_name name;
};

#define ORIGINS_BITS 14

int die_names_open(struct die_names *n, struct die_lookup *lookup, struct die_text *strings,
		   struct debug_report *report, struct err *err)
{
	*n = (struct die_names){
		.lookup = lookup,
		.strings = strings,
		.report = report,
		.origins = calloc((size_t)1 << ORIGINS_BITS, sizeof(struct origin_memo)),
	};
	return n->origins ? 0 : err_no_memory(err);
}

void die_names_close(struct die_names *n)
{
	free(n->origins);
}

static int follow_origins(struct die_names *n, struct current_unit *c, const struct die_file *f,
			  uint64_t off, struct origin_name *ret, struct err *err)
{
	const char *linkage_name = NULL, *name = NULL;
	struct bytes in;
	struct die d;
	int rc;

	*ret = (struct origin_name){0};
	for (uint64_t hops = 0; off && hops < LIMIT_ORIGIN_HOPS && !linkage_name; hops++) {
		struct scope_name own;
		uint64_t line, file;

		if (!die_lookup_die(n->lookup, f, off, &in, &d))
			break;
		own = die_scope_name(&d, n->report);
		linkage_name = own.linkage_name;
		if (!name)
			name = own.name;
		if (!ret->decl_line) {
			ret->decl_line = die_number(&d, DIE_DECL_LINE, &line) ? (uint32_t)line : 0;
			/* A file number is valid only in the unit of its DIE. */
			if (d.unit == &c->unit && die_number(&d, DIE_DECL_FILE, &file)) {
				ret->has_decl_file = true;
				ret->decl_file = current_unit_file(c, file);
			}
		}
		off = own.origin;
		f = own.file;
	}
	ret->is_linkage = linkage_name != NULL;
	rc = die_text_id(n->strings, linkage_name ? linkage_name : name, &ret->name, err);
	return rc < 0 ? rc : 0;
}

static int read_name_at(struct die_names *n, struct current_unit *c, const struct die_file *f,
			uint64_t off, struct origin_name *ret, struct err *err)
{
	uint64_t hash = off * UINT64_C(0x9e3779b97f4a7c15);
	struct origin_memo *m = &n->origins[hash >> (64 - n->bits)];

	if (m->stamp != n->stamp || m->off != off || m->file != f) {
		TRY(follow_origins(n, c, f, off, ret, err));
		*m = (struct origin_memo){.file = f, .off = off, .stamp = n->stamp, .name = *ret};
	}
	*ret = m->name;
	return 0;
}

static int resolve_scope(struct die_names *n, struct current_unit *c, const struct scope_name *from,
			 struct debug_scope *scope, struct err *err)
{
	struct origin_name o = {.name = DEBUG_NONE};
	const char *own;

	if (from->origin)
		TRY(read_name_at(n, c, from->file, from->origin, &o, err));
	own = from->linkage_name ? from->linkage_name : o.is_linkage ? NULL : from->name;
	scope->name = o.name;
	if (!scope->decl_line) {
		scope->decl_line = o.decl_line;
		if (o.has_decl_file)
			scope->decl_file = o.decl_file;
	}
	return own && die_text_id(n->strings, own, &scope->name, err) < 0 ? ERR_MEMORY : 0;
}

int die_names_resolve(struct die_names *n, struct current_unit *c, const struct die_scopes *scopes,
		      struct err *err)
{
	n->stamp++;
	/* There are no more origins than scopes, so a small unit needs only a small part of the
	 * cache. */
	n->bits = 4;
	while (n->bits < ORIGINS_BITS && 2 * scopes->count >> n->bits)
		n->bits++;
	for (size_t i = 0; i < scopes->count; i++)
		TRY(resolve_scope(n, c, &scopes->names[i], &scopes->list[i], err));
	return 0;
}
