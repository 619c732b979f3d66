/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the companions of an image for the plain reader: .dwo files and packages, all units of
 * which are listed, and the dwz alternate file. libdwarf finds the parts of a package that belong
 * to a unit; addresses are looked up by our own code, so that objects need not be tied for them.
 */
#include <string.h>

#include "bisect.h"
#include "plain_priv.h"

static int compare_plain_split_units(const void *va, const void *vb)
{
	const struct plain_split_unit *a = va, *b = vb;

	if (a->id != b->id)
		return a->id > b->id ? 1 : -1;
	return (a->file > b->file) - (a->file < b->file); /* loose files before the package */
}

/* Adds the unit whose header was just read, if a skeleton can refer to it. */
static int add_plain_split_unit(struct plain_reader *r, struct plain_split_unit *u, Dwarf_Half kind,
				struct err *err)
{
	Dwarf_Debug dbg = u->file->object.dbg;
	Dwarf_Error e = NULL;
	Dwarf_Die die = NULL;
	struct plain_die d = {0};
	int rc = 0;

	if (dwarf_siblingof_b(dbg, NULL, 1, &die, &e) != DW_DLV_OK ||
	    dwarf_dieoffset(die, &u->die, &e) != DW_DLV_OK)
		rc = plain_object_failed(dbg, e, "unit DIE", err);
	if (!rc && u->version < 5) {
		rc = plain_die_read(r, dbg, die, &d, err);
		u->id = d.dwo_id;
	}
	if (die)
		dwarf_dealloc(dbg, die, DW_DLA_DIE);
	if (rc || (u->version >= 5 ? kind != DW_UT_split_compile : !d.has_dwo_id))
		return 0; /* an unreadable unit is treated as missing */
	if (!GROW(r->split_units, &r->split_units_cap, r->split_unit_count + 1, SIZE_MAX))
		return err_no_memory(err);
	r->split_units[r->split_unit_count++] = *u;
	return 0;
}

static int list_split_units(struct plain_reader *r, struct plain_split_file *f, struct err *err)
{
	Dwarf_Unsigned next = 0;

	for (;;) {
		Dwarf_Unsigned header_len, type_off;
		Dwarf_Half address_size, offset_size, extension, kind = 0;
		Dwarf_Off abbrev_off;
		Dwarf_Sig8 signature = {0};
		Dwarf_Error e = NULL;
		struct plain_split_unit u = {.file = f, .off = next};
		int rc = dwarf_next_cu_header_d(
			f->object.dbg, 1, &header_len, &u.version, &abbrev_off, &address_size,
			&offset_size, &extension, &signature, &type_off, &next, &kind, &e);

		if (e)
			dwarf_dealloc(f->object.dbg, e, DW_DLA_ERROR);
		if (rc != DW_DLV_OK || next <= u.off)
			return 0;
		u.end = next;
		u.address_size = address_size == 4 ? 4 : 8;
		u.offset_size = offset_size == 4 ? 4 : 8;
		memcpy(&u.id, &signature, sizeof(u.id));
		TRY(add_plain_split_unit(r, &u, kind, err));
	}
}

static int list_split_file(struct plain_reader *r, struct image *im, struct err *err)
{
	struct plain_split_file *f = &r->split_files[r->split_file_count++];
	struct err why;
	int rc = plain_object_open(&f->object, im, true, &why);

	if (rc > 0)
		rc = image_section(im, ".debug_rnglists.dwo", &f->rnglists, &f->rnglists_len, &why);
	f->lines = r->line_sections;
	if (rc >= 0)
		rc = image_section(im, ".debug_line.dwo", &f->lines.line, &f->lines.line_len, &why);
	if (rc >= 0)
		rc = image_section(im, ".debug_str.dwo", &f->lines.str, &f->lines.str_len, &why);
	if (rc < 0)
		return rc == ERR_MEMORY ? err_set(err, rc, "%s", why.message) : 0;
	return f->object.dbg ? list_split_units(r, f, err) : 0;
}

int plain_split_open(struct plain_reader *r, struct err *err)
{
	const struct die_companions *c = r->companions;
	struct err why;

	if (c->alt && plain_object_open(&r->alt, c->alt, false, &why) == ERR_MEMORY)
		return err_set(err, ERR_MEMORY, "%s", why.message);
	if (!c->dwo_count && !c->dwp)
		return 0;
	r->split_files = calloc(c->dwo_count + 1, sizeof(*r->split_files));
	if (!r->split_files)
		return err_no_memory(err);
	for (size_t i = 0; i < c->dwo_count; i++)
		TRY(list_split_file(r, c->dwos[i], err));
	if (c->dwp)
		TRY(list_split_file(r, c->dwp, err));
	if (r->split_unit_count)
		qsort(r->split_units, r->split_unit_count, sizeof(*r->split_units),
		      compare_plain_split_units);
	return 0;
}

void plain_split_close(struct plain_reader *r)
{
	for (size_t i = 0; i < r->split_file_count; i++)
		plain_object_close(&r->split_files[i].object);
	free(r->split_files);
	free(r->split_units);
	plain_object_close(&r->alt);
}

const struct plain_split_unit *plain_split_find(const struct plain_reader *r,
						const struct plain_die *d)
{
	bool standard = r->unit_kind == DW_UT_skeleton;
	uint64_t id = standard ? r->unit_id : d->dwo_id;
	size_t at;

	if (!standard && !(d->dwo_name && d->has_dwo_id))
		return NULL;
	at = BISECT(r->split_unit_count, i, r->split_units[i].id < id); /* the first with that id */
	return at < r->split_unit_count && r->split_units[at].id == id ? &r->split_units[at] : NULL;
}

/* Returns the start of a unit's part of a section of a package, or 0 in a loose file. */
static uint64_t part_of(Dwarf_Debug dbg, Dwarf_Die die, int section)
{
	Dwarf_Debug_Fission_Per_CU parts;
	Dwarf_Error e = NULL;
	int rc;

	memset(&parts, 0, sizeof(parts));
	rc = dwarf_get_debugfission_for_die(die, &parts, &e);
	if (e)
		dwarf_dealloc(dbg, e, DW_DLA_ERROR);
	return rc == DW_DLV_OK ? parts.pcu_offset[section] : 0;
}

/* Reads the split unit's own file table, because its file numbers refer to that table. The table
 * has no rows. */
static int read_plain_split_files(struct plain_reader *r, const struct plain_split_file *f,
				  Dwarf_Die die, uint64_t off, struct err *err)
{
	const struct plain_rows_place place = {r->dbg, die, &f->lines, off};
	struct line_rows ignored = {0};
	struct err why;
	int rc;

	plain_rows_done(&r->lines);
	rc = plain_rows_read(&r->lines, &place, false, &ignored, &why);
	free(ignored.rows);
	if (rc < 0)
		return err_set(err, rc, "%s", why.message);
	r->report->lines_refused += rc == 0;
	return 0;
}

int plain_split_enter(struct plain_reader *r, const struct plain_split_unit *u,
		      const struct plain_die *skeleton, Dwarf_Die *die, struct err *err)
{
	struct plain_split_file *f = u->file;
	uint64_t lines_off;
	struct plain_die d;
	Dwarf_Error e = NULL;

	dwarf_dealloc(r->dbg, *die, DW_DLA_DIE);
	*die = NULL;
	r->dbg = f->object.dbg;
	r->in_split = true;
	if (dwarf_offdie_b(r->dbg, u->die, 1, die, &e) != DW_DLV_OK)
		return plain_object_failed(r->dbg, e, "split unit", err);
	r->unit_off = u->off;
	r->unit_end = u->end;
	r->source.version = u->version;
	r->source.address_size = u->address_size;
	r->source.offset_size = u->offset_size;
	r->ranges_bias = skeleton->ranges_base;
	if (u->version >= 5) {
		/* Indexes are relative to the end of the header of the unit's own list table. */
		r->ranges_bias = part_of(r->dbg, *die, DW_SECT_RNGLISTS);
		r->source.rnglists = f->rnglists;
		r->source.rnglists_len = f->rnglists_len;
		r->source.rnglists_base = r->ranges_bias + (u->offset_size == 4 ? 12 : 20);
	}
	TRY(plain_die_read(r, r->dbg, *die, &d, err));
	if (d.has_lines && f->lines.line &&
	    CHECKED_ADD(d.lines, part_of(r->dbg, *die, DW_SECT_LINE), &lines_off))
		return read_plain_split_files(r, f, *die, lines_off, err);
	return 0;
}

void plain_split_leave(struct plain_reader *r)
{
	if (!r->in_split)
		return;
	r->in_split = false;
	r->dbg = r->object.dbg;
	r->source.rnglists = r->rnglists;
	r->source.rnglists_len = r->rnglists_len;
}
