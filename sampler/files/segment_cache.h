/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SEGMENT_CACHE_H
#define RAWSTACK_SEGMENT_CACHE_H
/*
 * Remembers executable segments of files by build id, so that a file is read once however many
 * processes run it. What could not be read may be asked for again later, by way of another process.
 * A full cache begins anew. One thread uses it.
 */
#include "build_id.h"
#include "file_segments.h"
#include "intern.h"
#include "limits.h"

/* Build ids whose files' segments are remembered, some 130 bytes each: the binaries that a host
 * runs in a while. */
#define LIMIT_SEGMENT_CACHE LIMIT(2048)

struct segment_cache {
	struct intern ids;
	struct segment_row {
		struct file_segment *rows; /* NULL: they could not be read */
		uint32_t count;
		uint64_t retry_ns; /* not asked for before */
	} * list;                  /* one for each id */
	size_t cap;
};

void segment_cache_init(struct segment_cache *c);
void segment_cache_done(struct segment_cache *c);

/* Returns 1 and the segments of the file with this id, borrowed until the next put; 0 when the file
 * is to be read; or -1 when it could not be read a short time ago. */
int segment_cache_find(const struct segment_cache *c, const struct build_id *id, uint64_t now_ns,
		       const struct file_segment **ret, size_t *ret_count);

/* Stores the segments of a file; NULL, or none: it could not be read. Nothing is kept when out of
 * memory. */
void segment_cache_put(struct segment_cache *c, const struct build_id *id,
		       const struct file_segments *segments, uint64_t now_ns);

#endif
