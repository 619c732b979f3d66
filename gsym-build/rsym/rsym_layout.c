/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_layout.h"

#include <string.h>

#include "crc32c.h"

struct layout {
	struct buf *out;
	struct rsym_disk_entry entries[RSYM_SECTION_END];
	uint32_t count;
	bool failed, no_memory; /* a section is incomplete; the reason is lack of memory */
};

static void put_section(struct layout *l, uint32_t id, const struct buf *b)
{
	struct rsym_disk_entry *e = &l->entries[l->count++];

	/* Offsets inside a section are 32 bits. */
	l->failed |= b->failed || b->len > UINT32_MAX;
	l->no_memory |= b->no_memory;
	buf_align(l->out, RSYM_ALIGN);
	*e = (struct rsym_disk_entry){
		.id = id, .crc = crc32c(0, b->p, b->len), .off = l->out->len, .len = b->len};
	buf_append(l->out, b->p, b->len);
}

/*
 * Hashes the content to one number, 8 bytes at a time, with a multiplication that spreads every bit
 * (the odd constant is 2^64 divided by the golden ratio). Caches use it to tell versions apart;
 * checksums detect damage.
 */
static uint64_t mix_bytes(uint64_t h, const uint8_t *p, size_t len)
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

static void put_zero_bytes(struct buf *out, size_t len)
{
	uint8_t *p = buf_extend(out, len);

	if (p)
		memset(p, 0, len);
}

int rsym_layout_write(struct rsym_disk_header *h, const struct buf *const *sections,
		      struct buf *out, struct err *err)
{
	struct layout l = {.out = out};

	for (uint32_t id = 0; id < RSYM_SECTION_END; id++)
		h->section_count += sections[id] != NULL;
	/* Reserve room for header and directory; they are filled in when the sections are known. */
	buf_append(out, h, sizeof(*h));
	buf_append(out, l.entries, h->section_count * sizeof(l.entries[0]));
	for (uint32_t id = 0; id < RSYM_SECTION_END; id++)
		if (sections[id])
			put_section(&l, id, sections[id]);
	put_zero_bytes(out, RSYM_PAD);
	buf_align(out, RSYM_ALIGN);
	if (!out->failed && out->len < RSYM_FILE_MIN)
		put_zero_bytes(out, RSYM_FILE_MIN - out->len);
	if (l.failed || out->failed)
		return err_full(err, l.no_memory || out->no_memory,
				"the table does not fit into %zu bytes", out->max);

	h->file_len = out->len;
	h->directory_crc = crc32c(0, l.entries, l.count * sizeof(l.entries[0]));
	memcpy(out->p + sizeof(*h), l.entries, l.count * sizeof(l.entries[0]));
	h->generation = mix_bytes(0, (const uint8_t *)h, sizeof(*h));
	h->generation = mix_bytes(h->generation, out->p + sizeof(*h), out->len - sizeof(*h));
	h->header_crc = crc32c(0, h, offsetof(struct rsym_disk_header, header_crc));
	memcpy(out->p, h, sizeof(*h));
	return 0;
}
