/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the units of .debug_info in turn, and gives them to the sink. */
#include <dwarf.h>

#include "die_priv.h"
#include "limits.h"

/* Notes a skeleton unit (DWARF 5 section 3.1.2, or DW_AT_GNU_dwo_name before) if its split unit was
 * not found. A skeleton without code is not noted, because clang describes modules by such
 * units. */
static void note_split_unit(struct die_scan *s, const struct die *d)
{
	const char *name = die_string(d, DIE_DWO_NAME);
	const struct current_unit *c = &s->current;
	struct err why;

	if (!c->ranges.count || (!name && c->unit.type != DW_UT_skeleton))
		return;
	err_set(&why, ERR_NOT_FOUND, "its code is described in '%s', which is not there",
		name ? name : "?");
	if (name)
		die_notes_missing(&s->notes, c->comp_dir, name);
	s->notes.report->units_skipped++;
	die_notes_unit(&s->notes, "", c->unit.off, c->name, &why);
}

/* Returns 1 if the current unit was read, 0 if it has no code of its own or none that is wanted, or
 * an error. */
static int scan_unit(struct die_scan *s, struct err *err)
{
	struct current_unit *c = &s->current;
	uint64_t off = c->unit.off;
	const struct die_table *t;
	struct bytes in;
	struct die d;
	int rc = current_unit_open(c, &s->lookup, &t, &in, &d, err);

	if (rc <= 0)
		return rc;
	if (unit_filter_need(&s->wanted, off) == UNIT_FILTER_ASK && c->ranges.count &&
	    !unit_filter_overlaps(&s->wanted, c->ranges.list, c->ranges.count))
		return 0;
	TRY(current_unit_read_lines(c, &d, &s->wanted, &s->notes, err));
	rc = current_unit_enter_split(c, &s->lookup, &d, &t, &in, err);
	if (!rc)
		note_split_unit(s, &d);
	if (rc >= 0)
		rc = die_scopes_read(&s->scopes, c, &s->wanted, s->notes.report, t, &in, err);
	if (rc)
		return rc;
	TRY(die_names_resolve(&s->names, c, &s->scopes, err));
	if (s->lookup.types)
		TRY(die_types_resolve(&s->types, c, &s->scopes, err));
	/* Out of memory is an error: a table must not silently lack strings or files. */
	if (c->lines.no_memory || c->text->strings.no_memory || c->text->files.no_memory)
		return err_no_memory(err);
	unit_filter_mark_found(&s->wanted, s->scopes.spans, s->scopes.span_count);
	return 1;
}

/* Makes bytes of .debug_info readable. Returns 1 and *ret, 0 if the section is too short, or an
 * error. */
static int view_info(struct die_scan *s, uint64_t off, uint64_t len, const uint8_t **ret,
		     struct err *err)
{
	const struct die_section *whole = &s->files.image.whole;

	if (!whole->p)
		return section_stream_seek(&s->info, off, len, ret, err);
	if (off > whole->len || len > whole->len - off)
		return 0;
	*ret = whole->p + off;
	return 1;
}

uint64_t die_scan_info_len(const struct die_scan *s)
{
	return s->files.image.whole.p ? s->files.image.whole.len : s->info.len;
}

int die_scan_find_unit(struct die_scan *s, uint64_t off, struct die_unit *ret, struct err *why)
{
	uint64_t len = die_scan_info_len(s);
	uint64_t have = len - off < DIE_HEADER_MAX ? len - off : DIE_HEADER_MAX;
	const uint8_t *p;
	int rc = view_info(s, off, have, &p, why), header;

	*ret = (struct die_unit){.off = off, .file = &s->files.image};
	if (rc <= 0)
		return rc;
	header = die_unit_header(ret, p, have, off, len, false, why);
	ret->file = &s->files.image;
	if (header && header != ERR_UNSUPPORTED)
		return header;
	if (unit_filter_need(&s->wanted, off) == UNIT_FILTER_SKIP)
		return !header;
	rc = view_info(s, off, ret->end - off, &ret->p, why);
	return rc > 0 ? !header : rc;
}

int die_scan_read_unit(struct die_scan *s, const struct die_unit *u, uint32_t number, int found,
		       struct err *why, struct err *err)
{
	const struct current_unit *c = &s->current;
	struct debug_report *report = s->notes.report;
	int rc;

	current_unit_set(&s->current, u);
	rc = found > 0 ? scan_unit(s, why) : why->code;
	if (die_repeats_check(c->repeats, err))
		return ERR_LIMIT;
	if (rc > 0) {
		report->info_read += u->end - u->off;
		report->unit_count++;
		return s->sink->unit(s->sink->ctx,
				     &(struct debug_unit){
					     .scopes = s->scopes.list,
					     .spans = s->scopes.spans,
					     .rows = c->rows.rows,
					     .ranges = c->ranges.list,
					     .scope_count = s->scopes.count,
					     .span_count = s->scopes.span_count,
					     .row_count = c->rows.count,
					     .range_count = c->ranges.count,
					     .types = s->types.of_scopes,
					     .number = number,
					     .done = u->end,
					     .all = die_scan_info_len(s),
				     },
				     err);
	}
	if (rc == ERR_MEMORY)
		return err_set(err, rc, "%s", why->message);
	if (rc < 0) {
		report->units_skipped++;
		die_notes_unit(&s->notes, "", c->unit.off, c->name, why);
	}
	return 0;
}

static int read_units(struct die_scan *s, struct err *err)
{
	uint64_t len = die_scan_info_len(s), unread = 0;
	struct die_unit u;
	uint32_t number = 0;

	s->notes.report->info_len = len;
	for (uint64_t off = 0; off < len && !unit_filter_is_done(&s->wanted, off); off = u.end) {
		struct err why = {0};
		int found = die_scan_find_unit(s, off, &u, &why);
		int rc = die_scan_read_unit(s, &u, number++, found, &why, err);

		if (rc || found < 0)
			return rc;
		unread += !found;
		if (unread == LIMIT_UNITS_SKIPPED)
			return 0;
	}
	return 0;
}

int die_scan_open(struct die_scan *s, struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err)
{
	*report = (struct debug_report){0};
	*s = (struct die_scan){
		.sink = sink,
		.notes = {.report = report,
			  .missing = companions->missing,
			  .notes = companions->notes},
		.lookup = {.current = &s->current.unit,
			   .columns = companions->columns,
			   .types = companions->types},
		.current = {.files = &s->files,
			    .text = text,
			    .repeats = &s->repeats,
			    .columns = companions->columns},
	};
	die_types_init(&s->types, &s->lookup);
	TRY(die_names_open(&s->names, &s->lookup, &s->files.image.strings, report, err));
	TRY(die_files_open(&s->files, im, companions, text, &s->lookup, &s->notes, err));
	if (companions->wanted_count)
		return unit_filter_open(&s->wanted, im, companions->wanted,
					companions->wanted_count, err);
	return 0;
}

int die_scan_open_info(struct die_scan *s, struct image *im,
		       const struct die_companions *companions, struct err *err)
{
	struct die_file *f = &s->files.image;
	int rc;

	if (die_abbrevs_cross_units(f->abbrev.p, f->abbrev.len, companions->types)) {
		TRY(die_section_load(&f->whole, im, ".debug_info", err));
		TRY(die_file_list_units(f, err));
		rc = f->whole.p != NULL;
	} else {
		rc = section_stream_open(&s->info, im, ".debug_info", companions->helper, err);
	}
	if (rc <= 0 || !companions->types)
		return rc;
	TRY(die_signatures_open(&s->types.signatures, im, &s->files, companions, err));
	return 1;
}

void die_scan_close(struct die_scan *s)
{
	section_stream_close(&s->info);
	unit_filter_close(&s->wanted);
	die_types_close(&s->types);
	die_names_close(&s->names);
	die_scopes_close(&s->scopes);
	current_unit_close(&s->current);
	die_lookup_close(&s->lookup);
	die_files_close(&s->files);
}

int die_scan_with(struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err)
{
	_cleanup_(die_scan_close) struct die_scan s;
	int rc;

	TRY(die_scan_open(&s, im, companions, text, sink, report, err));
	rc = die_scan_open_info(&s, im, companions, err);
	return rc > 0 ? read_units(&s, err) : rc;
}

int die_scan(struct image *im, struct debug_text *text, const struct debug_sink *sink,
	     struct debug_report *report, struct err *err)
{
	static const struct die_companions none;

	return die_scan_with(im, &none, text, sink, report, err);
}
