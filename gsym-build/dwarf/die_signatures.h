/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_SIGNATURES_H
#define RAWSTACK_DIE_SIGNATURES_H
/*
 * Type units, which others refer to by a signature (DW_FORM_ref_sig8; DWARF 5 section 7.32): they
 * stand in .debug_info since DWARF 5 and in .debug_types before, and in files of split units like
 * the rest. They are read only when types are wanted.
 */
#include "die_files.h"

/* A type unit, by its signature: where the DIE of its type is. */
struct die_signature {
	uint64_t id;
	const struct die_file *file;
	uint64_t off;
	size_t order; /* order in which it was found: the first of several copies is taken */
};

/* Read-only once opened. A zeroed struct has no type units. */
struct die_signatures {
	struct die_file *files;     /* with sections of type units */
	struct die_signature *list; /* by id */
	size_t file_count, count, cap;
};

/* Indexes the type units of a zeroed struct. `files`, whose units are listed, and the images must
 * stay open. ERR_MEMORY. */
int die_signatures_open(struct die_signatures *x, struct image *im, const struct die_files *files,
			const struct die_companions *c, struct err *err) _must_check_;
void die_signatures_close(struct die_signatures *x);

/* Finds the DIE of a type by the signature of its unit. */
bool die_signatures_find(const struct die_signatures *x, uint64_t id,
			 const struct die_file **ret_file, uint64_t *ret);

#endif
