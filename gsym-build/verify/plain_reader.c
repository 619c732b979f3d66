/* SPDX-License-Identifier: Apache-2.0 */
#include "plain_priv.h"

#include <stdio.h>
#include <string.h>

#include "limits.h"

/* libdwarf keeps memory for every unit it has read. A new instance after this many bytes of
 * .debug_info bounds that, at the cost of a pass over the unit headers. */
#define BATCH_LEN (64 * MIB)

/* Returns whether nothing below a DIE with this tag has code. Structures may have member
 * functions. */
static bool has_no_code(Dwarf_Half tag)
{
	switch (tag) {
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_enumeration_type:
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
		return true;
	default:
		return false;
	}
}

static int add_plain_span(struct plain_reader *r, uint64_t start, uint64_t end, uint32_t scope,
			  struct err *err)
{
	if (start >= end)
		return 0;
	if (!GROW(r->spans, &r->spans_cap, r->span_count + 1, LIMIT_UNIT_SPANS))
		return err_full(err, r->span_count < LIMIT_UNIT_SPANS,
				"more than %llu address ranges",
				(unsigned long long)LIMIT_UNIT_SPANS);
	r->spans[r->span_count++] = (struct debug_span){.start = start, .end = end, .scope = scope};
	return 0;
}

/* Reads a DIE's ranges into r->scratch. */
static int read_plain_unit_ranges(struct plain_reader *r, const struct plain_die *d,
				  struct err *err)
{
	uint64_t off;

	r->scratch.count = 0;
	if (d->has_ranges && d->ranges_is_index)
		return plain_ranges_read_index(&r->source, d->ranges, &r->scratch, err);
	if (d->has_ranges)
		return CHECKED_ADD(d->ranges, r->ranges_bias, &off)
			       ? plain_ranges_read(&r->source, off, &r->scratch, err)
			       : err_set(err, ERR_DATA, "range list beyond its section");
	if (d->has_low && d->has_high &&
	    !range_list_add(&r->scratch, d->low, d->high_is_length ? d->low + d->high : d->high))
		return range_list_full(&r->scratch, err);
	return 0;
}

static uint32_t plain_file_id(struct plain_reader *r, uint64_t number)
{
	return plain_rows_file(&r->lines, number, r->comp_dir, r->text);
}

static int add_plain_scope(struct plain_reader *r, Dwarf_Die die, bool inlined, uint32_t parent,
			   uint32_t *ret_scope, struct err *err)
{
	uint32_t scope = (uint32_t)r->scope_count;
	struct plain_die d;
	struct debug_scope s;

	TRY(plain_die_read(r, r->dbg, die, &d, err));
	TRY(read_plain_unit_ranges(r, &d, err));
	if (!GROW(r->scopes, &r->scopes_cap, (size_t)scope + 1, DEBUG_NONE) ||
	    !GROW(r->scope_names, &r->scope_names_cap, (size_t)scope + 1, DEBUG_NONE))
		return err_no_memory(err);
	s = (struct debug_scope){
		.parent = inlined ? parent : DEBUG_NONE,
		.name = DEBUG_NONE,
		.decl_file = d.has_decl_file ? plain_file_id(r, d.decl_file) : DEBUG_NONE,
		.decl_line = (uint32_t)d.decl_line,
		/* A missing number is 0, as in LLVM: in DWARF 5, file 0 is the unit's own. */
		.call_file = inlined ? plain_file_id(r, d.call_file) : DEBUG_NONE,
		.call_line = (uint32_t)d.call_line,
		.call_column_word = inlined && r->companions->columns
					    ? debug_column_word(d.call_column, d.discriminator)
					    : 0,
	};
	/* The entry is DW_AT_entry_pc, else the start of the first range: cold parts often have
	 * lower addresses. */
	if (!inlined && r->scratch.count) {
		s.has_entry = true;
		s.entry = d.has_entry                  ? d.entry
			  : d.has_low && !d.has_ranges ? d.low
						       : r->scratch.list[0].start;
	}
	r->scopes[scope] = s;
	r->scope_names[scope] = (struct scope_names){
		.off = d.off, .origin = d.origin, .linkage_name = d.linkage_name, .name = d.name};
	r->scope_count++;
	r->report->needs_alt_file |= d.in_alt_file;
	for (size_t i = 0; i < r->scratch.count; i++) {
		TRY(add_plain_span(r, r->scratch.list[i].start, r->scratch.list[i].end, scope,
				   err));
	}
	/* A scope with code needs the names of all scopes around it. */
	for (uint32_t at = scope;
	     r->scratch.count && at != DEBUG_NONE && !r->scope_names[at].needed;
	     at = r->scopes[at].parent)
		r->scope_names[at].needed = true;
	*ret_scope = scope;
	return 0;
}

struct level {
	Dwarf_Die die;
	uint32_t scope; /* the scope around this DIE */
};

/* Replaces the DIE at the top of the stack by its next sibling, or goes up if there is none. */
static int move_to_next_die(struct plain_reader *r, struct level *stack, size_t *depth,
			    struct err *err)
{
	Dwarf_Debug dbg = r->dbg;

	while (*depth) {
		struct level *top = &stack[*depth - 1];
		Dwarf_Die next = NULL;
		Dwarf_Error e = NULL;
		int rc = dwarf_siblingof_b(dbg, top->die, 1, &next, &e);

		dwarf_dealloc(dbg, top->die, DW_DLA_DIE);
		top->die = next;
		if (rc == DW_DLV_OK)
			return 0;
		--*depth;
		if (rc == DW_DLV_ERROR)
			return plain_object_failed(dbg, e, "next DIE", err);
	}
	return 0;
}

/* Adds all scopes below the unit's DIE. The caller frees the DIEs left on the stack. */
static int walk_dies(struct plain_reader *r, struct level *stack, size_t *depth, struct err *err)
{
	Dwarf_Debug dbg = r->dbg;
	Dwarf_Off last = 0;

	while (*depth) {
		struct level *top = &stack[*depth - 1];
		Dwarf_Error e = NULL;
		Dwarf_Half tag = 0;
		Dwarf_Off off = 0;
		Dwarf_Die child = NULL;
		uint32_t scope = top->scope;
		int rc;

		if (dwarf_tag(top->die, &tag, &e) != DW_DLV_OK ||
		    dwarf_dieoffset(top->die, &off, &e) != DW_DLV_OK)
			return plain_object_failed(dbg, e, "DIE", err);
		/* DIEs are stored in the order of this walk, so an offset that does not rise is
		 * damage, and might loop. */
		if (off <= last || off >= r->unit_end)
			return err_set(err, ERR_DATA, "DIE at 0x%llx points outside or back",
				       (unsigned long long)last);
		last = off;
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			TRY(add_plain_scope(r, top->die, tag == DW_TAG_inlined_subroutine,
					    top->scope, &scope, err));
		}
		rc = DW_DLV_NO_ENTRY;
		if (!has_no_code(tag) && *depth < LIMIT_DIE_DEPTH)
			rc = dwarf_child(top->die, &child, &e);
		if (rc == DW_DLV_ERROR)
			return plain_object_failed(dbg, e, "child DIE", err);
		if (rc == DW_DLV_OK) {
			stack[(*depth)++] = (struct level){.die = child, .scope = scope};
			continue;
		}
		TRY(move_to_next_die(r, stack, depth, err));
	}
	return 0;
}

static void note_plain_skipped(struct plain_reader *r, const struct err *why)
{
	if (!r->report->skipped[0])
		snprintf(r->report->skipped, sizeof(r->report->skipped), "unit at 0x%llx: %s",
			 (unsigned long long)r->unit_off, why->message);
}

/* Does the same as note_split_unit() of the scanner. */
static void note_plain_split(struct plain_reader *r, const struct plain_die *d)
{
	struct err why;

	if (!r->unit_ranges.count || (!d->dwo_name && r->unit_kind != DW_UT_skeleton))
		return;
	err_set(&why, ERR_NOT_FOUND, "its code is described in '%s', which is not there",
		d->dwo_name ? d->dwo_name : "?");
	if (r->companions->missing && d->dwo_name) {
		buf_str(r->companions->missing, d->comp_dir ? d->comp_dir : "");
		buf_u8(r->companions->missing, 0);
		buf_str(r->companions->missing, d->dwo_name);
		buf_u8(r->companions->missing, 0);
	}
	r->report->units_skipped++;
	note_plain_skipped(r, &why);
}

/* Reads the unit's lines. A damaged line table is only noted, so that the functions are kept. */
static int read_plain_lines(struct plain_reader *r, Dwarf_Die die, const struct plain_die *d,
			    struct err *err)
{
	const struct plain_rows_place place = {r->dbg, die, &r->line_sections, d->lines};
	struct err why;
	int rc = plain_rows_read(&r->lines, &place, r->companions->columns, &r->rows, &why);

	if (rc < 0)
		return err_set(err, rc, "%s", why.message);
	r->report->lines_refused += rc == 0;
	if (why.code)
		note_plain_skipped(r, &why);
	for (size_t i = 0; i < r->rows.count; i++) {
		struct debug_row *row = &r->rows.rows[i];

		row->file = plain_file_id(r, row->file);
		/* A line number without a file is useless. */
		if (row->file == DEBUG_NONE)
			row->line = row->column_word = 0;
	}
	return 0;
}

/* Adds all scopes of a unit. */
static int add_plain_scopes(struct plain_reader *r, Dwarf_Die unit, struct err *err)
{
	struct level stack[LIMIT_DIE_DEPTH];
	size_t depth = 1;
	Dwarf_Error e = NULL;
	Dwarf_Die child = NULL;
	int rc = dwarf_child(unit, &child, &e);

	if (rc == DW_DLV_ERROR)
		return plain_object_failed(r->dbg, e, "first DIE", err);
	if (rc != DW_DLV_OK)
		return 0;
	stack[0] = (struct level){.die = child, .scope = DEBUG_NONE};
	rc = walk_dies(r, stack, &depth, err);
	while (depth)
		dwarf_dealloc(r->dbg, stack[--depth].die, DW_DLA_DIE);
	return rc;
}

/* Reads one unit, whose DIE is *die. If a split unit describes its code, *die becomes the DIE of
 * that unit. */
static int read_plain_unit(struct plain_reader *r, Dwarf_Die *die, struct err *err)
{
	const struct plain_split_unit *split;
	struct plain_die d;

	r->ranges_bias = 0;
	r->scope_count = r->span_count = r->unit_ranges.count = 0;
	TRY(plain_die_read(r, r->dbg, *die, &d, err));
	r->source.base = d.has_low ? d.low : 0;
	r->source.addr_base = d.addr_base;
	r->source.rnglists_base = d.rnglists_base;
	TRY(read_plain_unit_ranges(r, &d, err));
	for (size_t i = 0; i < r->scratch.count; i++)
		if (!range_list_add(&r->unit_ranges, r->scratch.list[i].start,
				    r->scratch.list[i].end))
			return range_list_full(&r->unit_ranges, err);
	r->comp_dir = d.comp_dir;
	if (d.has_lines)
		TRY(read_plain_lines(r, *die, &d, err));
	split = plain_split_find(r, &d);
	if (split)
		TRY(plain_split_enter(r, split, &d, die, err));
	else
		note_plain_split(r, &d);
	TRY(add_plain_scopes(r, *die, err));
	TRY(plain_names_resolve(r, err));
	return plain_types_resolve(r, *die, err);
}

static int give_plain_unit(struct plain_reader *r, struct err *err)
{
	struct debug_unit u = {
		.scopes = r->scopes,
		.spans = r->spans,
		.rows = r->rows.rows,
		.ranges = r->unit_ranges.list,
		.scope_count = r->scope_count,
		.span_count = r->span_count,
		.row_count = r->rows.count,
		.range_count = r->unit_ranges.count,
		.types = r->types_of ? r->types : NULL,
	};

	u.number = (uint32_t)r->report->unit_count++;
	return r->sink->unit(r->sink->ctx, &u, err);
}

/* Returns 1 and the unit's DIE in *ret, 0 if the unit has no code of its own, or an error. */
static int unit_die(struct plain_reader *r, Dwarf_Half kind, Dwarf_Die *ret, struct err *err)
{
	Dwarf_Error e = NULL;
	Dwarf_Half tag = 0;
	int rc = dwarf_siblingof_b(r->dbg, NULL, 1, ret, &e);

	if (rc == DW_DLV_NO_ENTRY)
		return 0;
	if (rc != DW_DLV_OK)
		return plain_object_failed(r->dbg, e, "unit DIE", err);
	if (dwarf_tag(*ret, &tag, &e) != DW_DLV_OK || kind == DW_UT_type ||
	    kind == DW_UT_split_type || tag == DW_TAG_partial_unit || tag == DW_TAG_type_unit) {
		/* Type and partial units are read only through references. Their line table belongs
		 * to another unit. */
		if (e)
			dwarf_dealloc(r->dbg, e, DW_DLA_ERROR);
		dwarf_dealloc(r->dbg, *ret, DW_DLA_DIE);
		return 0;
	}
	return 1;
}

static int read_next_unit(struct plain_reader *r, Dwarf_Half kind, struct err *err)
{
	Dwarf_Die die = NULL;
	struct err why = {0};
	int rc = unit_die(r, kind, &die, &why);

	if (rc > 0) {
		r->rows.count = 0;
		rc = read_plain_unit(r, &die, &why);
		dwarf_dealloc(r->dbg, die, DW_DLA_DIE);
		plain_split_leave(r);
		plain_rows_done(&r->lines);
		if (!rc)
			return give_plain_unit(r, err);
	}
	if (rc == ERR_MEMORY)
		return err_set(err, rc, "%s", why.message);
	if (rc < 0) {
		r->report->units_skipped++;
		note_plain_skipped(r, &why);
	}
	return 0;
}

/* Reads a batch of units from *index on, and sets *ret_more if some are left. */
static int read_plain_batch(struct plain_reader *r, uint64_t *index, bool *ret_more,
			    struct err *err)
{
	Dwarf_Debug dbg = r->object.dbg;
	Dwarf_Unsigned next = 0, done = 0;

	*ret_more = false;
	for (uint64_t i = 0;; i++) {
		Dwarf_Unsigned header_len, type_off, off = next;
		Dwarf_Half version, address_size, offset_size, extension, kind = 0;
		Dwarf_Off abbrev_off;
		Dwarf_Sig8 signature = {0};
		Dwarf_Error e = NULL;
		struct err why;
		int rc = dwarf_next_cu_header_d(dbg, 1, &header_len, &version, &abbrev_off,
						&address_size, &offset_size, &extension, &signature,
						&type_off, &next, &kind, &e);

		if (rc == DW_DLV_NO_ENTRY)
			return 0;
		if (rc == DW_DLV_ERROR || next <= off) {
			/* No later unit can be found without this header. */
			r->unit_off = off;
			r->report->units_skipped++;
			plain_object_failed(dbg, rc == DW_DLV_ERROR ? e : NULL, "unit header",
					    &why);
			note_plain_skipped(r, &why);
			return 0;
		}
		if (i < *index)
			continue;
		r->unit_off = off;
		r->unit_end = next;
		r->unit_kind = kind;
		memcpy(&r->unit_id, &signature, sizeof(r->unit_id));
		r->source.version = version;
		r->source.address_size = address_size == 4 ? 4 : 8;
		r->source.offset_size = offset_size == 4 ? 4 : 8;
		TRY(read_next_unit(r, kind, err));
		*index = i + 1;
		done += next - off;
		if (done > BATCH_LEN) {
			*ret_more = true;
			return 0;
		}
	}
}

/* Loads the sections that are not read by libdwarf. */
static int load_sections(struct plain_reader *r, struct err *err)
{
	struct range_source *s = &r->source;
	struct line_sections *l = &r->line_sections;
	const struct {
		const char *name;
		const uint8_t **p;
		size_t *len;
	} wanted[] = {
		{".debug_ranges", &s->ranges, &s->ranges_len},
		{".debug_rnglists", &r->rnglists, &r->rnglists_len},
		{".debug_addr", &s->addr, &s->addr_len},
		{".debug_line", &l->line, &l->line_len},
		{".debug_line_str", &l->line_str, &l->line_str_len},
		{".debug_str", &l->str, &l->str_len},
	};

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		int rc = image_section(r->im, wanted[i].name, wanted[i].p, wanted[i].len, err);

		if (rc < 0)
			return rc;
	}
	s->rnglists = r->rnglists;
	s->rnglists_len = r->rnglists_len;
	return 0;
}

/* Reads all units, in batches. */
static int read_plain_units(struct plain_reader *r, struct err *err)
{
	uint64_t index = 0;
	bool more = true;
	int rc = 0;

	while (!rc && more) {
		rc = plain_object_open(&r->object, r->im, false, err);
		if (rc <= 0)
			break;
		r->dbg = r->object.dbg;
		if (r->alt.dbg) /* for strings only: we follow references ourselves */
			dwarf_set_tied_dbg(r->dbg, r->alt.dbg, NULL);
		rc = plain_types_open(r, err);
		if (!rc)
			rc = read_plain_batch(r, &index, &more, err);
		plain_types_close(r);
		plain_object_close(&r->object);
	}
	return rc;
}

static void plain_reader_done(struct plain_reader *r)
{
	free(r->scopes);
	free(r->scope_names);
	free(r->spans);
	free(r->rows.rows);
	free(r->unit_ranges.list);
	free(r->scratch.list);
	free(r->origin_names);
	free(r->types);
	intern_done(&r->origins);
	plain_split_close(r);
}

int plain_read(struct image *im, struct debug_text *text, const struct debug_sink *sink,
	       struct debug_report *report, struct err *err)
{
	static const struct die_companions none;

	return plain_read_with(im, &none, text, sink, report, err);
}

int plain_read_with(struct image *im, const struct die_companions *companions,
		    struct debug_text *text, const struct debug_sink *sink,
		    struct debug_report *report, struct err *err)
{
	_cleanup_(plain_reader_done) struct plain_reader r = {
		.im = im,
		.companions = companions,
		.text = text,
		.sink = sink,
		.report = report,
		.origins = INTERN_INIT(UINT32_MAX - 1, LIMIT_SECTION_LEN),
	};

	*report = (struct debug_report){0};
	TRY(load_sections(&r, err));
	TRY(plain_split_open(&r, err));
	return read_plain_units(&r, err);
}
