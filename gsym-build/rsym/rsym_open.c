/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym.h"

#include "crc32c.h"
#include "rsym_bits.h"
#include "rsym_check.h"
#include "rsym_code.h"
#include "rsym_columns.h"
#include "rsym_format.h"
#include "rsym_function_alias.h"
#include "rsym_report.h"
#include "rsym_shown.h"
#include "rsym_text.h"
#include "rsym_types.h"

#define POINTER_ALIGN 16 /* alignment that stores and mmap() give */

/* Sections by id; p is NULL for an absent one. */
struct sections {
	struct rsym_optional by_id[RSYM_SECTION_END];
};

/* Sizes of elements by section id; 1 if a section has no elements, 0 if its id is unknown. */
static const uint8_t element_len[RSYM_SECTION_END] = {
	[RSYM_SECTION_SHAPE] = sizeof(struct rsym_disk_shape),
	[RSYM_SECTION_SPANS] = sizeof(struct rsym_disk_span),
	[RSYM_SECTION_LEAF_INDEX] = sizeof(uint32_t),
	[RSYM_SECTION_LEAVES] = sizeof(struct rsym_disk_leaf),
	[RSYM_SECTION_BLOCKS] = 1,
	[RSYM_SECTION_LINE_BASES] = 1,
	[RSYM_SECTION_BASES] = sizeof(struct rsym_disk_base),
	[RSYM_SECTION_FREQUENT] = sizeof(uint32_t),
	[RSYM_SECTION_FUNCTIONS] = 1,
	[RSYM_SECTION_DECLS] = sizeof(struct rsym_disk_decl),
	[RSYM_SECTION_ENTRIES] = 1,
	[RSYM_SECTION_NAMES] = 1,
	[RSYM_SECTION_FILES] = 1,
	[RSYM_SECTION_SEGMENTS] = sizeof(struct rsym_disk_segment),
	[RSYM_SECTION_REPORT] = 1,
	[RSYM_SECTION_ALIASES] = 1,
	[RSYM_SECTION_TYPES] = 1,
	[RSYM_SECTION_SHOWN] = 1,
	[RSYM_SECTION_COLUMNS] = 1,
	[RSYM_SECTION_CODE] = 1,
};

static int bad_section(struct err *err, uint32_t id)
{
	return err_set(err, ERR_DATA, "damaged table: section %u does not fit the others", id);
}

static int check_header(struct rsym *t, struct rsym_disk_header *h, struct err *err)
{
	uint64_t directory_len;

	if (t->len < sizeof(*h) || memcmp(t->p, RSYM_MAGIC, sizeof(h->magic)) != 0)
		return err_set(err, ERR_DATA, "not a Rawstack table");
	memcpy(h, t->p, sizeof(*h));
	if (h->byte_order != RSYM_BYTE_ORDER)
		return err_set(err, ERR_UNSUPPORTED, "table of another byte order");
	if (h->major != RSYM_MAJOR)
		return err_set(err, ERR_UNSUPPORTED,
			       "table format %u.%u; this program reads %u.x: rebuild the table",
			       h->major, h->minor, RSYM_MAJOR);
	if (crc32c(0, h, offsetof(struct rsym_disk_header, header_crc)) != h->header_crc)
		return err_set(err, ERR_DATA, "damaged table: checksum of the header");
	if (h->file_len != t->len)
		return err_set(err, ERR_DATA, "damaged table: %zu bytes instead of %llu", t->len,
			       (unsigned long long)h->file_len);
	directory_len = (uint64_t)h->section_count * sizeof(struct rsym_disk_entry);
	if (h->section_count > RSYM_SECTIONS_MAX || directory_len > t->len - sizeof(*h))
		return err_set(err, ERR_DATA, "damaged table: %u sections", h->section_count);
	if (crc32c(0, t->p + sizeof(*h), directory_len) != h->directory_crc)
		return err_set(err, ERR_DATA, "damaged table: checksum of the directory");
	if (h->id_kind != BUILD_ID_NONE &&
	    (h->id_kind > BUILD_ID_HTLHASH ||
	     build_id_set(&t->id, h->id_kind, h->id, h->id_len, NULL)))
		return err_set(err, ERR_DATA, "damaged table: identity");
	t->generation = h->generation;
	t->text_base = h->text_base;
	t->flags = h->flags;
	return 0;
}

static int find_sections(const struct rsym *t, uint32_t count, bool check_crc, struct sections *s,
			 struct err *err)
{
	const uint8_t *p = t->p + sizeof(struct rsym_disk_header);

	for (uint32_t i = 0; i < count; i++, p += sizeof(struct rsym_disk_entry)) {
		struct rsym_disk_entry e;

		memcpy(&e, p, sizeof(e));
		/* Packed numbers are read by loads that may end RSYM_PAD bytes farther. */
		if (e.off > t->len || e.len > t->len - e.off || e.off % RSYM_ALIGN ||
		    t->len - e.off - e.len < RSYM_PAD)
			return err_set(err, ERR_DATA, "damaged table: entry %u of the directory",
				       i);
		if (e.id >= RSYM_SECTION_END || !element_len[e.id])
			continue; /* a section of a later minor version */
		if (s->by_id[e.id].p || e.len % element_len[e.id] || e.len > UINT32_MAX)
			return bad_section(err, e.id);
		if (check_crc && crc32c(0, t->p + e.off, e.len) != e.crc)
			return err_set(err, ERR_DATA, "damaged table: checksum of section %u",
				       e.id);
		s->by_id[e.id] = (struct rsym_optional){.p = t->p + e.off, .len = e.len};
	}
	for (uint32_t id = 1; id < RSYM_SECTION_KNOWN; id++)
		if (!s->by_id[id].p && id != RSYM_SECTION_SEGMENTS)
			return err_set(err, ERR_DATA, "damaged table: section %u is missing", id);
	return 0;
}

static uint32_t count_of_section(const struct sections *s, enum rsym_section_id id)
{
	return (uint32_t)(s->by_id[id].len / element_len[id]);
}

static uint64_t groups_len(uint32_t count, uint32_t stride)
{
	return ((uint64_t)count + RSYM_GROUP - 1) / RSYM_GROUP * stride;
}

/* Reads the shape, and checks that packed sections are as long as its counts and widths imply. */
static int open_shape(struct rsym *t, const struct sections *s, struct err *err)
{
	struct rsym_disk_shape shape;

	if (count_of_section(s, RSYM_SECTION_SHAPE) != 1)
		return bad_section(err, RSYM_SECTION_SHAPE);
	memcpy(&shape, s->by_id[RSYM_SECTION_SHAPE].p, sizeof(shape));
	if (shape.block_rows < 1 || shape.block_rows > RSYM_ROWS_MAX || shape.line_base_bits > 32 ||
	    shape.frequent_bits > 32 || shape.file_bits > 32 || shape.line_bits > 32 ||
	    shape.file_bits + shape.line_bits > RSYM_LINE_BASE_BITS_MAX || shape.decl_bits > 32 ||
	    shape.entry_bits > 64 || shape.line_base_count == UINT32_MAX ||
	    shape.function_count > shape.line_base_count ||
	    shape.entry_count > shape.function_count)
		return bad_section(err, RSYM_SECTION_SHAPE);
	t->range_count = shape.row_count;
	t->node_count = shape.node_count;
	t->entry_base = shape.entry_base;
	t->line_base_count = shape.line_base_count;
	t->function_count = shape.function_count;
	t->entry_count = shape.entry_count;
	t->block_rows = shape.block_rows;
	t->line_base_bits = shape.line_base_bits;
	t->frequent_bits = shape.frequent_bits;
	t->file_bits = shape.file_bits;
	t->line_bits = shape.line_bits;
	t->decl_bits = shape.decl_bits;
	t->entry_bits = shape.entry_bits;
	t->line_base_stride = (uint32_t)sizeof(struct rsym_disk_line_bases) +
			      RSYM_GROUP / 8 * (t->file_bits + t->line_bits);
	t->function_stride =
		(uint32_t)sizeof(struct rsym_disk_functions) + RSYM_GROUP / 8 * t->decl_bits;
	if (groups_len(t->line_base_count, t->line_base_stride) !=
	    s->by_id[RSYM_SECTION_LINE_BASES].len)
		return bad_section(err, RSYM_SECTION_LINE_BASES);
	if (groups_len(t->function_count, t->function_stride) !=
	    s->by_id[RSYM_SECTION_FUNCTIONS].len)
		return bad_section(err, RSYM_SECTION_FUNCTIONS);
	if (((uint64_t)t->entry_count * t->entry_bits + 7) / 8 !=
	    s->by_id[RSYM_SECTION_ENTRIES].len)
		return bad_section(err, RSYM_SECTION_ENTRIES);
	return 0;
}

static int open_sections(struct rsym *t, const struct sections *s, struct err *err)
{
	t->spans = s->by_id[RSYM_SECTION_SPANS].p;
	t->leaf_index = s->by_id[RSYM_SECTION_LEAF_INDEX].p;
	t->leaves = s->by_id[RSYM_SECTION_LEAVES].p;
	t->blocks = s->by_id[RSYM_SECTION_BLOCKS].p;
	t->line_bases = s->by_id[RSYM_SECTION_LINE_BASES].p;
	t->bases = s->by_id[RSYM_SECTION_BASES].p;
	t->frequent = s->by_id[RSYM_SECTION_FREQUENT].p;
	t->functions = s->by_id[RSYM_SECTION_FUNCTIONS].p;
	t->decls = s->by_id[RSYM_SECTION_DECLS].p;
	t->entries = s->by_id[RSYM_SECTION_ENTRIES].p;
	t->segments = s->by_id[RSYM_SECTION_SEGMENTS].p;
	t->blocks_len = s->by_id[RSYM_SECTION_BLOCKS].len;
	t->report = s->by_id[RSYM_SECTION_REPORT];
	t->aliases = s->by_id[RSYM_SECTION_ALIASES];
	t->code = s->by_id[RSYM_SECTION_CODE];
	t->columns = s->by_id[RSYM_SECTION_COLUMNS];
	t->types = s->by_id[RSYM_SECTION_TYPES];
	t->shown = s->by_id[RSYM_SECTION_SHOWN];
	t->span_count = count_of_section(s, RSYM_SECTION_SPANS);
	t->leaf_index_count = count_of_section(s, RSYM_SECTION_LEAF_INDEX);
	t->leaf_count = count_of_section(s, RSYM_SECTION_LEAVES);
	t->base_count = count_of_section(s, RSYM_SECTION_BASES);
	t->frequent_count = count_of_section(s, RSYM_SECTION_FREQUENT);
	t->decl_count = count_of_section(s, RSYM_SECTION_DECLS);
	t->segment_count = count_of_section(s, RSYM_SECTION_SEGMENTS);
	TRY(open_shape(t, s, err));
	TRY(rsym_texts_open(&t->names, s->by_id[RSYM_SECTION_NAMES].p,
			    s->by_id[RSYM_SECTION_NAMES].len, err));
	TRY(rsym_texts_open(&t->files, s->by_id[RSYM_SECTION_FILES].p,
			    s->by_id[RSYM_SECTION_FILES].len, err));
	t->file_count = t->files.count;
	TRY(rsym_function_aliases_open(t, err));
	TRY(rsym_columns_open(t, err));
	TRY(rsym_types_open(t, err));
	TRY(rsym_shown_open(t, err));
	return rsym_check_heads(t, err);
}

static int open_rsym_table(struct rsym *t, const void *p, size_t len, bool trusted, struct err *err)
{
	struct rsym_disk_header h;
	struct sections s = {0};

	*t = (struct rsym){.p = p, .len = len};
	if ((uintptr_t)p % POINTER_ALIGN)
		return err_set(err, ERR_USAGE, "a table must be mapped on a multiple of %d bytes",
			       POINTER_ALIGN);
	TRY(check_header(t, &h, err));
	TRY(find_sections(t, h.section_count, !trusted, &s, err));
	return open_sections(t, &s, err);
}

int rsym_open(struct rsym *t, const void *p, size_t len, struct err *err)
{
	TRY(open_rsym_table(t, p, len, false, err));
	TRY(rsym_check(t, err));
	TRY(rsym_function_aliases_check(t, err));
	TRY(rsym_code_check(t, err));
	TRY(rsym_columns_check(t, err));
	TRY(rsym_types_check(t, err));
	TRY(rsym_shown_check(t, err));
	return rsym_report_check(t, err);
}

int rsym_open_trusted(struct rsym *t, const void *p, size_t len, struct err *err)
{
	return open_rsym_table(t, p, len, true, err);
}

int rsym_section(const struct rsym *t, uint32_t i, struct rsym_section *ret)
{
	static const char *const names[RSYM_SECTION_END] = {
		[RSYM_SECTION_SHAPE] = "shape",         [RSYM_SECTION_SPANS] = "spans",
		[RSYM_SECTION_LEAF_INDEX] = "places",   [RSYM_SECTION_LEAVES] = "leaves",
		[RSYM_SECTION_BLOCKS] = "blocks",       [RSYM_SECTION_LINE_BASES] = "entities",
		[RSYM_SECTION_BASES] = "bases",         [RSYM_SECTION_FREQUENT] = "hot",
		[RSYM_SECTION_FUNCTIONS] = "functions", [RSYM_SECTION_DECLS] = "declarations",
		[RSYM_SECTION_ENTRIES] = "entries",     [RSYM_SECTION_NAMES] = "names",
		[RSYM_SECTION_FILES] = "files",         [RSYM_SECTION_SEGMENTS] = "segments",
		[RSYM_SECTION_REPORT] = "report",       [RSYM_SECTION_ALIASES] = "aliases",
		[RSYM_SECTION_CODE] = "code",           [RSYM_SECTION_COLUMNS] = "columns",
		[RSYM_SECTION_TYPES] = "types",         [RSYM_SECTION_SHOWN] = "shown names",
	};
	struct rsym_disk_header h;
	struct rsym_disk_entry e;

	memcpy(&h, t->p, sizeof(h));
	if (i >= h.section_count || (i + UINT64_C(1)) * sizeof(e) > t->len - sizeof(h))
		return 0;
	memcpy(&e, t->p + sizeof(h) + i * sizeof(e), sizeof(e));
	ret->id = e.id;
	ret->len = e.len;
	ret->name = e.id < RSYM_SECTION_END && names[e.id] ? names[e.id] : "unknown";
	return 1;
}

static struct rsym_disk_segment segment_at(const struct rsym *t, uint32_t i)
{
	struct rsym_disk_segment s;

	memcpy(&s, t->segments + i * sizeof(s), sizeof(s));
	return s;
}

int rsym_vaddr_of_file_off(const struct rsym *t, uint64_t file_off, uint64_t *ret_vaddr)
{
	bool found = false, in_code = false;

	/* Prefer an executable segment: a page of the file may be loaded twice. */
	for (uint32_t i = 0; i < t->segment_count; i++) {
		struct rsym_disk_segment s = segment_at(t, i);
		bool is_code = s.flags & 1;

		if (file_off < s.file_off || file_off - s.file_off >= s.file_len ||
		    (found && (in_code || !is_code)))
			continue;
		*ret_vaddr = s.vaddr + (file_off - s.file_off);
		found = true;
		in_code = is_code;
	}
	return found;
}
