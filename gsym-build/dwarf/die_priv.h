/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_PRIV_H
#define RAWSTACK_DIE_PRIV_H
/* The state of a whole scan, private to die_scan.c and scan_parallel.c. Each part is written by the
 * file that its type is named after; scan_parallel.c also lets the second scan share parts of the
 * first. */
#include "die_names.h"
#include "die_scan.h"
#include "die_types.h"
#include "section_stream.h"

struct die_scan {
	struct die_files files;
	struct section_stream info; /* .debug_info, if files.image.whole is not set */
	struct die_lookup lookup;
	struct current_unit current;
	struct die_scopes scopes; /* of the current unit, like its names and types */
	struct die_names names;
	struct die_types types;
	struct unit_filter wanted;
	struct die_repeats repeats; /* two threads both use that of the first scan */
	struct die_notes notes;
	const struct debug_sink *sink;
};

/* Opens everything but .debug_info. Returns 0 or errors as die_scan_with(). The caller must call
 * die_scan_close() even after an error. */
int die_scan_open(struct die_scan *s, struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err) _must_check_;
/* Opens .debug_info. Returns 1, 0 if there are no units, or an error. */
int die_scan_open_info(struct die_scan *s, struct image *im,
		       const struct die_companions *companions, struct err *err) _must_check_;
void die_scan_close(struct die_scan *s);

/* Returns the length of .debug_info. */
uint64_t die_scan_info_len(const struct die_scan *s);

/* Finds the unit at an offset and makes its bytes readable. Returns 1, 0 if the unit cannot be read
 * (*why says why) but ret->end is valid, or an error if no later unit can be found either. */
int die_scan_find_unit(struct die_scan *s, uint64_t off, struct die_unit *ret, struct err *why);

/* Reads the unit with this number, for which die_scan_find_unit() returned `found`, and gives it to
 * the sink, or notes why it cannot be read. Returns 0, ERR_MEMORY, ERR_LIMIT as
 * die_repeats_check(), or what the sink returns. */
int die_scan_read_unit(struct die_scan *s, const struct die_unit *u, uint32_t number, int found,
		       struct err *why, struct err *err) _must_check_;

#endif
