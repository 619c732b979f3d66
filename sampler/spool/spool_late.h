/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_LATE_H
#define RAWSTACK_SPOOL_LATE_H
/*
 * Names that became known after the samples they are for were stored (records of type LATE): read
 * ahead of the samples, to the end of the spool, and found by process, time and address. Internal
 * to the spool library. One thread at a time.
 *
 * A record stands in the segment of its samples or in a later one. So what stands in segments below
 * the one that is read is forgotten, and memory bounds how far ahead is looked, not what is found.
 */
#include "spool_segment.h"

struct spool_late {
	const struct io *io;
	int dir_fd;             /* borrowed */
	uint64_t from;          /* of segments below it nothing is known */
	uint64_t segment;       /* looked at now, or last */
	struct spool_file file; /* fd -1: that is over */
	struct spool_cursor cursor;
	struct spool_late_record **all; /* as they stand in the spool */
	size_t count, cap;
	uint64_t len;     /* bytes that they take */
	uint32_t *by_pid; /* indexes of all, by pid, then as they stand */
	size_t by_pid_count, by_pid_cap;
};

/* For the spool in dir_fd, which must stay open. */
void spool_late_init(struct spool_late *l, const struct io *io, int dir_fd);
void spool_late_done(struct spool_late *l);

/* Looks at what was not seen yet of segment `from` and those behind it. What cannot be read has no
 * names. */
void spool_late_look(struct spool_late *l, uint64_t from);

/* The records that are for a sample, newest first: their count, `most` at most. Valid until the
 * next spool_late_look(). */
size_t spool_late_match(const struct spool_late *l, const uint8_t boot_id[static 16],
			const struct spool_thread *thread, uint64_t time_ns, uint32_t *ret,
			size_t most);

/* The name that the first of these records which has one gives to code: 1 and *ret, which is valid
 * as long; 0. */
int spool_late_find(const struct spool_late *l, const uint32_t *records, size_t count, uint64_t pc,
		    struct spool_string *ret);

#endif
