/* SPDX-License-Identifier: Apache-2.0 */
#include "current_unit.h"

#include <dwarf.h>
#include <stdlib.h>

void current_unit_set(struct current_unit *c, const struct die_unit *u)
{
	line_table_done(&c->lines);
	c->unit = *u;
	c->name = c->comp_dir = NULL;
	c->ranges.count = c->rows.count = 0;
}

void current_unit_close(struct current_unit *c)
{
	line_table_done(&c->lines);
	free(c->rows.rows);
	free(c->ranges.list);
	free(c->scratch.list);
}

uint32_t current_unit_file(struct current_unit *c, uint64_t number)
{
	return line_table_file(&c->lines, number, c->comp_dir, c->text);
}

/* Counts the bytes of a list that was read, and returns rc, or ERR_LIMIT if they are too many. A
 * list may be in the image or in any file of split units, so their lengths are added. */
static int count_list(struct current_unit *c, int rc, struct err *err)
{
	const struct die_file *image = &c->files->image;
	uint64_t len =
		image->ranges.len + image->rnglists.len + die_files_split_ranges_len(c->files);

	if (!die_repeats_add(c->repeats, DIE_REPEATED_RANGES, c->scratch.read_len, len))
		return die_repeats_check(c->repeats, err);
	return rc;
}

int current_unit_ranges(struct current_unit *c, const struct die *d, struct err *err)
{
	uint64_t low, high, off;

	c->scratch.count = 0;
	c->scratch.read_len = 0;
	if (d->v.form[DIE_RANGES] == DW_FORM_rnglistx)
		return count_list(
			c,
			range_list_read_index(&c->source, d->v.value[DIE_RANGES], &c->scratch, err),
			err);
	if (die_section_offset(d, DIE_RANGES, &off)) {
		if (!CHECKED_ADD(off, c->ranges_bias, &off))
			return err_set(err, ERR_DATA, "range list beyond its section");
		return count_list(c, range_list_read(&c->source, off, &c->scratch, err), err);
	}
	if (!die_address(d, DIE_LOW, &low))
		return 0;
	if (!die_address(d, DIE_HIGH, &high)) {
		if (!die_number(d, DIE_HIGH, &high))
			return 0;
		high += low;
	}
	return range_list_add(&c->scratch, low, high) ? 0 : range_list_full(&c->scratch, err);
}

/* Sets how range lists of the unit are read, with the bases in its DIE d. */
static void set_range_source(struct current_unit *c, const struct die *d)
{
	const struct die_file *f = c->unit.file;
	uint64_t base;

	c->ranges_bias = 0;
	c->source = (struct range_source){
		.ranges = f->ranges.p,
		.ranges_len = f->ranges.len,
		.rnglists = f->rnglists.p,
		.rnglists_len = f->rnglists.len,
		.addr = f->addr.p,
		.addr_len = f->addr.len,
		.version = c->unit.encoding.version,
		.address_size = c->unit.encoding.address_size,
		.offset_size = c->unit.encoding.offset_size,
		.base = die_address(d, DIE_LOW, &base) ? base : 0,
		.addr_base = c->unit.addr_base,
		.rnglists_base = die_section_offset(d, DIE_RNGLISTS_BASE, &base) ? base : 0,
	};
}

/* Sets is_c and is_objective, by DWARF 5 table 7.17 and later additions to it. */
static void read_language(struct current_unit *c, const struct die *d)
{
	uint64_t language = 0;

	(void)die_number(d, DIE_LANGUAGE, &language);
	c->is_objective = language == DW_LANG_ObjC;
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_ObjC:
	case DW_LANG_C11:
	case 0x2c: /* C17: <dwarf.h> has no name for it */
	case 0x3e: /* C23 */
		c->is_c = true;
		break;
	default:
		c->is_c = false;
	}
}

int current_unit_open(struct current_unit *c, struct die_lookup *lookup,
		      const struct die_table **ret_table, struct bytes *in, struct die *ret,
		      struct err *err)
{
	uint8_t type = c->unit.type;
	int rc;

	if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial)
		return 0;
	if (!c->unit.p)
		return 0; /* the unit holds no wanted address */
	rc = die_lookup_unit(lookup, &c->unit, ret_table, in, ret, err);
	/* Partial and type units are read only through references. Their line table belongs to
	 * another unit. */
	if (rc || !ret->abbrev || ret->abbrev->tag == DW_TAG_partial_unit ||
	    ret->abbrev->tag == DW_TAG_type_unit)
		return rc;
	c->name = die_string(ret, DIE_NAME);
	c->comp_dir = die_string(ret, DIE_COMP_DIR);
	read_language(c, ret);
	set_range_source(c, ret);
	TRY(current_unit_ranges(c, ret, err));
	for (size_t i = 0; i < c->scratch.count; i++)
		if (!range_list_add(&c->ranges, c->scratch.list[i].start, c->scratch.list[i].end))
			return range_list_full(&c->ranges, err);
	if (!(ret->abbrev->flags & DIE_HAS_CHILDREN))
		*in = bytes_of(NULL, 0);
	return 1;
}

/* The line table of a split unit is in its own file, but .debug_line_str is only in the image. */
static struct line_sections line_sections_of(const struct current_unit *c)
{
	const struct die_file *f = c->unit.file;
	const struct die_section *line_str = &c->files->image.strings.line_str;

	return (struct line_sections){
		.line = f->line.p,
		.line_len = f->line.len,
		.str = f->strings.str.p,
		.str_len = f->strings.str.len,
		.line_str = line_str->p,
		.line_str_len = line_str->len,
	};
}

int current_unit_read_lines(struct current_unit *c, const struct die *d,
			    const struct unit_filter *wanted, struct die_notes *notes,
			    struct err *err)
{
	struct line_sections sections = line_sections_of(c);
	uint32_t number = 0, id = DEBUG_NONE; /* file of the previous row */
	uint64_t off;
	int rc;

	if (!die_section_offset(d, DIE_STMT_LIST, &off))
		return 0;
	c->lines.want_columns = c->columns;
	if (die_repeats_is_over(c->repeats, DIE_REPEATED_LINES))
		return 0;
	rc = line_table_read(&c->lines, &sections, off, &c->rows, err);
	if (rc == ERR_MEMORY)
		return rc;
	if (rc)
		die_notes_unit(notes, "line table of ", c->unit.off, c->name, err);
	if (!die_repeats_add(c->repeats, DIE_REPEATED_LINES, c->lines.read_len, sections.line_len))
		return 0;
	unit_filter_trim_rows(wanted, &c->rows);
	for (size_t i = 0; i < c->rows.count; i++) {
		struct debug_row *row = &c->rows.rows[i];

		if (!i || row->file != number) {
			number = row->file;
			id = current_unit_file(c, number);
		}
		row->file = id;
		/* A line number without a file is useless. */
		if (row->file == DEBUG_NONE)
			row->line = row->column_word = 0;
	}
	return 0;
}

/* Reads the split unit's own file table, if it has one, because its file numbers refer to that
 * table. */
static int read_split_files(struct current_unit *c, const struct die *d, struct err *err)
{
	struct line_sections sections = line_sections_of(c);
	struct line_rows ignored = {0};
	struct line_table files = {0};
	uint64_t off;
	int rc;

	if (!sections.line || !die_section_offset(d, DIE_STMT_LIST, &off) ||
	    !CHECKED_ADD(off, c->unit.line_base, &off))
		return 0;
	/* Its rows are ignored, because the skeleton gave them. A damaged table may still have good
	 * files. */
	rc = line_table_read(&files, &sections, off, &ignored, err);
	free(ignored.rows);
	(void)die_repeats_add(c->repeats, DIE_REPEATED_SPLIT, files.read_len,
			      die_files_split_len(c->files));
	line_table_done(&c->lines);
	c->lines = files;
	return rc == ERR_MEMORY ? rc : 0;
}

int current_unit_enter_split(struct current_unit *c, struct die_lookup *lookup,
			     const struct die *skeleton, const struct die_table **ret_table,
			     struct bytes *in, struct err *err)
{
	uint64_t addr_base = c->unit.addr_base, ranges_base = 0;
	struct die_unit *u = &c->unit, split;
	struct die d;
	int rc;

	if (!die_files_find_split(c->files, skeleton, &split) ||
	    !die_repeats_add(c->repeats, DIE_REPEATED_SPLIT, split.end - split.off,
			     die_files_split_len(c->files)))
		return 0;
	(void)die_section_offset(skeleton, DIE_RANGES_BASE, &ranges_base);
	*u = split;
	rc = die_lookup_unit(lookup, u, ret_table, in, &d, err);
	if (rc)
		return err_prefix(err, "split unit");
	if (!d.abbrev || !(d.abbrev->flags & DIE_HAS_CHILDREN))
		*in = bytes_of(NULL, 0);
	read_language(c, &d);
	u->addr_base = addr_base;
	c->source.version = u->encoding.version;
	c->source.address_size = u->encoding.address_size;
	c->source.offset_size = u->encoding.offset_size;
	c->ranges_bias = ranges_base;
	if (u->encoding.version >= 5) {
		/* Indexes are relative to the end of the header of the unit's own list table. */
		c->source.rnglists = u->file->rnglists.p;
		c->source.rnglists_len = u->file->rnglists.len;
		c->source.rnglists_base =
			u->rnglists_base + (u->encoding.offset_size == 4 ? 12 : 20);
		c->ranges_bias = u->rnglists_base;
	}
	TRY(read_split_files(c, &d, err));
	return 1;
}
