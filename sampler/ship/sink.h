/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_H
#define RAWSTACK_SINK_H
/*
 * The directory (0700) that symbolized batches are written to, with one file (0600) for each batch,
 * named <hex of its id>.<kind>: names sort by host, boot and time, and a second delivery of an id
 * replaces the first. When sink_write() has returned 0 the file survives a power cut: only then is
 * a batch acknowledged. Several processes may write to one directory, of one kind each.
 */
#include "err.h"
#include "io.h"
#include "limits.h"
#include "profile.h"

/* Batches in one directory of a sink: at one batch in ten seconds, those of four months. */
#define LIMIT_SINK_FILES LIMIT(1048576)

enum sink_kind {
	SINK_PPROF,  /* .pb.gz */
	SINK_JSON,   /* .jsonl: an object a line for each stack, leaf first */
	SINK_FOLDED, /* .folded: "comm;root;...;leaf weight" */
	SINK_KINDS,
};

/* Finds the kind named "pprof", "json" or "folded"; ERR_USAGE. */
int sink_kind_of(const char *name, enum sink_kind *ret, struct err *err);

struct sink;

/* Creates the directory, but not its parents. `io` must outlive the sink; NULL is io_system(). */
int sink_open(struct sink **ret, const char *dir, enum sink_kind kind, const struct io *io,
	      struct err *err) _must_check_;

/* Opens the directory again, or makes it: it may have been removed, made anew or mounted over
 * since. Call it while no other thread uses the sink. On failure the sink stays as it is.
 * ERR_NOT_FOUND when `dir` is the /proc/self/fd of a directory that was removed, which cannot be
 * made again. */
int sink_reopen(struct sink *s, struct err *err);

/* Writes a file, whole or not at all. id_len is at most LIMIT_BATCH_ID_LEN. */
int sink_write(struct sink *s, const uint8_t *id, size_t id_len, const void *file, size_t len,
	       struct err *err) _must_check_;

/* Writes a profile as a file of the sink's kind. ERR_LIMIT when that is over LIMIT_PPROF_FILE_LEN.
 */
int sink_write_profile(struct sink *s, const uint8_t *id, size_t id_len, const struct profile *p,
		       struct err *err) _must_check_;

/* 1 when there is a file of this id, else 0. */
int sink_has(struct sink *s, const uint8_t *id, size_t id_len);

struct sink_limits {
	uint64_t age_ns; /* since the delivery; 0: no limit */
	uint64_t bytes;  /* of all files of the sink's kind; 0: no limit */
};

/*
 * Removes batches that are over the limits, the oldest first, and unfinished files that a killed
 * writer left more than an hour ago. It leaves other files alone. A file that cannot be removed is
 * an error, after the others were removed. *ret_removed counts batches. It works on the file system
 * itself. ERR_LIMIT above LIMIT_SINK_FILES: what it removed may not be the oldest.
 *
 * A clock that is ahead of the time that is known, from the last call of any process or else from
 * the newest file, is believed after a day (sink_clock.h); until then files age by the time that is
 * known. A file from the future is as old as the file that follows it by name in its boot, or new.
 * Files that were written by a clock that was behind get their right date.
 */
int sink_sweep(struct sink *s, const struct sink_limits *limits, uint64_t *ret_removed,
	       struct err *err);

void sink_close(struct sink *s);
DEFINE_FREEP(struct sink, sink_close);

#endif
