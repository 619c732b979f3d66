/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_VIEW_H
#define RAWSTACK_FILE_VIEW_H
/*
 * The bytes of a file for a reader that goes through it from front to back, or about so: a mapping
 * whose pages are given back behind it, so that what is resident does not grow with the file. A
 * reader that says how far it went (file_view_pass()) may look at any byte again: it comes from
 * the page cache. Small files are simply read.
 *
 * A file that somebody cuts short meanwhile reads as zeros from there on, instead of ending the
 * process, and file_view_check() says so: for that, a handler of SIGBUS is installed that passes
 * on what is not ours. Views may be opened and used by several threads; each by one.
 */
#include "err.h"

/* What stays resident of a mapping, about. */
#define FILE_VIEW_RESIDENT ((size_t)16 << 20)

struct file_view {
	const uint8_t *p;
	size_t len;
	uint8_t *copy;   /* when it was read */
	void *map;       /* when it is mapped */
	size_t passed;   /* since pages were given back */
	uint64_t before; /* and before that; a reader may go through it more than once */
	unsigned int at; /* its row among the mapped ones */
};

/* A view of bytes in memory, which the caller keeps. */
#define FILE_VIEW_OF(bytes, count)           \
	{                                    \
		.p = (bytes), .len = (count) \
	}

/* Returns ERR_LIMIT when it has more than max bytes; ERR_UNSUPPORTED when it is no regular file;
 * ERR_IO. */
int file_view_open(struct file_view *v, const char *path, size_t max, struct err *err) _must_check_;

/* The reader went n bytes further. */
static inline bool file_view_is_due(struct file_view *v, size_t n)
{
	v->passed += n;
	return v->map && v->passed >= FILE_VIEW_RESIDENT;
}

void file_view_release(struct file_view *v);

static inline void file_view_pass(struct file_view *v, size_t n)
{
	if (file_view_is_due(v, n))
		file_view_release(v);
}

/* Returns ERR_IO when it was cut short since it was opened and bytes behind that were looked at. */
int file_view_check(const struct file_view *v, struct err *err) _must_check_;

void file_view_done(struct file_view *v);

/* For programs that tell how far they are: `moved` is called whenever a reader of a mapped file
 * went FILE_VIEW_RESIDENT further, by its thread. NULL: no more. */
void file_view_watch(void (*moved)(const struct file_view *v));

#endif
