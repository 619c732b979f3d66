/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type units, which others refer to by a signature (DW_FORM_ref_sig8; DWARF 5 section 7.32): they
 * stand in .debug_info since DWARF 5 and in .debug_types before, and in files of split units like
 * the rest. They are read only when types are wanted.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "die_priv.h"

static int add_type_units(struct die_signatures *x, struct die_file *f, struct err *err)
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

/* Adds a section of type units that refer to the other sections of `of`. NULL: there is no such
 * section. */
static struct die_file *add_section(struct die_signatures *x, const struct die_file *of,
				    struct image *im, const char *name)
{
	struct die_file *f = &x->files[x->file_count];
	struct err why;

	*f = (struct die_file){
		.abbrev = of->abbrev,
		.strings = {.str = of->strings.str,
			    .line_str = of->strings.line_str,
			    .str_offsets = of->strings.str_offsets},
		.is_types = true,
	};
	/* An unreadable section is treated as missing; its types are shown as "?". */
	if (die_section_load(&f->whole, im, name, &why) || !f->whole.p)
		return NULL;
	x->file_count++;
	return f;
}

static int compare_units(const void *va, const void *vb)
{
	const struct die_unit *a = va, *b = vb;

	return (a->off > b->off) - (a->off < b->off);
}

/* The index of a package says which parts of the other sections belong to a type unit. */
static int add_package(struct die_scan *s, struct image *im, struct err *err)
{
	struct die_file *package = &s->split.files[s->split.file_count - 1], *f = package;
	struct dwp_index index;
	struct die_section section;
	struct err why;

	if (die_section_load(&section, im, ".debug_tu_index", &why) || !section.p ||
	    dwp_index_open(&index, section.p, section.len, &why))
		return 0;
	if (index.columns[DWP_TYPES] != DWP_NO_COLUMN)
		f = add_section(&s->signatures, package, im, ".debug_types.dwo");
	for (uint32_t i = 0; f && i < index.slot_count; i++) {
		struct dwp_row row;
		struct die_unit u;

		if (!dwp_index_slot(&index, i, &row) ||
		    !die_split_unit_of_row(f, f->is_types ? DWP_TYPES : DWP_INFO, &row, &u))
			continue;
		if (!GROW(f->units, &f->units_cap, f->unit_count + 1, SIZE_MAX))
			return err_no_memory(err);
		f->units[f->unit_count++] = u;
	}
	if (!f || !f->unit_count)
		return 0;
	qsort(f->units, f->unit_count, sizeof(*f->units), compare_units);
	return add_type_units(&s->signatures, f, err);
}

static int add_signature_file(struct die_scan *s, struct die_file *of, struct image *im, bool split,
			      struct err *err)
{
	struct die_file *types;
	int rc = add_type_units(&s->signatures, of, err);

	if (rc)
		return rc;
	types = add_section(&s->signatures, of, im, split ? ".debug_types.dwo" : ".debug_types");
	if (!types)
		return 0;
	rc = die_units_list(types, err);
	return rc ? rc : add_type_units(&s->signatures, types, err);
}

static int compare_signatures(const void *va, const void *vb)
{
	const struct die_signature *a = va, *b = vb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

int die_signatures_open(struct die_scan *s, const struct die_companions *c, struct err *err)
{
	struct die_signatures *x = &s->signatures;
	size_t loose = s->split.file_count < c->dwo_count ? s->split.file_count : c->dwo_count;
	int rc;

	x->files = calloc(c->dwo_count + 2, sizeof(*x->files));
	if (!x->files)
		return err_no_memory(err);
	rc = add_signature_file(s, &s->file, s->im, false, err);
	for (size_t i = 0; i < loose && !rc; i++)
		rc = add_signature_file(s, &s->split.files[i], c->dwos[i], true, err);
	if (!rc && c->dwp && s->split.file_count > c->dwo_count)
		rc = add_package(s, c->dwp, err);
	if (x->count)
		qsort(x->list, x->count, sizeof(*x->list), compare_signatures);
	return rc;
}

void die_signatures_close(struct die_scan *s)
{
	for (size_t i = 0; i < s->signatures.file_count; i++)
		die_file_close(&s->signatures.files[i]);
	free(s->signatures.files);
	free(s->signatures.list);
}

bool die_signatures_find(const struct die_scan *s, uint64_t id, struct die_file **ret_file,
			 uint64_t *ret)
{
	const struct die_signatures *x = &s->signatures;
	size_t low = 0, count = x->count;

	while (count) { /* binary search for the first entry with that id */
		size_t half = count / 2;

		if (x->list[low + half].id < id) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	if (low == x->count || x->list[low].id != id)
		return false;
	*ret_file = x->list[low].file;
	*ret = x->list[low].off;
	return true;
}
