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

static void ask(const struct rsym *t, uint64_t vaddr)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	uint64_t start, end;
	int n = rsym_lookup(t, vaddr, frames, ARRAY_LEN(frames));
	int has = rsym_range(t, vaddr, &start, &end);

	assert(n >= 0 && n <= (int)RSYM_FRAMES_MAX && (n > 0) == has);
	assert(start <= vaddr && vaddr <= end);
	for (int i = 0; i < n; i++) {
		struct buf text = BUF_INIT(1 << 16);
		struct rsym_function f;

		if (rsym_function(t, frames[i].function, &f, NULL))
			abort();
		(void)rsym_name(t, frames[i].function, &text, NULL);
		if (frames[i].file != RSYM_NONE)
			(void)rsym_file(t, frames[i].file, &text, NULL);
		buf_done(&text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1); /* aligned as tables must be */
	struct rsym t;

	memcpy(copy, p, len);
	if (len % 2 == 0)
		seal(copy, len);
	if (rsym_open(&t, copy, len, NULL) == 0) {
		uint64_t vaddr, end = 0;

		for (int i = 0; i < 100 && end != UINT64_MAX; i++) {
			rsym_range(&t, end, &vaddr, &end);
			ask(&t, vaddr);
			ask(&t, end - 1);
			rsym_vaddr_of_file_off(&t, vaddr, &vaddr);
			(void)rsym_in_segments(&t, vaddr);
		}
		ask(&t, UINT64_MAX);
	}
	free(copy);
	return 0;
}
