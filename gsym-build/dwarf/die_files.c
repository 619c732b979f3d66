/* SPDX-License-Identifier: Apache-2.0 */
#include "die_files.h"

#include <dwarf.h>
#include <stdlib.h>

#include "sort.h"

void die_files_close(struct die_files *x)
{
	die_file_close(&x->image);
	die_file_close(&x->alt);
	for (size_t i = 0; i < x->split_count; i++)
		die_file_close(&x->split[i]);
	free(x->split);
	free(x->units);
}

/* Reports damage in a companion, so that the table is still built. Returns ERR_MEMORY if memory was
 * out. */
static int leave_out_companion(struct die_notes *notes, const char *what, const struct err *why,
			       struct err *err)
{
	if (why->code == ERR_MEMORY)
		return err_set(err, ERR_MEMORY, "%s: %s", what, why->message);
	die_notes_reason(notes, what, why);
	return 0;
}

/* Returns the length of the header of .debug_str_offsets.dwo. Only DWARF 5 has one, and a split
 * unit has no base attribute that skips it. */
static uint64_t str_offsets_header(const struct die_unit *u)
{
	return u->encoding.version < 5 ? 0 : u->encoding.offset_size == 4 ? 8 : 16;
}

/* Finds the id of a unit that may be split. Returns false if it has none. */
static bool split_id_of(struct die_lookup *lookup, struct die_unit *u, uint64_t *ret)
{
	const struct die_table *t;
	struct bytes in;
	struct die d;

	*ret = u->dwo_id;
	if (u->encoding.version >= 5)
		return u->type == DW_UT_split_compile;
	return !die_lookup_unit(lookup, u, &t, &in, &d, NULL) && d.abbrev &&
	       die_number(&d, DIE_DWO_ID, ret);
}

static int open_split_file(struct die_files *x, struct image *im, struct err *err)
{
	struct die_file *f = &x->split[x->split_count++];
	int rc = die_file_open(f, im, DIE_FILE_SPLIT, x->image.strings.text, err);

	f->addr = x->image.addr;
	f->alt = x->image.alt;
	return rc;
}

static int open_dwo(struct die_files *x, struct image *im, struct die_lookup *lookup,
		    struct err *err)
{
	struct die_file *f = &x->split[x->split_count];

	TRY(open_split_file(x, im, err));
	TRY(die_file_list_units(f, err));
	for (size_t i = 0; i < f->unit_count; i++) {
		struct die_unit *u = &f->units[i];
		uint64_t id;

		u->str_base = str_offsets_header(u);
		if (!split_id_of(lookup, u, &id))
			continue;
		if (!GROW(x->units, &x->units_cap, x->unit_count + 1, SIZE_MAX))
			return err_no_memory(err);
		x->units[x->unit_count++] = (struct die_split_unit){.id = id, .unit = *u};
	}
	return 0;
}

static int open_dwp(struct die_files *x, struct image *im, struct err *err)
{
	struct die_section index;

	TRY(open_split_file(x, im, err));
	TRY(die_section_load(&index, im, ".debug_cu_index", err));
	return dwp_index_open(&x->index, index.p, index.len, err);
}

static int open_alt(struct die_files *x, struct image *im, struct err *err)
{
	int rc = die_file_open(&x->alt, im, DIE_FILE_ALT, x->image.strings.text, err);

	if (!rc)
		rc = die_file_list_units(&x->alt, err);
	if (rc) {
		die_file_close(&x->alt);
		return rc;
	}
	x->alt.addr = x->image.addr;
	x->image.alt = x->alt.alt = &x->alt;
	return 0;
}

int die_files_open(struct die_files *x, struct image *im, const struct die_companions *c,
		   struct debug_text *text, struct die_lookup *lookup, struct die_notes *notes,
		   struct err *err)
{
	struct err why = {0};

	TRY(die_file_open(&x->image, im, DIE_FILE_IMAGE, text, err));
	if (c->alt && open_alt(x, c->alt, &why))
		TRY(leave_out_companion(notes, "alternate file", &why, err));
	if (!c->dwo_count && !c->dwp)
		return 0;
	x->split = calloc(c->dwo_count + 1, sizeof(*x->split));
	if (!x->split)
		return err_no_memory(err);
	for (size_t i = 0; i < c->dwo_count; i++)
		if (open_dwo(x, c->dwos[i], lookup, &why))
			TRY(leave_out_companion(notes, ".dwo file", &why, err));
	if (x->unit_count)
		qsort(x->units, x->unit_count, sizeof(*x->units), compare_u64);
	if (c->dwp && open_dwp(x, c->dwp, &why))
		return leave_out_companion(notes, ".dwp file", &why, err);
	return 0;
}

bool die_files_unit_of_row(const struct die_file *f, enum dwp_section info,
			   const struct dwp_row *row, struct die_unit *ret)
{
	uint64_t off = row->off[info], len = row->len[info];
	struct err why;

	if (!f->whole.p || off > f->whole.len || len > f->whole.len - off ||
	    die_unit_header(ret, f->whole.p + off, len < DIE_HEADER_MAX ? len : DIE_HEADER_MAX, off,
			    off + len, f->is_types, &why))
		return false;
	ret->file = f;
	ret->p = f->whole.p + off;
	ret->abbrev_off += row->off[DWP_ABBREV];
	ret->str_base = row->off[DWP_STR_OFFSETS] + str_offsets_header(ret);
	ret->line_base = row->off[DWP_LINE];
	ret->rnglists_base = row->off[DWP_RNGLISTS];
	return true;
}

int die_files_find_split(const struct die_files *x, const struct die *d, struct die_unit *ret)
{
	struct die_split_unit key = {.id = d->unit->dwo_id};
	const struct die_split_unit *found;
	struct dwp_row row;

	if (d->unit->type != DW_UT_skeleton &&
	    (d->v.form[DIE_DWO_NAME] == 0 || !die_number(d, DIE_DWO_ID, &key.id)))
		return 0;
	found = x->unit_count ? bsearch(&key, x->units, x->unit_count, sizeof(key), compare_u64)
			      : NULL;
	if (found) {
		*ret = found->unit;
		return 1;
	}
	return dwp_index_find(&x->index, key.id, &row) &&
	       die_files_unit_of_row(&x->split[x->split_count - 1], DWP_INFO, &row, ret);
}

uint64_t die_files_split_len(const struct die_files *x)
{
	uint64_t len = 0;

	for (size_t i = 0; i < x->split_count; i++)
		len += x->split[i].whole.len + x->split[i].line.len;
	return len;
}

uint64_t die_files_split_ranges_len(const struct die_files *x)
{
	uint64_t len = 0;

	for (size_t i = 0; i < x->split_count; i++)
		len += x->split[i].rnglists.len;
	return len;
}
