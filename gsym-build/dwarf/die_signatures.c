/* SPDX-License-Identifier: Apache-2.0 */
#include "die_signatures.h"

#include <dwarf.h>
#include <stdlib.h>

#include "bisect.h"

static int add_type_units(struct die_signatures *x, const struct die_file *f, struct err *err)
{
	for (size_t i = 0; i < f->unit_count; i++) {
		const struct die_unit *u = &f->units[i];

		if (u->type != DW_UT_type && u->type != DW_UT_split_type)
			continue;
		if (!GROW(x->list, &x->cap, x->count + 1, SIZE_MAX))
			return err_no_memory(err);
		x->list[x->count] = (struct die_signature){.id = u->signature,
							   .file = f,
							   .off = u->off + u->type_off,
							   .order = x->count};
		x->count++;
	}
	return 0;
}

/* Adds a section of type units, which use the other sections of `of`. */
static struct die_file *add_types_file(struct die_signatures *x, const struct die_file *of,
				       struct die_section whole, bool is_types)
{
	struct die_file *f = &x->files[x->file_count++];

	*f = (struct die_file){
		.abbrev = of->abbrev,
		.addr = of->addr,
		.alt = of->alt,
		.strings = {.str = of->strings.str,
			    .line_str = of->strings.line_str,
			    .str_offsets = of->strings.str_offsets},
		.whole = whole,
		.is_types = is_types,
	};
	return f;
}

/* Loads a section and returns whether it is there. An unreadable one is treated as missing; its
 * types are shown as "?". */
static bool load_types_section(struct image *im, const char *name, struct die_section *ret)
{
	struct err why;

	return !die_section_load(ret, im, name, &why) && ret->p;
}

static int compare_units(const void *va, const void *vb)
{
	const struct die_unit *a = va, *b = vb;

	return (a->off > b->off) - (a->off < b->off);
}

/* The index of a package says which parts of the other sections belong to a type unit. */
static int add_package(struct die_signatures *x, const struct die_file *package, struct image *im,
		       struct err *err)
{
	struct die_section section, types = package->whole;
	struct dwp_index index;
	struct die_file *f;
	struct err why;
	bool is_types;

	if (!load_types_section(im, ".debug_tu_index", &section) ||
	    dwp_index_open(&index, section.p, section.len, &why))
		return 0;
	is_types = index.columns[DWP_TYPES] != DWP_NO_COLUMN;
	if (is_types && !load_types_section(im, ".debug_types.dwo", &types))
		return 0;
	f = add_types_file(x, package, types, is_types);
	for (uint32_t i = 0; i < index.slot_count; i++) {
		struct dwp_row row;
		struct die_unit u;

		if (dwp_index_slot(&index, i, &row) &&
		    die_files_unit_of_row(f, is_types ? DWP_TYPES : DWP_INFO, &row, &u) &&
		    die_file_add_unit(f, &u, err))
			return ERR_MEMORY;
	}
	if (f->unit_count)
		qsort(f->units, f->unit_count, sizeof(*f->units), compare_units);
	return add_type_units(x, f, err);
}

static int add_signature_file(struct die_signatures *x, const struct die_file *of, struct image *im,
			      const char *name, struct err *err)
{
	struct die_section section;
	struct die_file *types;

	if (add_type_units(x, of, err))
		return ERR_MEMORY;
	if (!load_types_section(im, name, &section))
		return 0;
	types = add_types_file(x, of, section, true);
	return die_file_list_units(types, err) ? ERR_MEMORY : add_type_units(x, types, err);
}

static int compare_signatures(const void *va, const void *vb)
{
	const struct die_signature *a = va, *b = vb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

int die_signatures_open(struct die_signatures *x, struct image *im, const struct die_files *files,
			const struct die_companions *c, struct err *err)
{
	size_t loose = files->split_count < c->dwo_count ? files->split_count : c->dwo_count;

	x->files = calloc(c->dwo_count + 2, sizeof(*x->files));
	if (!x->files)
		return err_no_memory(err);
	TRY(add_signature_file(x, &files->image, im, ".debug_types", err));
	for (size_t i = 0; i < loose; i++)
		TRY(add_signature_file(x, &files->split[i], c->dwos[i], ".debug_types.dwo", err));
	if (files->split_count > c->dwo_count)
		TRY(add_package(x, &files->split[c->dwo_count], c->dwp, err));
	if (x->count)
		qsort(x->list, x->count, sizeof(*x->list), compare_signatures);
	return 0;
}

void die_signatures_close(struct die_signatures *x)
{
	for (size_t i = 0; i < x->file_count; i++)
		die_file_close(&x->files[i]);
	free(x->files);
	free(x->list);
}

bool die_signatures_find(const struct die_signatures *x, uint64_t id,
			 const struct die_file **ret_file, uint64_t *ret)
{
	size_t at = BISECT(x->count, i, x->list[i].id < id);

	if (at == x->count || x->list[at].id != id)
		return false;
	*ret_file = x->list[at].file;
	*ret = x->list[at].off;
	return true;
}
