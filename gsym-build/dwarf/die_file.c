/* SPDX-License-Identifier: Apache-2.0 */
#include "die_file.h"

#include <stdlib.h>

#include "bisect.h"

int die_file_open(struct die_file *f, struct image *im, enum die_file_kind kind,
		  struct debug_text *text, struct err *err)
{
	/* The names by kind; NULL if the section is not read in a file of this kind. */
	const struct {
		const char *names[DIE_FILE_SPLIT + 1];
		struct die_section *ret;
	} wanted[] = {
		{{NULL, ".debug_info", ".debug_info.dwo"}, &f->whole},
		{{".debug_abbrev", ".debug_abbrev", ".debug_abbrev.dwo"}, &f->abbrev},
		{{".debug_addr"}, &f->addr},
		{{".debug_ranges"}, &f->ranges},
		{{".debug_rnglists", NULL, ".debug_rnglists.dwo"}, &f->rnglists},
		{{".debug_line", NULL, ".debug_line.dwo"}, &f->line},
	};

	TRY(die_text_open(&f->strings, im, kind == DIE_FILE_SPLIT, text, err));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (wanted[i].names[kind])
			TRY(die_section_load(wanted[i].ret, im, wanted[i].names[kind], err));
	return 0;
}

void die_file_close(struct die_file *f)
{
	die_text_close(&f->strings);
	free(f->units);
	*f = (struct die_file){0};
}

int die_file_add_unit(struct die_file *f, const struct die_unit *u, struct err *err)
{
	if (!GROW(f->units, &f->units_cap, f->unit_count + 1, SIZE_MAX))
		return err_no_memory(err);
	f->units[f->unit_count++] = *u;
	return 0;
}

int die_file_list_units(struct die_file *f, struct err *err)
{
	for (uint64_t off = 0; off < f->whole.len;) {
		uint64_t len = f->whole.len;
		uint64_t have = len - off < DIE_HEADER_MAX ? len - off : DIE_HEADER_MAX;
		struct err why;
		struct die_unit u;
		int rc = die_unit_header(&u, f->whole.p + off, have, off, len, f->is_types, &why);

		if (rc && rc != ERR_UNSUPPORTED)
			return 0;
		u.file = f;
		u.p = f->whole.p + off;
		off = u.end;
		if (!rc && die_file_add_unit(f, &u, err))
			return ERR_MEMORY;
	}
	return 0;
}

struct die_unit *die_file_unit_at(const struct die_file *f, uint64_t off)
{
	size_t at = BISECT(f->unit_count, i, f->units[i].end <= off);

	return at < f->unit_count && f->units[at].off <= off ? &f->units[at] : NULL;
}
