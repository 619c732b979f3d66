/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table from the input, opened and asked everything. The checksums are made good first (unless
 * the input is to be taken as it is: an odd length), so that what lies behind them is reached.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "crc32c.h"
#include "rsym.h"
#include "rsym_format.h"
#include "rsym_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

static void seal(uint8_t *p, size_t len)
{
	struct rsym_disk_header *h = (void *)p;
	struct rsym_disk_entry *e = (void *)(h + 1);

	if (len < sizeof(*h))
		return;
	memcpy(h->magic, RSYM_MAGIC, sizeof(h->magic));
	h->file_len = len;
	for (uint32_t i = 0; i < h->section_count && (i + 1) * sizeof(*e) <= len - sizeof(*h); i++)
		if (e[i].off <= len && e[i].len <= len - e[i].off)
			e[i].crc = crc32c(0, p + e[i].off, e[i].len);
	if (h->section_count <= (len - sizeof(*h)) / sizeof(*e))
		h->directory_crc = crc32c(0, e, h->section_count * sizeof(*e));
	h->header_crc = crc32c(0, h, offsetof(struct rsym_disk_header, header_crc));
}

static void ask(const struct rsym *t, struct rsym_reader *r, uint64_t vaddr)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	struct rsym_column columns[RSYM_FRAMES_MAX];
	uint64_t start, end;
	int n = rsym_lookup(t, vaddr, frames, ARRAY_LEN(frames));
	int has = rsym_range(t, vaddr, &start, &end);

	assert(n >= 0 && n <= (int)RSYM_FRAMES_MAX && (n > 0) == has);
	assert(start <= vaddr && vaddr <= end);
	rsym_columns_at(t, vaddr, columns, ARRAY_LEN(columns));
	for (int i = 0; i < n; i++) {
		struct rsym_function f;
		const uint8_t *text;
		size_t text_len;

		if (rsym_function(t, frames[i].function, &f, NULL) ||
		    rsym_reader_name(r, frames[i].function, &text, &text_len, NULL))
			abort();
		if (frames[i].file != RSYM_NONE &&
		    rsym_reader_file(r, frames[i].file, &text, &text_len, NULL))
			abort();
	}
}

static void ask_all(const struct rsym *t)
{
	struct rsym_reader *r = rsym_reader_new(t, 1 << 16, NULL);
	_cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);
	struct rsym_report report;
	struct rsym_note note;
	uint64_t vaddr, end = 0;

	if (!r)
		abort();
	for (int i = 0; i < 100 && end != UINT64_MAX; i++) {
		rsym_range(t, end, &vaddr, &end);
		ask(t, r, vaddr);
		ask(t, r, end - 1);
		rsym_vaddr_of_file_off(t, vaddr, &vaddr);
	}
	ask(t, r, UINT64_MAX);
	for (uint32_t i = 0; i < t->function_count && i < 64; i++) {
		uint32_t aliases[8], count;
		struct rsym_function f;

		if (rsym_function(t, i, &f, NULL))
			abort();
		buf_reset(&text);
		if (rsym_type(t, i, &text, NULL) < 0)
			abort();
		count = rsym_function_aliases(t, f.vaddr, aliases, ARRAY_LEN(aliases));
		for (uint32_t k = 0; k < count && k < ARRAY_LEN(aliases); k++)
			assert(aliases[k] < t->function_count);
	}
	if (rsym_report_read(t, &report))
		while (rsym_report_next(&report, &note))
			assert(strlen(note.part) + strlen(note.name) + strlen(note.why) <
			       t->report.len);
	rsym_reader_free(r);
}

/* Without the check only bounds hold: of memory, and of the answers. */
static void ask_trusted(const struct rsym *t)
{
	static struct rsym_frame frames[8 * RSYM_FRAMES_MAX];
	struct rsym_column columns[8];
	uint64_t vaddrs[64], start, end = 0;
	uint32_t ends[ARRAY_LEN(vaddrs)];

	for (size_t i = 0; i < ARRAY_LEN(vaddrs); i++) {
		rsym_range(t, end, &start, &end);
		vaddrs[i] = start;
	}
	for (int order = 0; order < 2; order++) {
		size_t done = rsym_lookup_batch(t, vaddrs, ARRAY_LEN(vaddrs), frames,
						ARRAY_LEN(frames), ends);

		assert(done > 0 && ends[done - 1] <= ARRAY_LEN(frames));
		for (size_t i = 0; i < ends[done - 1]; i++) {
			struct rsym_function f;

			(void)rsym_function(t, frames[i].function, &f, NULL);
			rsym_columns_at(t, vaddrs[i % ARRAY_LEN(vaddrs)], columns,
					ARRAY_LEN(columns));
		}
		for (size_t i = 0; i < ARRAY_LEN(vaddrs); i++) /* once more, out of order */
			vaddrs[i] = i % 2 ? vaddrs[i] : vaddrs[i] ^ 0x1f0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1); /* aligned as tables must be */
	struct rsym t;

	memcpy(copy, p, len);
	if (len % 2 == 0)
		seal(copy, len);
	if (rsym_open_trusted(&t, copy, len, NULL) == 0)
		ask_trusted(&t);
	if (rsym_open(&t, copy, len, NULL) == 0)
		ask_all(&t);
	free(copy);
	return 0;
}
