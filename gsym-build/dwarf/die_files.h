/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_FILES_H
#define RAWSTACK_DIE_FILES_H
/*
 * All files of a scan: the image, its dwz alternate file, and files of split units (DWARF 5 section
 * 7.3.2, and the GNU extension to DWARF 4). A split unit is found by the id of its skeleton.
 */
#include "die_companions.h"
#include "die_dwp.h"
#include "die_lookup.h"
#include "die_notes.h"

/* A unit of a .dwo file. The id stands first, by which the units are sorted and found. */
struct die_split_unit {
	uint64_t id;
	struct die_unit unit;
};

/* Set at opening. The image's `whole` is set behind that, when its units refer to each other
 * (die_scan_open_info()). */
struct die_files {
	struct die_file image;
	struct die_file alt;
	struct die_file *split; /* the loose .dwo files, then the .dwp file */
	size_t split_count;
	struct die_split_unit *units; /* of the loose files, by id */
	size_t unit_count, units_cap;
	struct dwp_index index; /* of the .dwp file; empty when there is none */
};

/* Opens the image and its companions. A damaged companion is treated as missing, and the report
 * says why. ERR_MEMORY; of the image, errors as image_section(). The caller must call
 * die_files_close() even after an error. */
int die_files_open(struct die_files *x, struct image *im, const struct die_companions *c,
		   struct debug_text *text, struct die_lookup *lookup, struct die_notes *notes,
		   struct err *err) _must_check_;
void die_files_close(struct die_files *x);

/* Finds the split unit of the skeleton whose DIE is d. 1; 0: it has none, or no companion
 * holds it. */
int die_files_find_split(const struct die_files *x, const struct die *d, struct die_unit *ret);

/* The bytes of files of split units: units and line tables, and range lists. */
uint64_t die_files_split_len(const struct die_files *x);
uint64_t die_files_split_ranges_len(const struct die_files *x);

/* Reads the unit of a package whose part of section `info` a row of the index describes. False when
 * there is no unit that can be read. */
bool die_files_unit_of_row(const struct die_file *f, enum dwp_section info,
			   const struct dwp_row *row, struct die_unit *ret);

#endif
