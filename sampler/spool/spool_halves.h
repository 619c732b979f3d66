/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_HALVES_H
#define RAWSTACK_SPOOL_HALVES_H
/*
 * A small file of a spool that is written in place: two halves take turns, each in a block of its
 * own, so that one of them is whole at any time. The file takes its room when it is first written,
 * so that a full disk does not hinder it later. Internal to the spool library.
 */
#include "io.h"

enum {
	SPOOL_HALVES_STRIDE = 4096
};

/* Reads half 0 or 1. Returns 0, or negative when it is not there. */
int spool_halves_read(const struct io *io, int dir_fd, const char *name, int half, void *p,
		      size_t len);

/* Writes the half whose turn it is at this sequence, and syncs it if `syncs`. Returns 0 or -errno.
 */
int spool_halves_write(const struct io *io, int dir_fd, const char *name, uint64_t sequence,
		       bool syncs, const void *p, size_t len);

#endif
