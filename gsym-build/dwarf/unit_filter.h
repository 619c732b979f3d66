/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_FILTER_H
#define RAWSTACK_UNIT_FILTER_H
/*
 * Which units a scan for a few addresses has to read. The index of the file (.debug_aranges, DWARF
 * 5 section 6.1.2) names the units of an address; for a unit that it does not list, the ranges in
 * its DIE decide. An address is done at the first unit that has a function there, because the
 * builder prefers the lowest unit; later units are not read for it.
 *
 * The index is trusted for the units it lists: ranges that it leaves out are not found here, as
 * with every other user of the index. A damaged index is ignored.
 */
#include "image.h"
#include "line_table.h"
#include "range_list.h"

struct unit_filter {
	struct wanted_address *list; /* by vaddr; NULL: all addresses are wanted */
	size_t count, open_count;    /* open: no unit with a function there was read yet */
	uint64_t *runs; /* bitmap of the runs with a wanted address, which spares most searches */
	size_t unlisted_count; /* addresses for which the index names no unit */
	uint64_t *listed;      /* offsets of the units in the index, rising */
	size_t listed_count, listed_cap;
	struct wanted_pair *pairs; /* what the index says of wanted addresses, by unit */
	size_t pair_count, pairs_cap;
};

/* `vaddrs` are link-time addresses plus the image's bias. ERR_MEMORY. */
int unit_filter_open(struct unit_filter *w, struct image *im, const uint64_t *vaddrs, size_t count,
		     struct err *err) _must_check_;
/* Copies the filter `from` in its initial state, for another scan of the same image. ERR_MEMORY. */
int unit_filter_copy(struct unit_filter *w, const struct unit_filter *from,
		     struct err *err) _must_check_;
void unit_filter_close(struct unit_filter *w);

/* Whether no unit at this offset or behind it is needed. */
bool unit_filter_is_done(const struct unit_filter *w, uint64_t unit_off);

/* What to do with the unit at an offset. */
enum unit_filter_need {
	UNIT_FILTER_SKIP, /* do not read it */
	UNIT_FILTER_ASK,  /* its own ranges decide; see unit_filter_overlaps() */
	UNIT_FILTER_READ,
};

enum unit_filter_need unit_filter_need(const struct unit_filter *w, uint64_t unit_off);

/* Whether an open address lies in one of the ranges; always true when all addresses are wanted. */
bool unit_filter_overlaps(const struct unit_filter *w, const struct debug_range *ranges,
			  size_t count);

/* Keeps only the rows that answer an open address and the rows that bound them. A sequence keeps
 * its first and last row. */
void unit_filter_trim_rows(const struct unit_filter *w, struct line_rows *rows);

/* Marks the addresses in functions of the unit just read as found. */
void unit_filter_mark_found(struct unit_filter *w, const struct debug_span *spans, size_t count);

/*
 * The addresses found by two concurrent scans, each with a unit_filter of its own: what one scan
 * finds must not hide the same address in a lower unit that the other is reading. The caller's lock
 * guards it.
 */
struct unit_filter_shared {
	bool *found; /* by index of the address; NULL: all are wanted */
	size_t open_count, unlisted_count;
};

/* Starts with nothing found, for the addresses of `w`. ERR_MEMORY. */
int unit_filter_shared_open(struct unit_filter_shared *both, const struct unit_filter *w,
			    struct err *err) _must_check_;
void unit_filter_shared_close(struct unit_filter_shared *both);

/* Adds what one of the scans has found so far. */
void unit_filter_shared_add(struct unit_filter_shared *both, const struct unit_filter *w);

/* unit_filter_is_done() for both scans together. */
bool unit_filter_shared_is_done(const struct unit_filter_shared *both, const struct unit_filter *w,
				uint64_t unit_off);

#endif
