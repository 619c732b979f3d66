/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_COMPANION_IMAGES_H
#define RAWSTACK_COMPANION_IMAGES_H
/* Opens the companions in a struct table_source for a reader of DWARF, and writes the references
 * that the reader missed in the format of struct table_request. */
#include "die_companions.h"
#include "table_source.h"

/* Opens the companions, leaving out those that are not ELF files. The caller sets c->missing.
 * Returns ERR_MEMORY. */
int companion_images_open(struct die_companions *c, const struct table_source *source,
			  struct err *err) _must_check_;
void companion_images_close(struct die_companions *c);

/* Appends the missing references to out; `units` is the content of c->missing. Returns ERR_MEMORY
 * or errors as image_section(). */
int companion_images_missing(struct image *im, const struct debug_report *debug,
			     const struct buf *units, struct buf *out, struct err *err);

#endif
