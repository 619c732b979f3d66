/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_FILE_H
#define RAWSTACK_DIE_FILE_H
/* Opens a file and lists its units. Later only the bases of a listed unit change, in
 * die_lookup.h. */
#include "die_unit.h"

enum die_file_kind {
	DIE_FILE_IMAGE, /* its .debug_info is opened apart */
	DIE_FILE_ALT,
	DIE_FILE_SPLIT, /* its sections are named .debug_*.dwo */
};

/* Loads the sections of an image, which must stay open. Errors as image_section(). The caller must
 * call die_file_close() even after an error. */
int die_file_open(struct die_file *f, struct image *im, enum die_file_kind kind,
		  struct debug_text *text, struct err *err) _must_check_;
void die_file_close(struct die_file *f);

/* Lists all units of f->whole, for references between them. Unreadable units are left out; the scan
 * reports them. ERR_MEMORY. */
int die_file_list_units(struct die_file *f, struct err *err) _must_check_;

/* Adds a unit to the list, behind the others. ERR_MEMORY. */
int die_file_add_unit(struct die_file *f, const struct die_unit *u, struct err *err) _must_check_;

/* The listed unit that holds an offset, or NULL. */
struct die_unit *die_file_unit_at(const struct die_file *f, uint64_t off);

#endif
