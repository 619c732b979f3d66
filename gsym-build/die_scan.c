/* SPDX-License-Identifier: Apache-2.0 */
/* The units of .debug_info, one after the other: found, read, given on. */
#include <stdio.h>

#include "die_priv.h"
#include "limits.h"

int die_table_of(struct die_scan *s, const struct die_unit *u, const struct die_table **ret,
		 struct err *err)
{
	struct die_table *t;
	int rc;

	for (size_t i = 0; i < DIE_TABLES; i++) {
		t = &s->tables[(s->table_next + DIE_TABLES - 1 - i) % DIE_TABLES];
		if (t->abbrevs && t->off == u->abbrev_off &&
		    memcmp(&t->shape, &u->shape, sizeof(t->shape)) == 0) {
			*ret = t;
			return 0;
		}
	}
	t = &s->tables[s->table_next];
	die_table_done(t);
	rc = die_table_compile(t, s->abbrev.p, s->abbrev.len, u->abbrev_off, u->shape, err);
	if (rc)
		return rc;
	s->table_next = (s->table_next + 1) % DIE_TABLES;
	*ret = t;
	return 0;
}

static void note_skipped(struct die_scan *s, const struct err *why)
{
	if (!s->report->skipped[0])
		snprintf(s->report->skipped, sizeof(s->report->skipped), "unit at 0x%llx: %s",
			 (unsigned long long)s->unit.off, why->message);
}

/*
 * A skeleton unit (DWARF 5 section 3.1.2; DW_AT_GNU_dwo_name before) whose code is described in
 * another file. One that covers no code misses nothing: clang describes modules by such units.
 */
static void note_split(struct die_scan *s, const struct die *d)
{
	const char *name = die_string(s, d, DIE_DWO_NAME);
	struct err why;

	if (!s->unit_ranges.count || (!name && s->unit.type != DIE_UT_SKELETON))
		return;
	err_set(&why, ERR_NOT_FOUND, "its code is described in '%s', which is not there",
		name ? name : "?");
	s->report->units_skipped++;
	note_skipped(s, &why);
}

/* A damaged line table is no reason to lose the functions. */
static void read_lines(struct die_scan *s, const struct die *d)
{
	struct err why;
	uint64_t off;

	s->comp_dir = die_string(s, d, DIE_COMP_DIR);
	if (!die_section_offset(d, DIE_STMT_LIST, &off))
		return;
	if (line_table_read(&s->lines, &s->line_sections, off, &s->rows, &why))
		note_skipped(s, &why);
	for (size_t i = 0; i < s->rows.count; i++) {
		struct facts_row *row = &s->rows.rows[i];

		row->file = line_table_file(&s->lines, row->file, s->comp_dir, s->text);
		/* A line of a file that is not there is nothing to show. */
		if (row->file == FACTS_NONE)
			row->line = 0;
	}
}

/* 1: facts of s->unit; 0: it has no code of its own; negative. */
static int read_unit(struct die_scan *s, struct err *err)
{
	struct die_unit *u = &s->unit;
	const struct die_table *t;
	struct bytes in;
	struct die d;
	uint64_t base;
	int rc;

	s->scope_count = s->span_count = s->unit_ranges.count = s->rows.count = 0;
	if (u->type == DIE_UT_TYPE || u->type == DIE_UT_SPLIT_TYPE || u->type == DIE_UT_PARTIAL)
		return 0;
	rc = die_unit_open(s, u, &t, &in, &d, err);
	/* Types and shared declarations are read when something refers to them. Their line table is
	 * that of another unit. */
	if (rc || !d.abbrev || d.abbrev->tag == DIE_TAG_PARTIAL_UNIT ||
	    d.abbrev->tag == DIE_TAG_TYPE_UNIT)
		return rc;
	s->ranges.version = u->shape.version;
	s->ranges.address_size = u->shape.address_size;
	s->ranges.offset_size = u->shape.offset_size;
	s->ranges.base = die_address(s, &d, DIE_LOW, &base) ? base : 0;
	s->ranges.addr_base = u->addr_base;
	s->ranges.rnglists_base = die_section_offset(&d, DIE_RNGLISTS_BASE, &base) ? base : 0;
	rc = die_ranges_read(s, &d, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < s->scratch.count; i++)
		if (!range_list_add(&s->unit_ranges, s->scratch.list[i].start,
				    s->scratch.list[i].end))
			return err_set(err, ERR_MEMORY, "out of memory for address ranges");
	note_split(s, &d);
	read_lines(s, &d);
	if (d.abbrev->flags & DIE_HAS_CHILDREN)
		rc = die_walk(s, t, &in, err);
	if (!rc)
		rc = die_names_resolve(s, err);
	return rc ? rc : 1;
}

static int give_unit(struct die_scan *s, struct err *err)
{
	struct facts_unit u = {
		.scopes = s->scopes,
		.spans = s->spans,
		.rows = s->rows.rows,
		.ranges = s->unit_ranges.list,
		.scope_count = s->scope_count,
		.span_count = s->span_count,
		.row_count = s->rows.count,
		.range_count = s->unit_ranges.count,
	};

	s->report->unit_count++;
	return s->sink->unit(s->sink->ctx, &u, err);
}

/* Bytes of .debug_info. 1 and *ret, 0 when they are not all there, negative. */
static int view(struct die_scan *s, uint64_t off, uint64_t len, const uint8_t **ret,
		struct err *err)
{
	if (!s->whole.p)
		return die_window_move(&s->info, off, len, ret, err);
	if (off > s->whole.len || len > s->whole.len - off)
		return 0;
	*ret = s->whole.p + off;
	return 1;
}

/*
 * The unit at an offset. 1; 0: this one cannot be read, for the reason in *why, but ret->end is
 * valid; negative: nothing behind it can be read either.
 */
static int unit_at_offset(struct die_scan *s, uint64_t off, struct die_unit *ret, struct err *why)
{
	uint64_t len = s->whole.p ? s->whole.len : s->info.len;
	uint64_t have = len - off < DIE_HEADER_MAX ? len - off : DIE_HEADER_MAX;
	const uint8_t *p;
	int rc = view(s, off, have, &p, why), header;

	*ret = (struct die_unit){.off = off};
	if (rc <= 0)
		return rc;
	header = die_unit_header(ret, p, have, off, len, why);
	if (header && header != ERR_UNSUPPORTED)
		return header;
	rc = view(s, off, ret->end - off, &ret->p, why);
	return rc > 0 ? !header : rc;
}

static int one_unit(struct die_scan *s, int found, struct err *why, struct err *err)
{
	int rc = found > 0 ? read_unit(s, why) : why->code;

	line_table_done(&s->lines);
	if (rc > 0)
		return give_unit(s, err);
	if (rc == ERR_MEMORY)
		return err_set(err, rc, "%s", why->message);
	if (rc < 0) {
		s->report->units_skipped++;
		note_skipped(s, why);
	}
	return 0;
}

static int read_units(struct die_scan *s, struct err *err)
{
	uint64_t len = s->whole.p ? s->whole.len : s->info.len;

	for (uint64_t off = 0; off < len; off = s->unit.end) {
		struct err why = {0};
		int found = unit_at_offset(s, off, &s->unit, &why);
		int rc = one_unit(s, found, &why, err);

		if (rc || found < 0)
			return rc;
	}
	return 0;
}

/* All units, for references between them. Those that cannot be read are left out; the scan will
 * say why. */
static int list_units(struct die_scan *s, struct err *err)
{
	struct err why;
	int found = 1;

	for (uint64_t off = 0; off < s->whole.len && found >= 0;) {
		struct die_unit u;

		found = unit_at_offset(s, off, &u, &why);
		off = u.end;
		if (found <= 0)
			continue;
		if (!grow_array((void **)&s->units, &s->units_cap, s->unit_count + 1,
				sizeof(*s->units), SIZE_MAX))
			return err_set(err, ERR_MEMORY, "out of memory for units");
		s->units[s->unit_count++] = u;
	}
	return 0;
}

/* 1 opened, 0 when there is nothing to read, negative. */
static int open_info(struct die_scan *s, struct err *err)
{
	int rc;

	if (!die_abbrevs_cross_units(s->abbrev.p, s->abbrev.len))
		return die_window_open(&s->info, s->im, ".debug_info", err);
	rc = die_section_load(&s->whole, s->im, ".debug_info", err);
	if (!rc)
		rc = list_units(s, err);
	return rc ? rc : s->whole.p != NULL;
}

/* Everything that units point into. */
static int load(struct die_scan *s, struct err *err)
{
	const struct {
		const char *name;
		const uint8_t **p;
		size_t *len;
	} wanted[] = {
		{".debug_abbrev", &s->abbrev.p, &s->abbrev.len},
		{".debug_addr", &s->addr.p, &s->addr.len},
		{".debug_ranges", &s->ranges.ranges, &s->ranges.ranges_len},
		{".debug_rnglists", &s->ranges.rnglists, &s->ranges.rnglists_len},
		{".debug_line", &s->line_sections.line, &s->line_sections.line_len},
	};
	int rc = die_text_open(&s->strings, s->im, s->text, err);

	for (size_t i = 0; i < ARRAY_LEN(wanted) && rc >= 0; i++)
		rc = image_section(s->im, wanted[i].name, wanted[i].p, wanted[i].len, err);
	if (rc < 0)
		return rc;
	s->ranges.addr = s->addr.p;
	s->ranges.addr_len = s->addr.len;
	s->line_sections.str = s->strings.str.p;
	s->line_sections.str_len = s->strings.str.len;
	s->line_sections.line_str = s->strings.line_str.p;
	s->line_sections.line_str_len = s->strings.line_str.len;
	return 0;
}

static void scan_done(struct die_scan *s)
{
	for (size_t i = 0; i < DIE_TABLES; i++)
		die_table_done(&s->tables[i]);
	die_window_close(&s->info);
	die_text_close(&s->strings);
	intern_done(&s->origins);
	free(s->units);
	free(s->scopes);
	free(s->names);
	free(s->spans);
	free(s->rows.rows);
	free(s->unit_ranges.list);
	free(s->scratch.list);
	free(s->origin_names);
}

int die_scan(struct image *im, struct facts_text *text, const struct facts_sink *sink,
	     struct debug_report *report, struct err *err)
{
	struct die_scan s = {
		.im = im,
		.text = text,
		.sink = sink,
		.report = report,
		.origins = INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN),
	};
	int rc;

	*report = (struct debug_report){0};
	rc = load(&s, err);
	if (!rc)
		rc = open_info(&s, err);
	if (rc > 0)
		rc = read_units(&s, err);
	scan_done(&s);
	return rc;
}
