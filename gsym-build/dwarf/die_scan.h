/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_SCAN_H
#define RAWSTACK_DIE_SCAN_H
/*
 * Reads DWARF 2 to 5 of an image as struct debug_unit, in every build. It is the second stage: it
 * reports what the file says and leaves every choice to the builder. It reports the same as the
 * plain reader (plain_reader.h), in the same order, at a tenth of the cost:
 *
 *	- units are scanned in place with compiled abbreviations (die_abbrev.h);
 *	- of .debug_info, only the current part is in memory (section_stream.h), unless units
 *	  refer to each other;
 *	- only the origins of scopes with code are followed for names, each once.
 *
 * Every read is bounded by its unit and section; limits.h bounds depth, hops, ranges and rows.
 */
#include "debug_info.h"
#include "die_companions.h"

/*
 * Gives each compile unit to the sink in order of offset (scan_parallel() does not keep that
 * order). A unit that cannot be read is skipped, counted and named in the report; a damaged line
 * table costs a unit its lines only. Fails if a section cannot be loaded, if memory is out, at the
 * limits of die_repeats.h, or if the sink fails. An image without .debug_info has no units. Only
 * one thread at a time may use an image and a text.
 */
int die_scan(struct image *im, struct debug_text *text, const struct debug_sink *sink,
	     struct debug_report *report, struct err *err) _must_check_;

/* die_scan() with companions, which must stay open until it returns. */
int die_scan_with(struct image *im, const struct die_companions *companions,
		  struct debug_text *text, const struct debug_sink *sink,
		  struct debug_report *report, struct err *err) _must_check_;

/* Receives the units that one of the two threads reads. */
struct die_part {
	struct debug_text *text;
	const struct debug_sink *sink;
};

/*
 * Does what die_scan_with() does in two threads, the caller's and the helper's: an idle thread
 * takes the next run of units and inflates it. Which part receives a unit differs from call to
 * call; the report, `missing` and `notes` do not. `companions` must not ask for types.
 */
int scan_parallel(struct image *im, const struct die_companions *companions,
		  struct die_part parts[2], struct debug_report *report, struct helper *helper,
		  struct err *err) _must_check_;

#endif
