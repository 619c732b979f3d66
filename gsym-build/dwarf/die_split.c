/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that go with an image: the dwz alternate file, and split units (DWARF 5 section 7.3.2, and
 * the GNU extension to DWARF 4). A split unit is found by the id of its skeleton, and takes the
 * skeleton's place while its DIEs are read.
 */
#include <dwarf.h>
#include <stdio.h>

#include "die_priv.h"
#include "limits.h"

int die_units_list(struct die_file *f, struct err *err)
{
	struct err why;

	for (uint64_t off = 0; off < f->whole.len;) {
		uint64_t len = f->whole.len;
		uint64_t have = len - off < DIE_HEADER_MAX ? len - off : DIE_HEADER_MAX;
		struct die_unit u;
		int rc = die_unit_header(&u, f->whole.p + off, have, off, len, f->is_types, &why);

		if (rc && rc != ERR_UNSUPPORTED)
			return 0;
		u.file = f;
		u.p = f->whole.p + off;
		off = u.end;
		if (rc)
			continue;
		if (!GROW(f->units, &f->units_cap, f->unit_count + 1, SIZE_MAX))
			return err_set(err, ERR_MEMORY, "out of memory for units");
		f->units[f->unit_count++] = u;
	}
	return 0;
}

void die_file_close(struct die_file *f)
{
	die_text_close(&f->strings);
	free(f->units);
	*f = (struct die_file){0};
}

void die_companions_close(struct die_scan *s)
{
	if (s->alt)
		die_file_close(s->alt);
	free(s->alt);
	for (size_t i = 0; i < s->split.file_count; i++)
		die_file_close(&s->split.files[i]);
	free(s->split.files);
	free(s->split.units);
}

static int load_file(struct die_scan *s, struct die_file *f, struct image *im, bool split,
		     struct err *err)
{
	const struct {
		const char *name;
		struct die_section *ret;
		bool split_only;
	} wanted[] = {
		{split ? ".debug_info.dwo" : ".debug_info", &f->whole, false},
		{split ? ".debug_abbrev.dwo" : ".debug_abbrev", &f->abbrev, false},
		{".debug_line.dwo", &f->line, true},
		{".debug_rnglists.dwo", &f->rnglists, true},
	};
	int rc = die_text_open(&f->strings, im, split, s->text, err);

	for (size_t i = 0; i < ARRAY_LEN(wanted) && !rc; i++)
		if (split || !wanted[i].split_only)
			rc = die_section_load(wanted[i].ret, im, wanted[i].name, err);
	return rc;
}

/* Damage in a companion is only reported, so that the table is still built. */
static int leave_out_split(struct die_scan *s, const char *what, const struct err *why,
			   struct err *err)
{
	if (why->code == ERR_MEMORY)
		return err_set(err, ERR_MEMORY, "%s: %s", what, why->message);
	if (!s->report->skipped[0])
		snprintf(s->report->skipped, sizeof(s->report->skipped), "%s: %s", what,
			 why->message);
	return 0;
}

static int open_alt(struct die_scan *s, struct image *im, struct err *err)
{
	struct die_file *f = calloc(1, sizeof(*f));
	struct err why = {0};
	int rc;

	if (!f)
		return err_no_memory(err);
	rc = load_file(s, f, im, false, &why);
	if (!rc)
		rc = die_units_list(f, &why);
	if (!rc) {
		s->alt = f;
		return 0;
	}
	die_file_close(f);
	free(f);
	return leave_out_split(s, "alternate file", &why, err);
}

/* DWARF 5 gives .debug_str_offsets.dwo a header, and a split unit has no base attribute that skips
 * it. */
static uint64_t str_offsets_header(const struct die_unit *u)
{
	return u->encoding.version < 5 ? 0 : u->encoding.offset_size == 4 ? 8 : 16;
}

/* The id of a unit that may be split: 1; 0: it is none. */
static int split_id_of(struct die_scan *s, struct die_unit *u, uint64_t *ret)
{
	const struct die_table *t;
	struct bytes in;
	struct die d;

	*ret = u->dwo_id;
	if (u->encoding.version >= 5)
		return u->type == DW_UT_split_compile;
	return !die_unit_open(s, u, &t, &in, &d, NULL) && d.abbrev &&
	       die_number(&d, DIE_DWO_ID, ret);
}

static int compare_split_units(const void *va, const void *vb)
{
	const struct die_split_unit *a = va, *b = vb;

	return (a->id > b->id) - (a->id < b->id);
}

static int open_dwo(struct die_scan *s, struct image *im, struct err *err)
{
	struct die_split *x = &s->split;
	struct die_file *f = &x->files[x->file_count++];
	int rc = load_file(s, f, im, true, err);

	if (!rc)
		rc = die_units_list(f, err);
	for (size_t i = 0; i < f->unit_count && !rc; i++) {
		struct die_unit *u = &f->units[i];
		uint64_t id;

		u->str_base = str_offsets_header(u);
		if (!split_id_of(s, u, &id))
			continue;
		if (!GROW(x->units, &x->units_cap, x->unit_count + 1, SIZE_MAX))
			return err_set(err, ERR_MEMORY, "out of memory for split units");
		x->units[x->unit_count++] = (struct die_split_unit){.id = id, .unit = *u};
	}
	return rc;
}

static int open_dwp(struct die_scan *s, struct image *im, struct err *err)
{
	struct die_file *f = &s->split.files[s->split.file_count++];
	struct die_section index;
	int rc = load_file(s, f, im, true, err);

	if (!rc)
		rc = die_section_load(&index, im, ".debug_cu_index", err);
	return rc ? rc : dwp_index_open(&s->split.index, index.p, index.len, err);
}

int die_companions_open(struct die_scan *s, const struct die_companions *c, struct err *err)
{
	struct die_split *x = &s->split;
	int rc = c->alt ? open_alt(s, c->alt, err) : 0;

	if (rc || !(c->dwo_count || c->dwp))
		return rc;
	x->files = calloc(c->dwo_count + 1, sizeof(*x->files));
	if (!x->files)
		return err_no_memory(err);
	for (size_t i = 0; i < c->dwo_count && !rc; i++) {
		struct err why = {0};

		if (open_dwo(s, c->dwos[i], &why))
			rc = leave_out_split(s, ".dwo file", &why, err);
	}
	if (x->unit_count)
		qsort(x->units, x->unit_count, sizeof(*x->units), compare_split_units);
	if (!rc && c->dwp) {
		struct err why = {0};

		if (open_dwp(s, c->dwp, &why))
			rc = leave_out_split(s, ".dwp file", &why, err);
	}
	return rc;
}

int die_split_unit_of_row(struct die_file *f, enum dwp_section info, const struct dwp_row *row,
			  struct die_unit *ret)
{
	uint64_t off = row->off[info], len = row->len[info];
	struct err why;

	if (!f->whole.p || off > f->whole.len || len > f->whole.len - off ||
	    die_unit_header(ret, f->whole.p + off, len < DIE_HEADER_MAX ? len : DIE_HEADER_MAX, off,
			    off + len, f->is_types, &why))
		return 0;
	ret->file = f;
	ret->p = f->whole.p + off;
	ret->abbrev_off += row->off[DWP_ABBREV];
	ret->str_base = row->off[DWP_STR_OFFSETS] + str_offsets_header(ret);
	ret->line_base = row->off[DWP_LINE];
	ret->rnglists_base = row->off[DWP_RNGLISTS];
	return 1;
}

int die_split_find(struct die_scan *s, const struct die *d, struct die_unit *ret)
{
	const struct die_split *x = &s->split;
	struct die_split_unit key = {.id = d->unit->dwo_id};
	const struct die_split_unit *found;
	struct dwp_row row;

	if (d->unit->type != DW_UT_skeleton &&
	    (d->v.form[DIE_DWO_NAME] == 0 || !die_number(d, DIE_DWO_ID, &key.id)))
		return 0;
	found = x->unit_count
			? bsearch(&key, x->units, x->unit_count, sizeof(key), compare_split_units)
			: NULL;
	if (found) {
		*ret = found->unit;
		return 1;
	}
	return dwp_index_find(&x->index, key.id, &row) &&
	       die_split_unit_of_row(&x->files[x->file_count - 1], DWP_INFO, &row, ret);
}

/* Bytes that split units can read of their files. */
static uint64_t all_of(const struct die_split *x)
{
	uint64_t len = 0;

	for (size_t i = 0; i < x->file_count; i++)
		len += x->files[i].whole.len + x->files[i].line.len;
	return len;
}

bool die_split_count(struct die_scan *s, const struct die_unit *split)
{
	return die_repeats_add(s->repeats, DIE_REPEATED_SPLIT, split->end - split->off,
			       all_of(&s->split));
}

/* Reads the split unit's own file table, if it has one: its file numbers refer to that table. */
static void read_split_files(struct die_scan *s, const struct die *d)
{
	const struct die_section *line = &s->unit.file->line;
	struct line_sections sections = s->line_sections;
	struct line_rows ignored = {0};
	struct line_table files = {0};
	struct err why;
	uint64_t off;

	if (!line->p || !die_section_offset(d, DIE_STMT_LIST, &off) ||
	    !CHECKED_ADD(off, s->unit.line_base, &off))
		return;
	sections.line = line->p;
	sections.line_len = line->len;
	sections.str = s->unit.file->strings.str.p;
	sections.str_len = s->unit.file->strings.str.len;
	/* Its rows are ignored, because the skeleton gave them. A damaged table may still have good
	 * files. */
	(void)!line_table_read(&files, &sections, off, &ignored, &why);
	free(ignored.rows);
	(void)die_repeats_add(s->repeats, DIE_REPEATED_SPLIT, files.read_len, all_of(&s->split));
	line_table_done(&s->lines);
	s->lines = files;
}

int die_split_enter(struct die_scan *s, const struct die *skeleton, const struct die_unit *split,
		    const struct die_table **ret_table, struct bytes *in, struct err *err)
{
	struct die_unit *u = &s->unit;
	uint64_t addr_base = u->addr_base, ranges_base = 0;
	struct die d;
	int rc;

	(void)die_section_offset(skeleton, DIE_RANGES_BASE, &ranges_base);
	*u = *split;
	rc = die_unit_open(s, u, ret_table, in, &d, err);
	if (rc)
		return err_prefix(err, "split unit"), rc;
	if (!d.abbrev || !(d.abbrev->flags & DIE_HAS_CHILDREN))
		*in = bytes_of(NULL, 0);
	die_types_language(s, &d);
	u->addr_base = addr_base;
	s->ranges.version = u->encoding.version;
	s->ranges.address_size = u->encoding.address_size;
	s->ranges.offset_size = u->encoding.offset_size;
	s->ranges_bias = ranges_base;
	if (u->encoding.version >= 5) {
		/* Indexes are relative to the end of the header of the unit's own list table. */
		s->ranges.rnglists = u->file->rnglists.p;
		s->ranges.rnglists_len = u->file->rnglists.len;
		s->ranges.rnglists_base =
			u->rnglists_base + (u->encoding.offset_size == 4 ? 12 : 20);
		s->ranges_bias = u->rnglists_base;
	}
	read_split_files(s, &d);
	return 0;
}
