/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_VIEW_H
#define RAWSTACK_FILE_VIEW_H
/*
 * Maps a file for a reader that goes through it roughly from front to back, and frees the pages
 * behind the reader, so that resident memory does not grow with the file. The reader reports its
 * progress (file_view_pass()) and may still look at any byte again, which then comes from the page
 * cache. Small files are read into memory.
 *
 * If somebody truncates the file meanwhile, it reads as zeros from there on instead of ending the
 * process, and file_view_check() reports it. For that a handler of SIGBUS is installed, which
 * passes other faults on. Several threads may have views; each view belongs to one.
 */
#include "err.h"

/* Roughly the resident bytes of a mapping. */
#define FILE_VIEW_RESIDENT ((size_t)16 << 20)

struct file_view {
	const uint8_t *p;
	size_t len;
	uint8_t *copy;   /* the bytes, if the file was read */
	void *map;       /* the mapping, if it is mapped */
	size_t passed;   /* bytes since pages were last freed */
	uint64_t before; /* bytes before that; a reader may go through the file more than once */
	unsigned int at; /* its row among the mapped views */
};

/* A view of bytes in memory that the caller owns. */
#define FILE_VIEW_OF(bytes, count)           \
	{                                    \
		.p = (bytes), .len = (count) \
	}

/* Opens a view. Returns ERR_LIMIT if the file has more than max bytes, ERR_UNSUPPORTED if it is not
 * a regular file, or ERR_IO. */
int file_view_open(struct file_view *v, const char *path, size_t max, struct err *err) _must_check_;

/* Records that the reader went n bytes further. */
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

/* Returns ERR_IO if the file was truncated after it was opened and the reader looked at bytes
 * beyond its new end. */
int file_view_check(const struct file_view *v, struct err *err) _must_check_;

void file_view_done(struct file_view *v);

/* Sets a function that a reading thread calls each time it went FILE_VIEW_RESIDENT bytes further,
 * for programs that show progress. NULL: none. */
void file_view_watch(void (*moved)(const struct file_view *v));

#endif
