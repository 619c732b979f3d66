/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FLAME_HTML_H
#define RAWSTACK_FLAME_HTML_H
/*
 * The flame graph as one HTML page that needs nothing else: no network, and a content security
 * policy that allows exactly its own script and style, by hash. Data is JSON in an element that is
 * not executed, in columns; '<' never stands in it.
 */
#include "buf.h"
#include "flame_tree.h"

struct flame_page {
	const char *title;
	const char *unit; /* of weights: "nanoseconds", "count", ... */
};

/* Appends the page of an arranged tree. ERR_LIMIT when out is full. */
int flame_html(const struct flame_tree *t, const struct flame_page *page, struct buf *out,
	       struct err *err) _must_check_;

#endif
