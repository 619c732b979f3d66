/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMPANION_IMAGES_H
#define RAWSTACK_COMPANION_IMAGES_H
/* The files that go with an input, as bytes of a struct table_source, opened for a reader of DWARF;
 * and what a reader missed, in the words of struct table_request. */
#include "die_companions.h"
#include "table_source.h"

/* Opens the companions, leaving out those that are not ELF files. The caller sets c->missing.
 * ERR_MEMORY. */
int companion_images_open(struct die_companions *c, const struct table_source *source,
			  struct err *err) _must_check_;
void companion_images_close(struct die_companions *c);

/* `units` is what c->missing got. ERR_MEMORY. */
int companion_images_missing(struct image *im, const struct debug_report *debug,
			     const struct buf *units, struct buf *out, struct err *err);

#endif
