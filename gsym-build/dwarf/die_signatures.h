/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_SIGNATURES_H
#define RAWSTACK_DIE_SIGNATURES_H
/*
 * Type units, which other units refer to by a signature (DW_FORM_ref_sig8; DWARF 5 section 7.32).
 * They are in .debug_info since DWARF 5 and in .debug_types before, of the image or of files of
 * split units. They are read only when types are wanted.
 */
#include "die_files.h"

/* The place of the DIE of a type unit's type. */
struct die_signature {
	uint64_t id;
	const struct die_file *file;
	uint64_t off;
	size_t order; /* rank in which the unit was found; of several copies the first is taken */
};

/* Read-only once opened. A zeroed struct has no type units. */
struct die_signatures {
	struct die_file *files;     /* with sections of type units */
	struct die_signature *list; /* by id */
	size_t file_count, count, cap;
};

/* Indexes the type units in a zeroed struct. The units of `files` must be listed, and `files` and
 * the images must stay open. Returns ERR_MEMORY. */
int die_signatures_open(struct die_signatures *x, struct image *im, const struct die_files *files,
			const struct die_companions *c, struct err *err) _must_check_;
void die_signatures_close(struct die_signatures *x);

/* Finds the DIE of a type by the signature of its unit. Returns whether there is one. */
bool die_signatures_find(const struct die_signatures *x, uint64_t id,
			 const struct die_file **ret_file, uint64_t *ret);

#endif
