/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SINK_H
#define RAWSTACK_SINK_H
/*
 * Where symbolized batches end: a directory (0700) with one pprof file (0600) for each batch, named
 * <hex of its id>.pb.gz, so that names sort by host, boot and time, and a second delivery of an id
 * replaces the first. When sink_write() has returned 0 the file survives a power cut: only then is
 * a batch acknowledged. Several processes may write to one directory.
 */
#include "err.h"
#include "io.h"

struct sink;

/* Creates the directory, but not its parents. `io` must outlive the sink; NULL is io_system(). */
int sink_open(struct sink **ret, const char *dir, const struct io *io,
	      struct err *err) _must_check_;

/* Whole or not at all. id_len is at most LIMIT_BATCH_ID_LEN. */
int sink_write(struct sink *s, const uint8_t *id, size_t id_len, const void *file, size_t len,
	       struct err *err) _must_check_;

void sink_close(struct sink *s);
DEFINE_FREEP(struct sink, sink_close);

#endif
