/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_SEGMENTS_H
#define RAWSTACK_FILE_SEGMENTS_H
/*
 * Where the code of an ELF file lies in the file and where it was linked to: the executable PT_LOAD
 * entries of its program headers (System V gABI), which is all that turns a file offset of a sample
 * into a link-time address. A host reads them beside the build id, a spool keeps them and a request
 * carries them, for a table that was made of a debug file alone has none.
 *
 * Whoever takes them from elsewhere calls file_segments_check() first: they are a stranger's.
 */
#include "buf.h"
#include "bytes.h"
#include "err.h"
#include <limits.h> /* ours, by the include path, as in libexec.h */

/* Bytes [file_off, file_off + len) of the file are at vaddr on. */
struct file_segment {
	uint64_t file_off, vaddr, len;
};

/* Rows ascend by file_off. */
struct file_segments {
	uint32_t count, reserved;
	struct file_segment rows[LIMIT_FILE_SEGMENTS];
};

/* What file_segments_put() takes at most: a count, and three numbers of each. */
#define FILE_SEGMENTS_PACKED_MAX (1 + 30 * (size_t)LIMIT_FILE_SEGMENTS)

/* Returns whether there are LIMIT_FILE_SEGMENTS at most, none is empty, they ascend by file_off and
 * overlap neither in the file nor in memory, and no end is above 2^64 - 1. ERR_DATA, in a line that
 * names the first that is wrong. */
int file_segments_check(const struct file_segment *rows, size_t count, struct err *err);

/* The link-time address of file_off: 1 and *ret_vaddr, or 0 when it is in none of them. The rows
 * have passed file_segments_check(). */
int file_segments_vaddr(const struct file_segment *rows, size_t count, uint64_t file_off,
			uint64_t *ret_vaddr);

/* A number that differs for segments that differ, mixed with `seed`; never 0. Anybody may choose
 * segments that have one number. */
uint64_t file_segments_hash(const struct file_segment *rows, size_t count, uint64_t seed);

/* Appends [uleb count], then [uleb file_off][uleb vaddr][uleb len] of each, as in spools. */
void file_segments_put(struct buf *b, const struct file_segment *rows, size_t count);

/* Reads what file_segments_put() wrote: 0, or -1 when it is something else or does not pass
 * file_segments_check(). Behind an entry that is no such thing `in` has failed; behind one that
 * only does not pass it is at the end of it. *ret is empty on failure. */
int file_segments_get(struct bytes *in, struct file_segments *ret);

#endif
