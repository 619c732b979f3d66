/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PLAIN_RANGES_H
#define RAWSTACK_PLAIN_RANGES_H
/*
 * Decodes range lists for the plain reader, driven by a table of operands, independently of
 * range_list.c. libdwarf is not used because its version 20210528 frees memory twice if a header of
 * .debug_rnglists is damaged, and finds no list of a .dwo file.
 */
#include "range_list.h"

/* Appends the non-empty ranges of the list at a section offset, or with an index (DWARF 5 section
 * 7.28). Return ERR_DATA, ERR_LIMIT or ERR_MEMORY. */
int plain_ranges_read(const struct range_source *s, uint64_t off, struct range_list *out,
		      struct err *err) _must_check_;
int plain_ranges_read_index(const struct range_source *s, uint64_t index, struct range_list *out,
			    struct err *err) _must_check_;

/* Reads address `index` of .debug_addr. Returns false if it is outside the section. */
bool plain_ranges_address(const struct range_source *s, uint64_t index, uint64_t *ret);

#endif
