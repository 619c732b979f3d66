/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_report.h"

#include <string.h>

#include "rsym_format.h"

enum {
	NEEDS_ALT_FILE = 1
};

bool rsym_report_note(struct buf *notes, const char *part, const char *name, const char *why)
{
	const char *texts[] = {part, name, why};
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		len += strlen(texts[i]) + 1;
	/* Once one note does not fit, no later one is added, so that the first ones are kept. */
	if (notes->failed || len > notes->max - notes->len) {
		notes->failed = true;
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		buf_append(notes, texts[i], strlen(texts[i]) + 1);
	return !notes->failed;
}

static size_t count_ends(const uint8_t *p, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += !p[i];
	return count;
}

void rsym_report_put(struct buf *out, const struct rsym_report *report, const struct buf *notes)
{
	struct rsym_disk_report disk = {
		.input_len = report->input_len,
		.unit_count = report->unit_count,
		.units_skipped = report->units_skipped,
		.symbol_count = report->symbol_count,
		.inline_count = report->inline_count,
		.relocations_skipped = report->relocations_skipped,
		.note_count = (uint32_t)(count_ends(notes->p, notes->len) / 3),
		.flags = report->needs_alt_file ? NEEDS_ALT_FILE : 0,
	};

	buf_append(out, &disk, sizeof(disk));
	buf_append(out, notes->p, notes->len);
}

int rsym_report_read(const struct rsym *t, struct rsym_report *ret)
{
	struct rsym_disk_report disk;

	*ret = (struct rsym_report){0};
	if (!t->report.p || t->report.len < sizeof(disk))
		return 0;
	memcpy(&disk, t->report.p, sizeof(disk));
	*ret = (struct rsym_report){
		.input_len = disk.input_len,
		.unit_count = disk.unit_count,
		.units_skipped = disk.units_skipped,
		.symbol_count = disk.symbol_count,
		.inline_count = disk.inline_count,
		.relocations_skipped = disk.relocations_skipped,
		.note_count = disk.note_count,
		.needs_alt_file = disk.flags & NEEDS_ALT_FILE,
		.notes = bytes_of(t->report.p + sizeof(disk), t->report.len - sizeof(disk)),
	};
	return 1;
}

int rsym_report_next(struct rsym_report *r, struct rsym_note *ret)
{
	size_t len;

	ret->part = bytes_cstr(&r->notes, &len);
	ret->name = bytes_cstr(&r->notes, &len);
	ret->why = bytes_cstr(&r->notes, &len);
	return ret->part && ret->name && ret->why;
}

int rsym_report_check(const struct rsym *t, struct err *err)
{
	struct rsym_report r;

	if (!t->report.p)
		return 0;
	if (!rsym_report_read(t, &r) || r.notes.left > LIMIT_SKIPPED_LEN ||
	    count_ends(r.notes.p, r.notes.left) / 3 != r.note_count ||
	    count_ends(r.notes.p, r.notes.left) % 3 ||
	    (r.notes.left && r.notes.p[r.notes.left - 1]))
		return err_set(err, ERR_DATA, "damaged table: section %d does not fit the others",
			       RSYM_SECTION_REPORT);
	return 0;
}
