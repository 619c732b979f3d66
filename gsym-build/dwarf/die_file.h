/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_FILE_H
#define RAWSTACK_DIE_FILE_H
/* Opens a file and lists its units. Afterwards only die_lookup.h changes a listed unit: it fills in
 * the bases. */
#include "die_unit.h"

enum die_file_kind {
	DIE_FILE_IMAGE, /* its .debug_info is opened separately */
	DIE_FILE_ALT,
	DIE_FILE_SPLIT, /* its sections are named .debug_*.dwo */
};

/* Loads the sections of an image, which must stay open. Returns errors as image_section(). The
 * caller must call die_file_close() even after an error. */
int die_file_open(struct die_file *f, struct image *im, enum die_file_kind kind,
		  struct debug_text *text, struct err *err) _must_check_;
void die_file_close(struct die_file *f);

/* Lists all units of f->whole, for references between them. Unreadable units are left out; the scan
 * reports them. Returns ERR_MEMORY. */
int die_file_list_units(struct die_file *f, struct err *err) _must_check_;

/* Appends a unit to the list. Returns ERR_MEMORY. */
int die_file_add_unit(struct die_file *f, const struct die_unit *u, struct err *err) _must_check_;

/* Returns the listed unit that holds an offset, or NULL. */
struct die_unit *die_file_unit_at(const struct die_file *f, uint64_t off);

#endif
