/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MERGE_H
#define RAWSTACK_MERGE_H
/* Merges the results of two threads that read one file. Ids of names and files, and the order of
 * rows and nodes, differ from those of a single thread; no table depends on them. */
#include "flatten.h"

/* Appends *from to *to; *from can then only be released. ERR_MEMORY. */
int merge_flat(struct flat *to, struct debug_text *to_text, struct flat *from,
	       const struct debug_text *from_text, struct err *err) _must_check_;

#endif
