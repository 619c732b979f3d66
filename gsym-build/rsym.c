/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym.h"

#include "crc32c.h"
#include "rsym_format.h"

/* What rsym_open() has validated is read in place: sections are aligned to 16 bytes. */
static const void *section_at(const struct rsym *t, enum rsym_section_id id)
{
	return t->sections[id].p;
}

#define NODES(t)    ((const struct rsym_disk_node *)section_at(t, RSYM_SECTION_NODES))
#define ROWS(t)     ((const struct rsym_disk_row *)section_at(t, RSYM_SECTION_ROWS))
#define STARTS(t)   ((const uint64_t *)section_at(t, RSYM_SECTION_STARTS))
#define SEGMENTS(t) ((const struct rsym_disk_segment *)section_at(t, RSYM_SECTION_SEGMENTS))

/* Element sizes by section id; 0 for one that is not a table. */
static const uint8_t element_len[RSYM_SECTION_KNOWN] = {
	[RSYM_SECTION_STARTS] = sizeof(uint64_t),
	[RSYM_SECTION_ROWS] = sizeof(struct rsym_disk_row),
	[RSYM_SECTION_NODES] = sizeof(struct rsym_disk_node),
	[RSYM_SECTION_FUNCTIONS] = sizeof(struct rsym_disk_function),
	[RSYM_SECTION_FILES] = sizeof(struct rsym_disk_file),
	[RSYM_SECTION_STRING_ENDS] = sizeof(uint32_t),
	[RSYM_SECTION_STRINGS] = 1,
	[RSYM_SECTION_SEGMENTS] = sizeof(struct rsym_disk_segment),
};

static uint64_t count_of(const struct rsym *t, enum rsym_section_id id)
{
	return t->sections[id].len / element_len[id];
}

static int damaged(struct err *err, const char *what, uint64_t index)
{
	return err_set(err, ERR_DATA, "damaged table: %s %llu is out of order or out of range",
		       what, (unsigned long long)index);
}

static int check_header(struct rsym *t, struct err *err)
{
	const struct rsym_disk_header *h = (const void *)t->p;
	uint64_t directory_len;

	if (t->len < sizeof(*h) || memcmp(h->magic, RSYM_MAGIC, sizeof(h->magic)) != 0)
		return err_set(err, ERR_DATA, "not a Rawstack table");
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
	if (crc32c(0, h + 1, directory_len) != h->directory_crc)
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

static int open_sections(struct rsym *t, struct err *err)
{
	const struct rsym_disk_header *h = (const void *)t->p;
	const struct rsym_disk_entry *e = (const void *)(h + 1);

	for (uint32_t i = 0; i < h->section_count; i++, e++) {
		if (e->off > t->len || e->len > t->len - e->off || e->off % RSYM_ALIGN)
			return damaged(err, "section", i);
		if (e->id == 0 || e->id >= RSYM_SECTION_KNOWN)
			continue; /* of a later minor version */
		if (t->sections[e->id].p || e->len % element_len[e->id])
			return damaged(err, "section", i);
		if (crc32c(0, t->p + e->off, e->len) != e->crc)
			return err_set(err, ERR_DATA, "damaged table: checksum of section %u",
				       e->id);
		t->sections[e->id] = (struct rsym_section){.p = t->p + e->off, .len = e->len};
	}
	for (uint32_t id = 1; id < RSYM_SECTION_KNOWN; id++) {
		if (!t->sections[id].p && id != RSYM_SECTION_SEGMENTS)
			return err_set(err, ERR_DATA, "damaged table: section %u is missing", id);
		/* Ids are 32 bits and one value is taken; ranges are numbered by nobody. */
		if (id != RSYM_SECTION_STRINGS && count_of(t, id) >= RSYM_DISK_NONE)
			return damaged(err, "section", id);
	}
	return 0;
}

static bool is_file(const struct rsym *t, uint32_t file)
{
	return file == RSYM_DISK_NONE || file < t->file_count;
}

static int check_ranges(const struct rsym *t, struct err *err)
{
	const uint64_t *starts = STARTS(t);
	const struct rsym_disk_row *row = ROWS(t);

	if (count_of(t, RSYM_SECTION_ROWS) != t->range_count)
		return err_set(err, ERR_DATA, "damaged table: not one row for each range");
	for (uint64_t i = 0; i < t->range_count; i++, row++) {
		if (i && starts[i] <= starts[i - 1])
			return damaged(err, "range", i);
		if (row->node == RSYM_DISK_NONE
			    ? row->file != RSYM_DISK_NONE || row->line
			    : row->node >= t->node_count || !is_file(t, row->file))
			return damaged(err, "row", i);
	}
	/* The last range has no end, so it must be a gap. */
	if (t->range_count && row[-1].node != RSYM_DISK_NONE)
		return damaged(err, "row", t->range_count - 1);
	return 0;
}

/* Parents stand before their children, so there is no cycle, and one pass proves the depth. */
static int check_nodes(const struct rsym *t, struct err *err)
{
	const struct rsym_disk_node *nodes = NODES(t);

	for (uint32_t i = 0; i < t->node_count; i++) {
		const struct rsym_disk_node *n = &nodes[i];
		bool root = n->parent == RSYM_DISK_NONE;

		if (n->function >= t->function_count || !is_file(t, n->call_file) ||
		    n->depth > LIMIT_INLINE_DEPTH)
			return damaged(err, "node", i);
		if (root ? n->depth != 0 : n->parent >= i || n->depth != nodes[n->parent].depth + 1)
			return damaged(err, "node", i);
	}
	return 0;
}

static int check_texts(const struct rsym *t, struct err *err)
{
	const struct rsym_disk_function *f = section_at(t, RSYM_SECTION_FUNCTIONS);
	const struct rsym_disk_file *file = section_at(t, RSYM_SECTION_FILES);
	const uint32_t *ends = section_at(t, RSYM_SECTION_STRING_ENDS);
	uint64_t string_count = count_of(t, RSYM_SECTION_STRING_ENDS);

	for (uint64_t i = 0; i < string_count; i++)
		if (ends[i] > t->sections[RSYM_SECTION_STRINGS].len || (i && ends[i] < ends[i - 1]))
			return damaged(err, "string", i);
	for (uint32_t i = 0; i < t->file_count; i++, file++)
		if (file->dir >= string_count || file->base >= string_count)
			return damaged(err, "file", i);
	for (uint32_t i = 0; i < t->function_count; i++, f++)
		if (f->name >= string_count || !is_file(t, f->file))
			return damaged(err, "function", i);
	return 0;
}

static int check_segments(const struct rsym *t, struct err *err)
{
	const struct rsym_disk_segment *s = SEGMENTS(t);
	uint64_t end;

	if (t->segment_count > LIMIT_SEGMENTS || (t->flags & RSYM_HAS_SEGMENTS && !s))
		return err_set(err, ERR_DATA, "damaged table: %u segments", t->segment_count);
	for (uint32_t i = 0; i < t->segment_count; i++, s++)
		if (!CHECKED_ADD(s->vaddr, s->mem_len, &end) ||
		    !CHECKED_ADD(s->file_off, s->file_len, &end) || s->file_len > s->mem_len)
			return damaged(err, "segment", i);
	return 0;
}

int rsym_open(struct rsym *t, const void *p, size_t len, struct err *err)
{
	int rc;

	*t = (struct rsym){.p = p, .len = len};
	if ((uintptr_t)p % RSYM_ALIGN)
		return err_set(err, ERR_USAGE, "a table must be mapped on a multiple of %d bytes",
			       RSYM_ALIGN);
	rc = check_header(t, err);
	if (!rc)
		rc = open_sections(t, err);
	if (rc)
		return rc;
	t->range_count = count_of(t, RSYM_SECTION_STARTS);
	t->node_count = (uint32_t)count_of(t, RSYM_SECTION_NODES);
	t->function_count = (uint32_t)count_of(t, RSYM_SECTION_FUNCTIONS);
	t->file_count = (uint32_t)count_of(t, RSYM_SECTION_FILES);
	t->segment_count = (uint32_t)count_of(t, RSYM_SECTION_SEGMENTS);
	rc = check_ranges(t, err);
	if (!rc)
		rc = check_nodes(t, err);
	if (!rc)
		rc = check_texts(t, err);
	return rc ? rc : check_segments(t, err);
}

/* How many ranges start at or below vaddr. */
static uint64_t ranges_below(const struct rsym *t, uint64_t vaddr)
{
	const uint64_t *starts = STARTS(t);
	uint64_t low = 0, count = t->range_count;

	while (count) {
		uint64_t half = count / 2;

		if (starts[low + half] <= vaddr) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

int rsym_lookup(const struct rsym *t, uint64_t vaddr, struct rsym_frame *frames, size_t cap)
{
	uint64_t below = ranges_below(t, vaddr);
	const struct rsym_disk_row *row;
	const struct rsym_disk_node *node;
	uint32_t file, line;
	size_t n = 0;

	if (!below || !cap)
		return 0;
	row = &ROWS(t)[below - 1];
	if (row->node == RSYM_DISK_NONE)
		return 0;
	node = &NODES(t)[row->node];
	file = row->file;
	line = row->line;
	for (;;) {
		/* A full array keeps its last place for the outermost function. */
		frames[n < cap ? n++ : cap - 1] =
			(struct rsym_frame){.function = node->function, .file = file, .line = line};
		if (node->parent == RSYM_DISK_NONE)
			return (int)n;
		file = node->call_file;
		line = node->call_line;
		node = &NODES(t)[node->parent];
	}
}

int rsym_range(const struct rsym *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t below = ranges_below(t, vaddr);

	*ret_start = below ? STARTS(t)[below - 1] : 0;
	*ret_end = below < t->range_count ? STARTS(t)[below] : UINT64_MAX;
	return below && ROWS(t)[below - 1].node != RSYM_DISK_NONE;
}

int rsym_function(const struct rsym *t, uint32_t function, struct rsym_function *ret,
		  struct err *err)
{
	const struct rsym_disk_function *f = section_at(t, RSYM_SECTION_FUNCTIONS);

	if (function >= t->function_count)
		return err_set(err, ERR_USAGE, "function %u of %u", function, t->function_count);
	f += function;
	*ret = (struct rsym_function){
		.vaddr = f->vaddr,
		.start_line = f->start_line,
		.file = f->file,
		.from_symbol = f->flags & RSYM_FUNCTION_FROM_SYMBOL,
		.has_entry = f->flags & RSYM_FUNCTION_HAS_ENTRY,
	};
	return 0;
}

static bool append_string(const struct rsym *t, uint32_t string, struct buf *out)
{
	const uint32_t *ends = section_at(t, RSYM_SECTION_STRING_ENDS);
	uint32_t from = string ? ends[string - 1] : 0;

	return buf_append(out, t->sections[RSYM_SECTION_STRINGS].p + from, ends[string] - from);
}

static int appended(const struct buf *out, struct err *err)
{
	if (out->failed)
		return err_set(err, ERR_LIMIT, "text longer than the %zu bytes allowed", out->max);
	return 0;
}

int rsym_name(const struct rsym *t, uint32_t function, struct buf *out, struct err *err)
{
	const struct rsym_disk_function *f = section_at(t, RSYM_SECTION_FUNCTIONS);

	if (function >= t->function_count)
		return err_set(err, ERR_USAGE, "function %u of %u", function, t->function_count);
	append_string(t, f[function].name, out);
	return appended(out, err);
}

int rsym_file(const struct rsym *t, uint32_t file, struct buf *out, struct err *err)
{
	const struct rsym_disk_file *f = section_at(t, RSYM_SECTION_FILES);
	size_t before = out->len;

	if (file >= t->file_count)
		return err_set(err, ERR_USAGE, "file %u of %u", file, t->file_count);
	append_string(t, f[file].dir, out);
	if (!out->failed && out->len > before && out->p[out->len - 1] != '/')
		buf_u8(out, '/');
	append_string(t, f[file].base, out);
	return appended(out, err);
}

int rsym_vaddr_of_file_off(const struct rsym *t, uint64_t file_off, uint64_t *ret_vaddr)
{
	const struct rsym_disk_segment *s = SEGMENTS(t), *found = NULL;

	/* An executable segment first: the file's pages may be loaded twice. */
	for (uint32_t i = 0; i < t->segment_count; i++)
		if (file_off >= s[i].file_off && file_off - s[i].file_off < s[i].file_len &&
		    (!found || (s[i].flags & 1 && !(found->flags & 1))))
			found = &s[i];
	if (!found)
		return 0;
	*ret_vaddr = found->vaddr + (file_off - found->file_off);
	return 1;
}

bool rsym_in_segments(const struct rsym *t, uint64_t vaddr)
{
	const struct rsym_disk_segment *s = SEGMENTS(t);

	if (!t->segment_count)
		return true;
	for (uint32_t i = 0; i < t->segment_count; i++)
		if (s[i].flags & 1 && vaddr >= s[i].vaddr && vaddr - s[i].vaddr < s[i].mem_len)
			return true;
	return false;
}
