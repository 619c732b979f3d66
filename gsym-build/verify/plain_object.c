/* SPDX-License-Identifier: Apache-2.0 */
/* Gives libdwarf the sections that our own loader reads: only those that it needs, decompressed,
 * and never .debug_rnglists or .debug_loclists (see plain_ranges.h). */
#include <elf.h>

#include "bytes.h"
#include "plain_priv.h"

struct plain_object_section {
	const char *name;
	const uint8_t *p;
	size_t len;
};

/* The sections of .dwo files and packages that libdwarf gets. */
static const char *const split_wanted[] = {
	".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str.dwo",  ".debug_str_offsets.dwo",
	".debug_line.dwo", ".debug_cu_index",   ".debug_tu_index", ".debug_types.dwo",
};

static const char *const wanted[] = {
	".debug_info",        ".debug_abbrev",   ".debug_str",  ".debug_addr",
	".debug_str_offsets", ".debug_line_str", ".debug_line", ".debug_types",
};

static int get_info(void *obj, Dwarf_Half index, Dwarf_Obj_Access_Section *ret, int *error _unused_)
{
	const struct plain_object *o = obj;

	if (index >= o->section_count)
		return DW_DLV_NO_ENTRY;
	*ret = (Dwarf_Obj_Access_Section){
		.type = SHT_PROGBITS,
		.size = o->sections[index].len,
		.name = o->sections[index].name,
	};
	return DW_DLV_OK;
}

static Dwarf_Endianness get_order(void *obj _unused_)
{
	return DW_OBJECT_LSB;
}

static Dwarf_Small get_length_size(void *obj)
{
	return ((const struct plain_object *)obj)->is_64 ? 8 : 4;
}

static Dwarf_Unsigned get_count(void *obj)
{
	return ((const struct plain_object *)obj)->section_count;
}

static int load_object_section(void *obj, Dwarf_Half index, Dwarf_Small **ret, int *error _unused_)
{
	const struct plain_object *o = obj;

	if (index >= o->section_count || !o->sections[index].p)
		return DW_DLV_NO_ENTRY;
	*ret = (Dwarf_Small *)(uintptr_t)o->sections[index].p;
	return DW_DLV_OK;
}

/*
 * Returns whether libdwarf's search in the index of a package always ends: version 20210528
 * searches for an id until a slot has it or is free. The number of slots must be a power of 2, and
 * one must be free (DWARF 5 section 7.3.5.3).
 */
static bool search_ends(const uint8_t *p, size_t len)
{
	struct bytes in = bytes_of(p, len), hashes, rows;
	uint64_t slots;

	bytes_skip(&in, 12); /* version, columns, units */
	slots = bytes_u32(&in);
	hashes = bytes_of(bytes_take(&in, slots * 8), slots * 8);
	rows = bytes_of(bytes_take(&in, slots * 4), slots * 4);
	if (in.failed || slots & (slots - 1))
		return false;
	for (; slots; slots--)
		if (!(bytes_u64(&hashes) | bytes_u32(&rows)))
			return true;
	return false;
}

/* Inflates a damaged compressed .debug_info up to the damage into o->partial, because the units
 * before it are valid. Returns 1, or ERR_DATA (*err keeps its message) or ERR_MEMORY. */
static int load_partial(struct plain_object *o, struct image *im, struct plain_object_section *s,
			struct err *err)
{
	size_t step = 4096;
	struct image_packed packed;
	int rc = image_bias(im) ? 0 : image_section_packed(im, s->name, &packed, NULL);

	if (rc <= 0 || packed.kind == INFLATE_NONE)
		return ERR_DATA;
	o->partial = malloc(packed.plain_len + 1);
	if (!o->partial)
		return err_set(err, ERR_MEMORY, "out of memory for %s", s->name);
	s->p = o->partial;
	s->len = 0; /* image_section() may have set the undamaged length */
	/* A stream cannot be used after an error, so inflate twice: first in steps, then again up
	 * to the failed step and on byte by byte. */
	for (; step; step = step == 1 ? 0 : 1) {
		_cleanup_(inflate_stream_freep) struct inflate_stream *in = NULL;
		size_t goal = s->len;

		if (inflate_stream_open(&in, packed.kind, packed.p, packed.len, packed.plain_len,
					NULL))
			return ERR_DATA;
		s->len = 0;
		while (s->len < packed.plain_len) {
			size_t left = packed.plain_len - s->len;
			size_t len = s->len < goal ? 4096 : step;

			len = len < left ? len : left;

			if (inflate_stream_read(in, o->partial + s->len, len, NULL))
				break;
			s->len += len;
		}
	}
	return 1;
}

int plain_object_open(struct plain_object *o, struct image *im, bool split, struct err *err)
{
	static const Dwarf_Obj_Access_Methods methods = {
		.get_section_info = get_info,
		.get_byte_order = get_order,
		.get_length_size = get_length_size,
		.get_pointer_size = get_length_size,
		.get_section_count = get_count,
		.load_section = load_object_section,
	};
	const char *const *names = split ? split_wanted : wanted;
	size_t count = split ? ARRAY_LEN(split_wanted) : ARRAY_LEN(wanted);
	Dwarf_Error e = NULL;
	int rc;

	*o = (struct plain_object){.is_64 = image_is_64(im)};
	o->access = (Dwarf_Obj_Access_Interface){.object = o, .methods = &methods};
	/* Section 0 is the null section of ELF; libdwarf does not look at it. */
	o->sections = calloc(count + 1, sizeof(*o->sections));
	if (!o->sections)
		return err_no_memory(err);
	o->sections[o->section_count++].name = "";
	for (size_t i = 0; i < count; i++) {
		struct plain_object_section s = {.name = names[i]};

		rc = image_section(im, s.name, &s.p, &s.len, err);
		if (rc == ERR_DATA && i == 0 && !split)
			rc = load_partial(o, im, &s, err);
		if (rc < 0) {
			plain_object_close(o);
			return rc;
		}
		if (rc && strstr(s.name, "_index") && !search_ends(s.p, s.len)) {
			if (!strcmp(s.name, ".debug_tu_index"))
				continue;
			plain_object_close(o); /* no unit can be found without the index */
			return 0;
		}
		if (rc && s.len) /* libdwarf refuses an empty section */
			o->sections[o->section_count++] = s;
		else if (i == 0)
			break; /* no .debug_info */
	}
	if (o->section_count == 1) {
		plain_object_close(o);
		return 0;
	}
	rc = dwarf_object_init_b(&o->access, NULL, NULL,
				 split ? DW_GROUPNUMBER_DWO : DW_GROUPNUMBER_ANY, &o->dbg, &e);
	if (rc == DW_DLV_OK)
		return 1;
	rc = plain_object_failed(NULL, e, "libdwarf", err);
	plain_object_close(o);
	return rc;
}

void plain_object_close(struct plain_object *o)
{
	Dwarf_Error e = NULL;

	if (o->dbg)
		dwarf_object_finish(o->dbg, &e);
	free(o->sections);
	free(o->partial);
	*o = (struct plain_object){0};
}

int plain_object_failed(Dwarf_Debug dbg, Dwarf_Error e, const char *what, struct err *err)
{
	err_set(err, ERR_DATA, "%s: %s", what, e ? dwarf_errmsg(e) : "no reason given");
	if (e)
		dwarf_dealloc(dbg, e, DW_DLA_ERROR);
	return ERR_DATA;
}

void plain_read_untracked(void)
{
	dwarf_set_de_alloc_flag(0);
}
