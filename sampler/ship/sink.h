/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_H
#define RAWSTACK_SINK_H
/*
 * Where symbolized batches end: a directory (0700) with one file (0600) for each batch, named
 * <hex of its id>.<kind>, so that names sort by host, boot and time, and a second delivery of an id
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

/* "pprof", "json", "folded" to its kind; ERR_USAGE. */
int sink_kind_of(const char *name, enum sink_kind *ret, struct err *err);

struct sink;

/* Creates the directory, but not its parents. `io` must outlive the sink; NULL is io_system(). */
int sink_open(struct sink **ret, const char *dir, enum sink_kind kind, const struct io *io,
	      struct err *err) _must_check_;

/* Opens the directory anew, or makes it: another may stand there since, removed and made again or
 * mounted over it. While nobody else uses the sink. On failure it stays as it is. ERR_NOT_FOUND
 * when `dir` is the /proc/self/fd of a directory that was removed: that cannot be made anew. */
int sink_reopen(struct sink *s, struct err *err);

/* Whole or not at all. id_len is at most LIMIT_BATCH_ID_LEN. */
int sink_write(struct sink *s, const uint8_t *id, size_t id_len, const void *file, size_t len,
	       struct err *err) _must_check_;

/* The same, of a profile in the sink's kind. ERR_LIMIT when that is over LIMIT_PPROF_FILE_LEN. */
int sink_write_profile(struct sink *s, const uint8_t *id, size_t id_len, const struct profile *p,
		       struct err *err) _must_check_;

/* 1 when there is a file of this id, else 0. */
int sink_has(struct sink *s, const uint8_t *id, size_t id_len);

struct sink_limits {
	uint64_t age_ns; /* since the delivery; 0: no limit */
	uint64_t bytes;  /* of all files of the sink's kind; 0: no limit */
};

/*
 * Removes what is over the limits, the oldest first, and what killed writers left unfinished an
 * hour ago. Other files are left alone, and so is one that cannot be removed, which is told when
 * the others are. *ret_removed: batches. Works on the file system itself. ERR_LIMIT above
 * LIMIT_SINK_FILES: what it removed may not be the oldest.
 *
 * A clock that is ahead of what is known (of the last call, whoever made it; else of the newest
 * file) is believed a day later: until then files are as old as it would tell otherwise. A file
 * from the future is as old as the one that follows it by name in its boot, or new. Files of a
 * clock that turned out to be behind get their right date.
 */
int sink_sweep(struct sink *s, const struct sink_limits *limits, uint64_t *ret_removed,
	       struct err *err);

void sink_close(struct sink *s);
DEFINE_FREEP(struct sink, sink_close);

#endif
