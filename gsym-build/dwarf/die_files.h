/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_FILES_H
#define RAWSTACK_DIE_FILES_H
/*
 * The files of a scan are the image, its dwz alternate file, and files of split units (DWARF 5
 * section 7.3.2, and the GNU extension to DWARF 4). A split unit is found by the id of its
 * skeleton.
 */
#include "die_companions.h"
#include "die_dwp.h"
#include "die_lookup.h"
#include "die_notes.h"

/* A unit of a .dwo file. The units are sorted by id, which must be the first member for
 * compare_u64(). */
struct die_split_unit {
	uint64_t id;
	struct die_unit unit;
};

/* die_files_open() sets everything but the image's `whole`, which die_scan_open_info() sets if
 * units of the image refer to each other. */
struct die_files {
	struct die_file image;
	struct die_file alt;
	struct die_file *split; /* the loose .dwo files, then the .dwp file */
	size_t split_count;
	struct die_split_unit *units; /* of the loose files, by id */
	size_t unit_count, units_cap;
	struct dwp_index index; /* of the .dwp file; empty if there is none */
};

/* Opens the image and its companions. A damaged companion is treated as missing, and the report
 * says why. Returns ERR_MEMORY, or for the image errors as image_section(). The caller must call
 * die_files_close() even after an error. */
int die_files_open(struct die_files *x, struct image *im, const struct die_companions *c,
		   struct debug_text *text, struct die_lookup *lookup, struct die_notes *notes,
		   struct err *err) _must_check_;
void die_files_close(struct die_files *x);

/* Finds the split unit of the skeleton whose DIE is d. Returns 1, or 0 if d is no skeleton or no
 * companion holds the unit. */
int die_files_find_split(const struct die_files *x, const struct die *d, struct die_unit *ret);

/* Return the total length of the units and line tables, and of the range lists, in files of split
 * units. */
uint64_t die_files_split_len(const struct die_files *x);
uint64_t die_files_split_ranges_len(const struct die_files *x);

/* Reads the header of the unit that a row of a package's index places in section `info`. Returns
 * false if no readable unit is there. */
bool die_files_unit_of_row(const struct die_file *f, enum dwp_section info,
			   const struct dwp_row *row, struct die_unit *ret);

#endif
