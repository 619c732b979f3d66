/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RANGE_LIST_H
#define RAWSTACK_RANGE_LIST_H
/*
 * Reads range lists from the raw sections: .debug_ranges (section 2.17.3 of DWARF 3 and 4) and
 * .debug_rnglists (DWARF 5 section 2.17.3). The plain reader has a decoder of its own,
 * plain_ranges.h.
 */
#include "bytes.h"
#include "debug_info.h"

/* The sections, and the properties of a unit that say how to read them. */
struct range_source {
	const uint8_t *ranges, *rnglists, *addr; /* NULL if there is no such section */
	size_t ranges_len, rnglists_len, addr_len;
	unsigned int version;      /* of the unit */
	unsigned int address_size; /* 4 or 8 */
	unsigned int offset_size;  /* 4 or 8 */
	uint64_t base;             /* DW_AT_low_pc of the unit, or 0 */
	uint64_t addr_base, rnglists_base;
};

/* Grows up to LIMIT_UNIT_SPANS elements. */
struct range_list {
	struct debug_range *list;
	size_t count, cap;
	uint64_t read_len; /* bytes of lists read so far, valid or not */
};

/*
 * Appends the non-empty ranges of the list at section offset `off`. Returns ERR_DATA if the list
 * leaves its section or uses an unknown entry kind, ERR_LIMIT or ERR_MEMORY.
 */
int range_list_read(const struct range_source *s, uint64_t off, struct range_list *out,
		    struct err *err) _must_check_;

/* The same for a DW_FORM_rnglistx index. */
int range_list_read_index(const struct range_source *s, uint64_t index, struct range_list *out,
			  struct err *err) _must_check_;

/* Adds a range unless it is empty. Returns false if there is no room; range_list_full() then makes
 * the error, ERR_LIMIT or ERR_MEMORY. */
bool range_list_add(struct range_list *out, uint64_t start, uint64_t end) _must_check_;
int range_list_full(const struct range_list *out, struct err *err);

#endif
