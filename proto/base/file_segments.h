/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILE_SEGMENTS_H
#define RAWSTACK_FILE_SEGMENTS_H
/*
 * The executable segments of an ELF file: where its code is in the file and which addresses it was
 * linked to. They are the executable PT_LOAD entries of the program headers (System V gABI), and
 * all that it takes to turn the file offset of a sample into a link-time address. A table made from
 * a debug file alone has none. So a host reads them beside the build id, a spool stores them and a
 * request carries them.
 *
 * Whoever gets them from elsewhere calls file_segments_check() first, because they are a stranger's
 * bytes.
 */
#include "buf.h"
#include "bytes.h"
#include "err.h"
#include <limits.h> /* ours, by the include path, as in libexec.h */

/* Bytes [file_off, file_off + len) of the file have the link-time addresses from vaddr on. */
struct file_segment {
	uint64_t file_off, vaddr, len;
};

/* Rows ascend by file_off. */
struct file_segments {
	uint32_t count, reserved;
	struct file_segment rows[LIMIT_FILE_SEGMENTS];
};

/* The most bytes that file_segments_put() appends: a count, and three numbers for each segment. */
#define FILE_SEGMENTS_PACKED_MAX (1 + 30 * (size_t)LIMIT_FILE_SEGMENTS)

/* Checks that there are at most LIMIT_FILE_SEGMENTS, that none is empty, that they ascend by
 * file_off and overlap neither in the file nor in memory, and that no end is above 2^64 - 1.
 * Returns 0, or ERR_DATA with a line that names the first wrong one. */
int file_segments_check(const struct file_segment *rows, size_t count, struct err *err);

/* Translates file_off: 1 and *ret_vaddr, or 0 if no segment holds it. The rows have passed
 * file_segments_check(). */
int file_segments_vaddr(const struct file_segment *rows, size_t count, uint64_t file_off,
			uint64_t *ret_vaddr);

/* Returns a hash of the segments, mixed with `seed`; never 0. A stranger can choose segments with
 * equal hashes. */
uint64_t file_segments_hash(const struct file_segment *rows, size_t count, uint64_t seed);

/* Appends [uleb count], then [uleb file_off][uleb vaddr][uleb len] for each, as spools store them.
 */
void file_segments_put(struct buf *b, const struct file_segment *rows, size_t count);

/* Reads what file_segments_put() wrote. Returns 0, or -1 with an empty *ret if it does not pass
 * file_segments_check() or is not an entry at all. In the first case `in` is behind the entry, in
 * the second it has failed. */
int file_segments_get(struct bytes *in, struct file_segments *ret);

#endif
