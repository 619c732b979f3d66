/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_FILTER_H
#define RAWSTACK_UNIT_FILTER_H
/*
 * Decides which units a scan for a few addresses has to read. The index of the file
 * (.debug_aranges, DWARF 5 section 6.1.2) names the units of an address; for a unit that it does
 * not list, the ranges in its DIE decide. An address is found once a unit with a function there was
 * read, because the builder prefers the lowest unit; later units are not read for it.
 *
 * The index is trusted for the units it lists: ranges that it leaves out are not found, as with
 * every other reader of the index. A damaged index is ignored.
 */
#include "image.h"
#include "line_table.h"
#include "range_list.h"

struct unit_filter {
	struct wanted_address *list; /* sorted by vaddr; NULL if all addresses are wanted */
	size_t count, open_count;    /* an address is open until it is found */
	uint64_t *runs; /* bitmap of runs of code with a wanted address, to avoid most searches */
	size_t unlisted_count; /* addresses for which the index names no unit */
	uint64_t *listed;      /* offsets of the units in the index, ascending */
	size_t listed_count, listed_cap;
	struct wanted_pair *pairs; /* wanted addresses that the index lists, sorted by unit */
	size_t pair_count, pairs_cap;
};

/* Opens a filter for the `vaddrs`, which are link-time addresses plus the image's bias. Returns 0
 * or ERR_MEMORY. */
int unit_filter_open(struct unit_filter *w, struct image *im, const uint64_t *vaddrs, size_t count,
		     struct err *err) _must_check_;
/* Copies the filter `from`, which must be in its initial state, for another scan of the same image.
 * Returns ERR_MEMORY. */
int unit_filter_copy(struct unit_filter *w, const struct unit_filter *from,
		     struct err *err) _must_check_;
void unit_filter_close(struct unit_filter *w);

/* Returns whether no unit at this offset or behind it is needed. */
bool unit_filter_is_done(const struct unit_filter *w, uint64_t unit_off);

/* Says what to do with the unit at an offset. */
enum unit_filter_need {
	UNIT_FILTER_SKIP, /* do not read it */
	UNIT_FILTER_ASK,  /* its own ranges decide; see unit_filter_overlaps() */
	UNIT_FILTER_READ,
};

enum unit_filter_need unit_filter_need(const struct unit_filter *w, uint64_t unit_off);

/* Returns whether an open address lies in one of the ranges; always true if all addresses are
 * wanted. */
bool unit_filter_overlaps(const struct unit_filter *w, const struct debug_range *ranges,
			  size_t count);

/* Keeps only the rows that answer an open address and the rows that bound them. A sequence keeps
 * its first and last row. */
void unit_filter_trim_rows(const struct unit_filter *w, struct line_rows *rows);

/* Marks the addresses in functions of the unit just read as found. */
void unit_filter_mark_found(struct unit_filter *w, const struct debug_span *spans, size_t count);

/*
 * The addresses found by two concurrent scans. Each scan has a unit_filter of its own, because an
 * address that one scan finds must stay open in a lower unit that the other is reading. The
 * caller's lock guards this struct.
 */
struct unit_filter_shared {
	bool *found; /* by index of the address; NULL if all addresses are wanted */
	size_t open_count, unlisted_count;
};

/* Starts with none of the addresses of `w` found. Returns ERR_MEMORY. */
int unit_filter_shared_open(struct unit_filter_shared *both, const struct unit_filter *w,
			    struct err *err) _must_check_;
void unit_filter_shared_close(struct unit_filter_shared *both);

/* Adds the addresses that one of the scans has found so far. */
void unit_filter_shared_add(struct unit_filter_shared *both, const struct unit_filter *w);

/* Does what unit_filter_is_done() does, for both scans together. */
bool unit_filter_shared_is_done(const struct unit_filter_shared *both, const struct unit_filter *w,
				uint64_t unit_off);

#endif
