/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_LAYOUT_H
#define RAWSTACK_RSYM_LAYOUT_H
/*
 * The outermost layer of a table file: header, directory, sections, checksums. Knows what no
 * section means.
 */
#include "buf.h"
#include "err.h"
#include "rsym_format.h"

/*
 * Appends a file to `out`, which is empty. sections: RSYM_SECTION_END of them by id, NULL for one
 * that is left out. Of the header, lengths, counts, generation and checksums are filled in; they
 * must be 0. ERR_LIMIT when a section failed, is 4 GiB or more, or the file does not fit.
 */
int rsym_layout_write(struct rsym_disk_header *h, const struct buf *const *sections,
		      struct buf *out, struct err *err) _must_check_;

#endif
