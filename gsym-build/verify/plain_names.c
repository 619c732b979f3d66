/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves names along DW_AT_abstract_origin and DW_AT_specification: the first linkage name in the
 * chain is taken, else the first plain name. Chains may leave the unit; a hop limit ends cycles.
 * Only scopes with code are resolved, which saves nine in ten hops in C++.
 */
#include "plain_priv.h"

#include <string.h>

#include "limits.h"

/* The names and declaration that the chain of origins from one DIE leads to. */
struct origin_names {
	const char *linkage_name, *name;
	uint64_t decl_file, decl_line;
	bool has_decl_file;
};

static void follow_die_origins(struct plain_reader *r, struct die_ref at, struct origin_names *ret)
{

	*ret = (struct origin_names){0};
	for (uint64_t hops = 0; at.off && hops < LIMIT_ORIGIN_HOPS && !ret->linkage_name; hops++) {
		Dwarf_Debug dbg = at.in_alt ? r->alt.dbg : r->dbg;
		Dwarf_Error e = NULL;
		Dwarf_Die die = NULL;
		struct plain_die d;
		int rc;

		if (dwarf_offdie_b(dbg, at.off, 1, &die, &e) != DW_DLV_OK) {
			if (e)
				dwarf_dealloc(dbg, e, DW_DLA_ERROR);
			return;
		}
		rc = plain_die_read(r, dbg, die, &d, NULL);
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
		if (rc)
			return;
		r->report->needs_alt_file |= d.in_alt_file;
		ret->linkage_name = d.linkage_name;
		if (!ret->name)
			ret->name = d.name;
		if (!ret->decl_line) {
			ret->decl_line = d.decl_line;
			/* A file number is valid only in the unit of its DIE. */
			if (d.has_decl_file && !at.in_alt && at.off >= r->unit_off &&
			    at.off < r->unit_end) {
				ret->has_decl_file = true;
				ret->decl_file = d.decl_file;
			}
		}
		at = d.origin;
	}
}

static const struct origin_names *names_at(struct plain_reader *r, struct die_ref at)
{
	uint64_t key[2] = {at.off, at.in_alt};
	bool is_new;
	uint32_t id = intern_add(&r->origins, key, sizeof(key), &is_new);

	if (id == INTERN_FULL ||
	    !GROW(r->origin_names, &r->origin_names_cap, (size_t)id + 1, SIZE_MAX))
		return NULL;
	if (is_new)
		follow_die_origins(r, at, &r->origin_names[id]);
	return &r->origin_names[id];
}

int plain_names_resolve(struct plain_reader *r, struct err *err)
{
	static const struct origin_names none;

	intern_reset(&r->origins);
	for (size_t i = 0; i < r->scope_count; i++) {
		const struct scope_names *s = &r->scope_names[i];
		struct debug_scope *scope = &r->scopes[i];
		const struct origin_names *o = &none;
		const char *name;

		if (!s->needed)
			continue;
		if (s->origin.off)
			o = names_at(r, s->origin);
		if (!o)
			return err_no_memory(err);
		name = s->linkage_name   ? s->linkage_name
		       : o->linkage_name ? o->linkage_name
		       : s->name         ? s->name
					 : o->name;
		if (name && *name) {
			scope->name = debug_string(r->text, name, strnlen(name, LIMIT_NAME_LEN));
			if (scope->name == DEBUG_NONE)
				return err_no_memory(err);
		}
		if (!scope->decl_line) {
			scope->decl_line = (uint32_t)o->decl_line;
			if (o->has_decl_file)
				scope->decl_file = plain_rows_file(&r->lines, o->decl_file,
								   r->comp_dir, r->text);
		}
	}
	return 0;
}
