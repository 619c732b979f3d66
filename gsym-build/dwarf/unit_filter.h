/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_UNIT_FILTER_H
#define RAWSTACK_UNIT_FILTER_H
/*
 * Which units a scan for a few addresses has to read. The index of the file (.debug_aranges,
 * DWARF 5 section 6.1.2) names the units of an address; a unit that it does not list is asked for
 * its own ranges. An address is found with the first unit that has a function there, because the
 * builder prefers the lowest unit: what comes behind is not read.
 *
 * A listed unit is taken at the index's word: one that leaves out ranges of a unit hides them here,
 * as it does from everyone else who uses it. A damaged index counts as none.
 */
#include "image.h"
#include "line_table.h"
#include "range_list.h"

struct unit_filter {
	struct wanted_address *list; /* by vaddr; NULL: all is wanted */
	size_t count, open_count;    /* open: no unit had a function there yet */
	uint64_t *runs;        /* bits of where they are, so that most ranges need no search */
	size_t unlisted_count; /* the index knows no unit of them */
	uint64_t *listed;      /* offsets of the units in the index, rising */
	size_t listed_count, listed_cap;
	struct wanted_pair *pairs; /* what the index says of wanted addresses, by unit */
	size_t pair_count, pairs_cap;
};

/* `vaddrs` as linked, with the image's bias. ERR_MEMORY. */
int unit_filter_open(struct unit_filter *w, struct image *im, const uint64_t *vaddrs, size_t count,
		     struct err *err) _must_check_;
/* As `from` was opened, for another scan of the same. ERR_MEMORY. */
int unit_filter_copy(struct unit_filter *w, const struct unit_filter *from,
		     struct err *err) _must_check_;
void unit_filter_close(struct unit_filter *w);

/* Whether no unit at this offset or behind it is needed. */
bool unit_filter_is_done(const struct unit_filter *w, uint64_t unit_off);

/* What to do with the unit at an offset. */
enum unit_filter_need {
	UNIT_FILTER_SKIP, /* pass over it */
	UNIT_FILTER_ASK,  /* its own ranges decide: unit_filter_overlaps() */
	UNIT_FILTER_READ,
};

enum unit_filter_need unit_filter_need(const struct unit_filter *w, uint64_t unit_off);

/* Whether an address that is not found yet lies in one of the ranges; always when all are wanted.
 */
bool unit_filter_overlaps(const struct unit_filter *w, const struct debug_range *ranges,
			  size_t count);

/* Leaves of a unit's rows those that answer such an address, and what bounds them: sequences keep
 * their first and last row. */
void unit_filter_trim_rows(const struct unit_filter *w, struct line_rows *rows);

/* Finds the addresses that lie in functions of the unit just read. */
void unit_filter_mark_found(struct unit_filter *w, const struct debug_span *spans, size_t count);

/*
 * What two scans have found that take turns, each with a unit_filter of its own: what one finds
 * must not hide the same address in a lower unit, which the other reads at that time. Guarded by
 * whatever guards the turns.
 */
struct unit_filter_shared {
	bool *found; /* by address; NULL: all is wanted */
	size_t open_count, unlisted_count;
};

/* As `w` stands at the beginning. ERR_MEMORY. */
int unit_filter_shared_open(struct unit_filter_shared *both, const struct unit_filter *w,
			    struct err *err) _must_check_;
void unit_filter_shared_close(struct unit_filter_shared *both);

/* Adds what one of them has found so far. */
void unit_filter_shared_add(struct unit_filter_shared *both, const struct unit_filter *w);

/* As unit_filter_is_done(), of both. */
bool unit_filter_shared_is_done(const struct unit_filter_shared *both, const struct unit_filter *w,
				uint64_t unit_off);

#endif
