/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_SHOWN_H
#define RAWSTACK_RSYM_SHOWN_H
/*
 * The optional section of names as people read them, for the reader and the writer of tables; who
 * asks uses rsym_shown(). It is not compressed: a text is there after a walk over at most 7
 * others, whatever was asked before, and lies in the pages of the file.
 */
#include "rsym.h"
#include "rsym_text_writer.h"

/*
 * For each of the sorted names its text in both styles, as `show` gives it. Where that would take
 * more than LIMIT_SHOWN_LEN nothing is appended: a table can be without. ERR_MEMORY.
 */
int rsym_shown_put(struct buf *out, const struct rsym_string *names, uint32_t count,
		   rsym_show_fn show, struct err *err) _must_check_;

/* For rsym_open(): the parts; then every text. ERR_DATA. */
int rsym_shown_open(struct rsym *t, struct err *err) _must_check_;
int rsym_shown_check(const struct rsym *t, struct err *err) _must_check_;

#endif
