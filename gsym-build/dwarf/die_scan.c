/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the units of .debug_info in turn, and gives them to the sink. */
#include <dwarf.h>
#include <stdio.h>

#include "die_priv.h"
#include "limits.h"
#include "rsym_report.h"

int die_table_of(struct die_scan *s, const struct die_unit *u, const struct die_table **ret,
		 struct err *err)
{
	struct unit_encoding encoding = u->encoding;
	struct die_table *t;
	int rc;

	encoding.columns = s->columns;
	encoding.types = s->want_types;
	for (size_t i = 0; i < DIE_TABLES; i++) {
		t = &s->tables[(s->table_next + DIE_TABLES - 1 - i) % DIE_TABLES];
		if (t->abbrevs && s->table_sections[t - s->tables] == u->file->abbrev.p &&
		    t->off == u->abbrev_off &&
		    memcmp(&t->encoding, &encoding, sizeof(t->encoding)) == 0) {
			*ret = t;
			return 0;
		}
	}
	t = &s->tables[s->table_next];
	die_table_done(t);
	rc = die_table_compile(t, u->file->abbrev.p, u->file->abbrev.len, u->abbrev_off, encoding,
			       err);
	if (rc)
		return rc;
	s->table_sections[s->table_next] = u->file->abbrev.p;
	s->table_next = (s->table_next + 1) % DIE_TABLES;
	*ret = t;
	return 0;
}

/* `what` stands before "unit at", or is "". */
static void note_skipped_unit(struct die_scan *s, const char *what, const struct err *why)
{
	char part[64];

	snprintf(part, sizeof(part), "%sunit at 0x%llx", what, (unsigned long long)s->unit.off);
	if (!s->report->skipped[0])
		snprintf(s->report->skipped, sizeof(s->report->skipped), "%s: %s", part,
			 why->message);
	if (s->notes)
		rsym_report_note(s->notes, part, s->unit_name ? s->unit_name : "", why->message);
}

/* Notes a skeleton unit (DWARF 5 section 3.1.2, or DW_AT_GNU_dwo_name before) whose code another
 * file describes. One without code is not noted: clang describes modules by such units. */
static void note_split_unit(struct die_scan *s, const struct die *d)
{
	const char *name = die_string(s, d, DIE_DWO_NAME), *dir = die_string(s, d, DIE_COMP_DIR);
	struct err why;

	if (!s->unit_ranges.count || (!name && s->unit.type != DW_UT_skeleton))
		return;
	err_set(&why, ERR_NOT_FOUND, "its code is described in '%s', which is not there",
		name ? name : "?");
	if (s->missing && name) {
		buf_str(s->missing, dir ? dir : "");
		buf_u8(s->missing, 0);
		buf_str(s->missing, name);
		buf_u8(s->missing, 0);
	}
	s->report->units_skipped++;
	note_skipped_unit(s, "", &why);
}

/* A damaged line table is only noted, so that the functions are kept. */
static void read_unit_lines(struct die_scan *s, const struct die *d)
{
	uint32_t number = 0, id = DEBUG_NONE; /* file of the previous row */
	struct err why;
	uint64_t off;

	s->comp_dir = die_string(s, d, DIE_COMP_DIR);
	if (!die_section_offset(d, DIE_STMT_LIST, &off))
		return;
	s->lines.want_columns = s->columns;
	if (die_repeats_is_over(s->repeats, DIE_REPEATED_LINES))
		return;
	if (line_table_read(&s->lines, &s->line_sections, off, &s->rows, &why))
		note_skipped_unit(s, "line table of ", &why);
	if (!die_repeats_add(s->repeats, DIE_REPEATED_LINES, s->lines.read_len,
			     s->line_sections.line_len))
		return;
	unit_filter_trim_rows(&s->wanted, &s->rows);
	for (size_t i = 0; i < s->rows.count; i++) {
		struct debug_row *row = &s->rows.rows[i];

		if (!i || row->file != number) {
			number = row->file;
			id = line_table_file(&s->lines, number, s->comp_dir, s->text);
		}
		row->file = id;
		/* A line number without a file is useless. */
		if (row->file == DEBUG_NONE)
			row->line = row->column_word = 0;
	}
}

/* 1: s->unit was read; 0: it has no code of its own; negative. */
static int scan_unit(struct die_scan *s, struct err *err)
{
	struct die_unit *u = &s->unit;
	const struct die_table *t;
	struct die_unit split;
	struct bytes in;
	struct die d;
	uint64_t base;
	int rc;

	s->scope_count = s->span_count = s->unit_ranges.count = s->rows.count = 0;
	if (u->type == DW_UT_type || u->type == DW_UT_split_type || u->type == DW_UT_partial)
		return 0;
	if (!u->p)
		return 0; /* it holds no wanted address */
	rc = die_unit_open(s, u, &t, &in, &d, err);
	/* Partial and type units are read only through references. Their line table belongs to
	 * another unit. */
	if (rc || !d.abbrev || d.abbrev->tag == DW_TAG_partial_unit ||
	    d.abbrev->tag == DW_TAG_type_unit)
		return rc;
	s->unit_name = die_string(s, &d, DIE_NAME);
	s->ranges.rnglists = s->rnglists.p;
	s->ranges.rnglists_len = s->rnglists.len;
	s->ranges_bias = 0;
	s->ranges.version = u->encoding.version;
	s->ranges.address_size = u->encoding.address_size;
	s->ranges.offset_size = u->encoding.offset_size;
	s->ranges.base = die_address(s, &d, DIE_LOW, &base) ? base : 0;
	s->ranges.addr_base = u->addr_base;
	s->ranges.rnglists_base = die_section_offset(&d, DIE_RNGLISTS_BASE, &base) ? base : 0;
	rc = die_ranges_read(s, &d, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < s->scratch.count; i++)
		if (!range_list_add(&s->unit_ranges, s->scratch.list[i].start,
				    s->scratch.list[i].end))
			return range_list_full(&s->unit_ranges, err);
	if (unit_filter_need(&s->wanted, u->off) == UNIT_FILTER_ASK && s->unit_ranges.count &&
	    !unit_filter_overlaps(&s->wanted, s->unit_ranges.list, s->unit_ranges.count))
		return 0;
	if (!(d.abbrev->flags & DIE_HAS_CHILDREN))
		in = bytes_of(NULL, 0);
	read_unit_lines(s, &d);
	die_types_language(s, &d);
	if (die_split_find(s, &d, &split) && die_split_count(s, &split))
		rc = die_split_enter(s, &d, &split, &t, &in, err);
	else
		note_split_unit(s, &d);
	if (!rc && in.left)
		rc = die_walk(s, t, &in, err);
	if (!rc)
		rc = die_names_resolve(s, err);
	if (!rc)
		rc = die_types_resolve(s, err);
	if (!rc)
		unit_filter_mark_found(&s->wanted, s->spans, s->span_count);
	return rc ? rc : 1;
}

static int give_scanned_unit(struct die_scan *s, struct err *err)
{
	struct debug_unit u = {
		.scopes = s->scopes,
		.spans = s->spans,
		.rows = s->rows.rows,
		.ranges = s->unit_ranges.list,
		.scope_count = s->scope_count,
		.span_count = s->span_count,
		.row_count = s->rows.count,
		.range_count = s->unit_ranges.count,
		.types = s->want_types ? s->types : NULL,
		.number = s->number,
		.done = s->unit.end,
		.all = s->file.whole.p ? s->file.whole.len : s->info.len,
	};

	s->report->unit_count++;
	return s->sink->unit(s->sink->ctx, &u, err);
}

/* Makes bytes of .debug_info readable. 1 and *ret; 0 when the section is too short; negative on
 * error. */
static int view_info(struct die_scan *s, uint64_t off, uint64_t len, const uint8_t **ret,
		     struct err *err)
{
	if (!s->file.whole.p)
		return section_stream_seek(&s->info, off, len, ret, err);
	if (off > s->file.whole.len || len > s->file.whole.len - off)
		return 0;
	*ret = s->file.whole.p + off;
	return 1;
}

uint64_t die_info_len(const struct die_scan *s)
{
	return s->file.whole.p ? s->file.whole.len : s->info.len;
}

int die_unit_at(struct die_scan *s, uint64_t off, struct die_unit *ret, struct err *why)
{
	uint64_t len = die_info_len(s);
	uint64_t have = len - off < DIE_HEADER_MAX ? len - off : DIE_HEADER_MAX;
	const uint8_t *p;
	int rc = view_info(s, off, have, &p, why), header;

	*ret = (struct die_unit){.off = off, .file = &s->file};
	if (rc <= 0)
		return rc;
	header = die_unit_header(ret, p, have, off, len, false, why);
	ret->file = &s->file;
	if (header && header != ERR_UNSUPPORTED)
		return header;
	if (unit_filter_need(&s->wanted, off) == UNIT_FILTER_SKIP)
		return !header;
	rc = view_info(s, off, ret->end - off, &ret->p, why);
	return rc > 0 ? !header : rc;
}

int die_unit_read(struct die_scan *s, int found, struct err *why, struct err *err)
{
	uint64_t len =
		s->unit.end - s->unit.off; /* scan_unit() may replace s->unit by a split unit */
	int rc;

	s->unit_name = NULL;
	rc = found > 0 ? scan_unit(s, why) : why->code;
	line_table_done(&s->lines);
	if (die_repeats_check(s->repeats, err))
		return ERR_LIMIT;
	if (rc > 0) {
		s->report->info_read += len;
		return give_scanned_unit(s, err);
	}
	if (rc == ERR_MEMORY)
		return err_set(err, rc, "%s", why->message);
	if (rc < 0) {
		s->report->units_skipped++;
		note_skipped_unit(s, "", why);
	}
	return 0;
}

static int read_units(struct die_scan *s, struct err *err)
{
	uint64_t len = die_info_len(s), unread = 0;

	s->report->info_len = len;
	for (uint64_t off = 0; off < len && !unit_filter_is_done(&s->wanted, off);
	     off = s->unit.end) {
		struct err why = {0};
		int found = die_unit_at(s, off, &s->unit, &why);
		uint64_t end = s->unit.end;
		int rc = die_unit_read(s, found, &why, err);

		s->unit.end = end; /* die_unit_read() may have replaced s->unit by a split unit */
		s->number++;
		if (rc || found < 0)
			return rc;
		unread += !found;
		if (unread == LIMIT_UNITS_SKIPPED)
			return 0;
	}
	return 0;
}

/* 1 opened, 0 when there is nothing to read, negative. */
static int open_info(struct die_scan *s, struct err *err)
{
	int rc;

	if (!die_abbrevs_cross_units(s->file.abbrev.p, s->file.abbrev.len, s->want_types))
		return section_stream_open(&s->info, s->im, ".debug_info", s->helper, err);
	rc = die_section_load(&s->file.whole, s->im, ".debug_info", err);
	if (!rc)
		rc = die_units_list(&s->file, err);
	return rc ? rc : s->file.whole.p != NULL;
}

/* Loads the sections that units refer to. */
static int load_info(struct die_scan *s, struct err *err)
{
	const struct {
		const char *name;
		const uint8_t **p;
		size_t *len;
	} wanted[] = {
		{".debug_abbrev", &s->file.abbrev.p, &s->file.abbrev.len},
		{".debug_addr", &s->addr.p, &s->addr.len},
		{".debug_ranges", &s->ranges.ranges, &s->ranges.ranges_len},
		{".debug_rnglists", &s->rnglists.p, &s->rnglists.len},
		{".debug_line", &s->line_sections.line, &s->line_sections.line_len},
	};
	int rc = die_text_open(&s->file.strings, s->im, false, s->text, err);

	for (size_t i = 0; i < ARRAY_LEN(wanted) && rc >= 0; i++)
		rc = image_section(s->im, wanted[i].name, wanted[i].p, wanted[i].len, err);
	if (rc < 0)
		return rc;
	s->ranges.addr = s->addr.p;
	s->ranges.addr_len = s->addr.len;
	s->line_sections.str = s->file.strings.str.p;
	s->line_sections.str_len = s->file.strings.str.len;
	s->line_sections.line_str = s->file.strings.line_str.p;
	s->line_sections.line_str_len = s->file.strings.line_str.len;
	return 0;
}

void die_scan_close(struct die_scan *s)
{
	for (size_t i = 0; i < DIE_TABLES; i++)
		die_table_done(&s->tables[i]);
	section_stream_close(&s->info);
	die_file_close(&s->file);
	die_companions_close(s);
	unit_filter_close(&s->wanted);
	free(s->origins);
	free(s->scopes);
	free(s->types);
	free(s->type_ids);
	intern_done(&s->types_seen);
	die_signatures_close(s);
	enclosing_scopes_done(&s->enclosing);
	free(s->names);
	free(s->spans);
	free(s->rows.rows);
	free(s->unit_ranges.list);
	free(s->scratch.list);
}

int die_scan_open(struct die_scan *s, struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err)
{
	int rc;

	*s = (struct die_scan){
		.im = im,
		.text = text,
		.sink = sink,
		.report = report,
		.missing = companions->missing,
		.notes = companions->notes,
		.columns = companions->columns,
		.want_types = companions->types,
		.types_seen = INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN),
		.enclosing = {.seen = INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN)},
		.helper = companions->helper,
		.origins = calloc(DIE_ORIGINS, sizeof(struct origin_memo)),
	};
	s->repeats = &s->own_repeats;
	*report = (struct debug_report){0};
	rc = s->origins ? load_info(s, err) : err_no_memory(err);
	if (!rc)
		rc = die_companions_open(s, companions, err);
	if (!rc && companions->wanted_count)
		rc = unit_filter_open(&s->wanted, im, companions->wanted, companions->wanted_count,
				      err);
	return rc;
}

int die_scan_open_info(struct die_scan *s, const struct die_companions *companions, struct err *err)
{
	int rc = open_info(s, err);

	if (rc > 0 && s->want_types) {
		int types = die_signatures_open(s, companions, err);

		rc = types ? types : rc;
	}
	return rc;
}

int die_scan_with(struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err)
{
	struct die_scan s;
	int rc = die_scan_open(&s, im, companions, text, sink, report, err);

	if (!rc)
		rc = die_scan_open_info(&s, companions, err);
	if (rc > 0)
		rc = read_units(&s, err);
	die_scan_close(&s);
	return rc;
}

int die_scan(struct image *im, struct debug_text *text, const struct debug_sink *sink,
	     struct debug_report *report, struct err *err)
{
	static const struct die_companions none;

	return die_scan_with(im, &none, text, sink, report, err);
}
