/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FLAME_HTML_H
#define RAWSTACK_FLAME_HTML_H
/*
 * Writes the flame graph as one self-contained HTML page. It loads nothing from a network, and its
 * content security policy allows exactly its own script and style, by hash. The data is JSON in
 * columns, in an element that is not executed, and never contains '<'.
 */
#include "buf.h"
#include "flame_tree.h"

struct flame_page {
	const char *title;
	const char *unit; /* unit of the weights: "nanoseconds", "count", ... */
};

/* Appends the page of an arranged tree. Returns ERR_LIMIT if out is full. */
int flame_html(const struct flame_tree *t, const struct flame_page *page, struct buf *out,
	       struct err *err) _must_check_;

#endif
