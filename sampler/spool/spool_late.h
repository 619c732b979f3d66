/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_LATE_H
#define RAWSTACK_SPOOL_LATE_H
/*
 * Names that became known after their samples were stored (records of type LATE). They are read
 * ahead of the samples, up to the end of the spool, and found by process, time and address.
 * Internal to the spool library. One thread uses it at a time.
 *
 * A record is in the segment of its samples or in a later one. So records of segments below the one
 * that is read are forgotten, and the memory limit bounds how far ahead records are read.
 */
#include "spool_segment.h"

struct spool_late {
	const struct io *io;
	int dir_fd;             /* borrowed */
	uint64_t from;          /* records of segments below this one are forgotten */
	uint64_t segment;       /* the one that is read now, or was read last */
	struct spool_file file; /* fd -1: the segment was read to its end */
	struct spool_cursor cursor;
	struct spool_late_record **all; /* in the order of the spool */
	size_t count, cap;
	uint64_t len;     /* bytes that they take */
	uint32_t *by_pid; /* indexes of all, by pid, then in the order of the spool */
	size_t by_pid_count, by_pid_cap;
};

/* Begins with the spool in dir_fd, which must stay open. */
void spool_late_init(struct spool_late *l, const struct io *io, int dir_fd);
void spool_late_done(struct spool_late *l);

/* Reads the records of segment `from` and the segments behind it that were not read yet. A segment
 * that cannot be read has no names. */
void spool_late_look(struct spool_late *l, uint64_t from);

/* Finds the records that apply to a sample, newest first, and returns their count, at most `most`.
 * They are valid until the next spool_late_look(). */
size_t spool_late_match(const struct spool_late *l, const uint8_t boot_id[static 16],
			const struct spool_thread *thread, uint64_t time_ns, uint32_t *ret,
			size_t most);

/* Finds the name of the code at pc in the first of these records that has one. Returns 1 and *ret,
 * which is valid as long as the records, or 0. */
int spool_late_find(const struct spool_late *l, const uint32_t *records, size_t count, uint64_t pc,
		    struct spool_string *ret);

#endif
