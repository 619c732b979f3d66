/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_writer.h"

#include <string.h>

#include "crc32c.h"
#include "intern.h"
#include "rsym_format.h"

/* Ids are 32 bits with one value taken; bytes of strings are addressed with 32 bits. */
#define MAX_IDS ((size_t)UINT32_MAX - 1)

struct rsym_writer {
	/* Each table is the set of its on-disk elements, in order of first sight. */
	struct intern strings, files, functions, nodes;
	struct buf starts, rows, segments;
	struct rsym_disk_row last;
	bool failed, unordered;
};

struct rsym_writer *rsym_writer_new(struct err *err)
{
	struct rsym_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		err_set(err, ERR_MEMORY, "out of memory");
		return NULL;
	}
	w->strings = (struct intern)INTERN_INIT(MAX_IDS, UINT32_MAX);
	w->files = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	w->functions = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	w->nodes = (struct intern)INTERN_INIT(MAX_IDS, LIMIT_TABLE_LEN);
	buf_init(&w->starts, LIMIT_TABLE_LEN);
	buf_init(&w->rows, LIMIT_TABLE_LEN);
	buf_init(&w->segments, LIMIT_TABLE_LEN);
	w->last.node = RSYM_DISK_NONE;
	return w;
}

void rsym_writer_free(struct rsym_writer *w)
{
	if (!w)
		return;
	intern_done(&w->strings);
	intern_done(&w->files);
	intern_done(&w->functions);
	intern_done(&w->nodes);
	buf_done(&w->starts);
	buf_done(&w->rows);
	buf_done(&w->segments);
	free(w);
}

static uint32_t add(struct rsym_writer *w, struct intern *in, const void *p, size_t len)
{
	uint32_t id = intern_add(in, p, len, NULL);

	if (id == INTERN_FULL)
		w->failed = true;
	return id;
}

uint32_t rsym_writer_file(struct rsym_writer *w, const void *dir, size_t dir_len, const void *base,
			  size_t base_len)
{
	struct rsym_disk_file f = {
		.dir = add(w, &w->strings, dir, dir_len),
		.base = add(w, &w->strings, base, base_len),
	};

	return add(w, &w->files, &f, sizeof(f));
}

uint32_t rsym_writer_function(struct rsym_writer *w, const struct rsym_writer_function *f)
{
	struct rsym_disk_function disk = {
		.vaddr = f->has_entry ? f->vaddr : 0,
		.name = add(w, &w->strings, f->name, f->name_len),
		.file = f->file,
		.start_line = f->start_line,
		.flags = (f->has_entry ? RSYM_FUNCTION_HAS_ENTRY : 0u) |
			 (f->from_symbol ? RSYM_FUNCTION_FROM_SYMBOL : 0u),
	};

	return add(w, &w->functions, &disk, sizeof(disk));
}

uint32_t rsym_writer_node(struct rsym_writer *w, uint32_t parent, uint32_t function,
			  uint32_t call_file, uint32_t call_line)
{
	struct rsym_disk_node n = {
		.parent = RSYM_DISK_NONE,
		.function = function,
		.call_file = RSYM_DISK_NONE,
	};

	if (w->failed)
		return RSYM_NONE;
	if (parent != RSYM_NONE) {
		struct rsym_disk_node above;

		memcpy(&above, intern_get(&w->nodes, parent, NULL), sizeof(above));
		if (above.depth == LIMIT_INLINE_DEPTH) {
			n = above;
			n.function = function;
		} else {
			n.parent = parent;
			n.call_file = call_file;
			n.call_line = call_line;
			n.depth = above.depth + 1;
		}
	}
	return add(w, &w->nodes, &n, sizeof(n));
}

void rsym_writer_row(struct rsym_writer *w, uint64_t vaddr, uint32_t node, uint32_t file,
		     uint32_t line)
{
	struct rsym_disk_row row = {.node = node, .file = file, .line = line};

	if (node == RSYM_NONE)
		row = (struct rsym_disk_row){.node = RSYM_DISK_NONE, .file = RSYM_DISK_NONE};
	if (w->starts.len) {
		uint64_t before;

		memcpy(&before, w->starts.p + w->starts.len - sizeof(before), sizeof(before));
		if (vaddr <= before)
			w->unordered = true;
		if (memcmp(&row, &w->last, sizeof(row)) == 0)
			return;
	} else if (node == RSYM_NONE) {
		return;
	}
	buf_u64(&w->starts, vaddr);
	buf_append(&w->rows, &row, sizeof(row));
	w->last = row;
}

void rsym_writer_segment(struct rsym_writer *w, const struct rsym_writer_segment *s)
{
	struct rsym_disk_segment disk = {
		.vaddr = s->vaddr,
		.mem_len = s->mem_len,
		.file_off = s->file_off,
		.file_len = s->file_len,
		.flags = s->flags,
	};

	buf_append(&w->segments, &disk, sizeof(disk));
}

void rsym_writer_counts(const struct rsym_writer *w, struct rsym_writer_counts *ret)
{
	*ret = (struct rsym_writer_counts){
		.function_count = w->functions.count,
		.range_count = w->starts.len / sizeof(uint64_t),
		.node_count = w->nodes.count,
		.file_count = w->files.count,
	};
}

struct layout {
	struct buf *out;
	struct rsym_disk_entry entries[RSYM_SECTION_KNOWN - 1];
	uint32_t count;
};

static void put_section(struct layout *l, enum rsym_section_id id, const void *p, size_t len)
{
	struct rsym_disk_entry *e = &l->entries[l->count++];

	buf_align(l->out, RSYM_ALIGN);
	*e = (struct rsym_disk_entry){
		.id = id, .crc = crc32c(0, p, len), .off = l->out->len, .len = len};
	buf_append(l->out, p, len);
}

static void put_string_ends(struct layout *l, const struct intern *strings, struct buf *ends)
{
	uint32_t end = 0;

	for (uint32_t id = 0; id < strings->count; id++) {
		size_t len;

		intern_get(strings, id, &len);
		end += (uint32_t)len; /* their sum is bounded by the intern's ceiling */
		buf_u32(ends, end);
	}
	put_section(l, RSYM_SECTION_STRING_ENDS, ends->p, ends->len);
}

/*
 * One number for the content: each 8 bytes are mixed in by a multiplication that spreads every bit
 * (the odd constant is 2^64 divided by the golden ratio). Tells versions apart for caches; damage
 * is the checksums' business.
 */
static uint64_t mix(uint64_t h, const uint8_t *p, size_t len)
{
	while (len) {
		uint64_t word = 0;
		size_t n = len < sizeof(word) ? len : sizeof(word);

		memcpy(&word, p, n);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
		p += n;
		len -= n;
	}
	return h;
}

int rsym_writer_finish(struct rsym_writer *w, const struct rsym_writer_info *info, struct buf *out,
		       struct err *err)
{
	_cleanup_(buf_done) struct buf ends = BUF_INIT(LIMIT_TABLE_LEN);
	struct layout l = {.out = out};
	struct rsym_disk_header h = {
		.magic = RSYM_MAGIC,
		.byte_order = RSYM_BYTE_ORDER,
		.major = RSYM_MAJOR,
		.minor = RSYM_MINOR,
		.text_base = info->text_base,
		.flags = info->flags,
		.id_kind = info->id.kind,
		.id_len = info->id.len,
	};

	if (w->last.node != RSYM_DISK_NONE)
		rsym_writer_row(w, UINT64_MAX, RSYM_NONE, RSYM_NONE, 0);
	if (w->unordered)
		return err_set(err, ERR_INTERNAL, "rows of a table out of order");
	if (w->segments.len) {
		if (w->segments.len / sizeof(struct rsym_disk_segment) > LIMIT_SEGMENTS)
			return err_set(err, ERR_LIMIT, "more than %d loaded segments",
				       (int)LIMIT_SEGMENTS);
		h.flags |= RSYM_HAS_SEGMENTS;
	}
	memcpy(h.id, info->id.bytes, sizeof(h.id));

	/* Room first; both are filled in when the sections are known. */
	buf_append(out, &h, sizeof(h));
	buf_append(out, l.entries, sizeof(l.entries));
	put_section(&l, RSYM_SECTION_STARTS, w->starts.p, w->starts.len);
	put_section(&l, RSYM_SECTION_ROWS, w->rows.p, w->rows.len);
	put_section(&l, RSYM_SECTION_NODES, w->nodes.data, w->nodes.data_len);
	put_section(&l, RSYM_SECTION_FUNCTIONS, w->functions.data, w->functions.data_len);
	put_section(&l, RSYM_SECTION_FILES, w->files.data, w->files.data_len);
	put_string_ends(&l, &w->strings, &ends);
	put_section(&l, RSYM_SECTION_STRINGS, w->strings.data, w->strings.data_len);
	put_section(&l, RSYM_SECTION_SEGMENTS, w->segments.p, w->segments.len);
	buf_align(out, RSYM_ALIGN);
	if (!out->failed && out->len < RSYM_FILE_MIN) {
		size_t pad = RSYM_FILE_MIN - out->len;
		uint8_t *p = buf_extend(out, pad);

		if (p)
			memset(p, 0, pad);
	}
	if (w->failed || w->starts.failed || w->rows.failed || w->segments.failed || ends.failed ||
	    out->failed)
		return err_set(err, ERR_LIMIT, "the table does not fit into %zu bytes or memory",
			       out->max);

	h.file_len = out->len;
	h.section_count = l.count;
	h.directory_crc = crc32c(0, l.entries, sizeof(l.entries));
	memcpy(out->p + sizeof(h), l.entries, sizeof(l.entries));
	h.generation = mix(0, (const uint8_t *)&h, sizeof(h));
	h.generation = mix(h.generation, out->p + sizeof(h), out->len - sizeof(h));
	h.header_crc = crc32c(0, &h, offsetof(struct rsym_disk_header, header_crc));
	memcpy(out->p, &h, sizeof(h));
	return 0;
}
