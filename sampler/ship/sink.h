/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_H
#define RAWSTACK_SINK_H
/*
 * The directory (0700) that symbolized batches are written to, with one file (0600) for each batch,
 * named <hex of its id>.<kind>: names sort by host, boot and time, and a second delivery of an id
 * replaces the first. When sink_write() has returned 0 the file survives a power cut: only then is
 * a batch acknowledged. Several processes may write to one directory, each files of one kind.
 */
#include "err.h"
#include "io.h"
#include "limits.h"
#include "profile.h"

/* Most batches in a sink's directory: those of four months, at one batch in ten seconds. */
#define LIMIT_SINK_FILES LIMIT(1048576)

enum sink_kind {
	SINK_PPROF,  /* .pb.gz */
	SINK_JSON,   /* .jsonl: a line with an object for each stack, leaf first */
	SINK_FOLDED, /* .folded: "comm;root;...;leaf weight" */
	SINK_KINDS,
};

/* Finds the kind named "pprof", "json" or "folded". Returns 0, or ERR_USAGE for another name. */
int sink_kind_of(const char *name, enum sink_kind *ret, struct err *err);

struct sink;

/* Opens the directory, and creates it if needed, but not its parents. `io` must outlive the sink;
 * NULL is io_system(). Returns 0 or an error. */
int sink_open(struct sink **ret, const char *dir, enum sink_kind kind, const struct io *io,
	      struct err *err) _must_check_;

/* Opens the directory again, or creates it, because it may have been removed, replaced or mounted
 * over. Call it while no other thread uses the sink. Returns 0, or an error, which leaves the sink
 * as it is: ERR_NOT_FOUND if `dir` is the /proc/self/fd of a directory that was removed, which
 * cannot be created again. */
int sink_reopen(struct sink *s, struct err *err);

/* Writes a whole file or none; id_len is at most LIMIT_BATCH_ID_LEN. Returns 0 or an error. */
int sink_write(struct sink *s, const uint8_t *id, size_t id_len, const void *file, size_t len,
	       struct err *err) _must_check_;

/* Writes a profile as a file of the sink's kind. Returns 0 or an error: ERR_LIMIT if the file would
 * be longer than LIMIT_PPROF_FILE_LEN. */
int sink_write_profile(struct sink *s, const uint8_t *id, size_t id_len, const struct profile *p,
		       struct err *err) _must_check_;

/* Returns 1 if there is a file of this id, else 0. */
int sink_has(struct sink *s, const uint8_t *id, size_t id_len);

struct sink_limits {
	uint64_t age_ns; /* time since the delivery; 0: no limit */
	uint64_t bytes;  /* of all files of the sink's kind; 0: no limit */
};

/*
 * Removes batches that are over the limits, the oldest first, and unfinished files that a killed
 * writer left more than an hour ago. It leaves other files alone, and sets *ret_removed to the
 * number of removed batches. It dates and removes files by system calls, not through `io`. If a
 * file cannot be removed, it removes the others and then returns an error. It returns ERR_LIMIT if
 * there are more than LIMIT_SINK_FILES batches, of which it may not have removed the oldest.
 *
 * The known time is that of the last call of any process, or else that of the newest file. A wall
 * clock that is ahead of it is believed after a day (sink_clock.h); until then files age by the
 * known time. A file from the future counts as old as the file that follows it by name in its boot,
 * or as new if there is none. Files that were written by a clock that was behind get their right
 * date.
 */
int sink_sweep(struct sink *s, const struct sink_limits *limits, uint64_t *ret_removed,
	       struct err *err);

void sink_close(struct sink *s);
DEFINE_FREEP(struct sink, sink_close);

#endif
