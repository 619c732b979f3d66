/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_LAYOUT_H
#define RAWSTACK_RSYM_LAYOUT_H
/* The outermost layer of a table file: header, directory, sections, checksums. It does not
 * interpret any section. */
#include "buf.h"
#include "err.h"
#include "rsym_format.h"

/*
 * Appends a file to `out`, which is empty. `sections` has RSYM_SECTION_END elements by id; a NULL
 * element leaves its section out. Lengths, counts, generation and checksums of the header must be 0
 * and are filled in. ERR_LIMIT if a section failed, is 4 GiB or more, or the file does not fit;
 * ERR_MEMORY if memory is out.
 */
int rsym_layout_write(struct rsym_disk_header *h, const struct buf *const *sections,
		      struct buf *out, struct err *err) _must_check_;

#endif
