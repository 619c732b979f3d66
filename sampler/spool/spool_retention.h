/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_RETENTION_H
#define RAWSTACK_SPOOL_RETENTION_H
/*
 * The segments of a spool that nobody writes to any more, and the limits that drop the oldest of
 * them. Internal to the spool library. One thread uses it at a time.
 */
#include "spool_segment.h"

/* A segment on the disk that is not the current one. */
struct spool_retained {
	uint64_t number, len;
	struct spool_origin origin; /* for its age */
	bool is_readable;           /* its header is whole, and of a format that is known */
	bool is_final;              /* packed, not worth packing, or of another format */
};

struct spool_retention {
	const struct io *io;
	int dir_fd;
	struct spool_limits limits;
	uint8_t boot_id[16];
	struct spool_retained *all; /* ascending */
	size_t count, cap;
	struct spool_drops drops;          /* as on the disk */
	uint64_t dropped;                  /* samples that went unsent since init */
	enum spool_drop_reason dropped_by; /* the last of them */
};

/* Lists the segments of a directory whose newest segment nobody writes to any more. *ret_last is
 * the highest number that is known to have been used there. Returns 0, ERR_IO, ERR_MEMORY or
 * ERR_LIMIT. */
int spool_retention_init(struct spool_retention *k, const struct io *io, int dir_fd,
			 const struct spool_limits *limits, const struct spool_origin *origin,
			 uint64_t *ret_last, struct err *err);
void spool_retention_done(struct spool_retention *k);

/* Adds a segment. Returns false when out of memory: limits then ignore the segment until the next
 * start. */
bool spool_retention_add(struct spool_retention *k, uint64_t number, uint64_t len,
			 const struct spool_origin *origin);

/* Returns the newest segment that may still be packed; NULL: none. Valid until the next call. */
struct spool_retained *spool_retention_unpacked(struct spool_retention *k);
struct spool_retained *spool_retention_find(struct spool_retention *k, uint64_t number);

/* Drops the oldest segments until the limits are kept, together with a current segment of held_len
 * bytes and `more` bytes to come. Returns whether the file system has room for these above its
 * floor. */
bool spool_retention_apply(struct spool_retention *k, uint64_t held_len, uint64_t more);

/* Returns the least time since a segment of this origin was begun. For a segment of an earlier boot
 * the wall clock tells it, once this boot is a day old. */
uint64_t spool_retention_age(const struct spool_retention *k, const struct spool_origin *origin);

#endif
