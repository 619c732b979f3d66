/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_RANGES_H
#define RAWSTACK_PLAIN_RANGES_H
/*
 * Reads range lists for the plain reader, by a table of operands, and shares no code with
 * range_list.h. libdwarf is not used because its version 20210528 frees memory twice when a header
 * of .debug_rnglists is damaged, and finds no list of a .dwo file.
 */
#include "range_list.h"

/* Appends the non-empty ranges of the list at a section offset, or with an index (DWARF 5 section
 * 7.28). ERR_DATA, ERR_LIMIT. */
int plain_ranges_read(const struct range_source *s, uint64_t off, struct range_list *out,
		      struct err *err) _must_check_;
int plain_ranges_read_index(const struct range_source *s, uint64_t index, struct range_list *out,
			    struct err *err) _must_check_;

/* Address `index` of .debug_addr. */
bool plain_ranges_address(const struct range_source *s, uint64_t index, uint64_t *ret);

#endif
