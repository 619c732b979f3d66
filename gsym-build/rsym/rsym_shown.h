/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_SHOWN_H
#define RAWSTACK_RSYM_SHOWN_H
/*
 * The optional section of names as they are shown to people, which the reader and the writer of
 * tables use. Others call rsym_shown(). It is not compressed: a text is read in place from the
 * pages of the file after a walk over at most 7 others.
 */
#include "limits.h"
#include "rsym.h"
#include "rsym_text_writer.h"

/* The most bytes of demangled names in a table: ten times what the largest programs have. A table
 * with more has no such section. */
#define LIMIT_SHOWN_LEN (256 * MIB)

/* Appends the text of each of the sorted names in both styles, as `show` makes it, or nothing if
 * that takes more than LIMIT_SHOWN_LEN, since the section is optional. ERR_MEMORY. */
int rsym_shown_put(struct buf *out, const struct rsym_string *names, uint32_t count,
		   rsym_show_fn show, struct err *err) _must_check_;

/* rsym_open() calls both: the first checks the parts, the second every text. ERR_DATA. */
int rsym_shown_open(struct rsym *t, struct err *err) _must_check_;
int rsym_shown_check(const struct rsym *t, struct err *err) _must_check_;

#endif
