/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SPOOL_PLACE_H
#define RAWSTACK_SPOOL_PLACE_H
/*
 * The directory that a capturer writes its spool to: opened, and locked for itself. A path may lead
 * to another directory later, because the first was moved away or something is mounted over it;
 * that is for the owner to notice. Internal to the spool library. One thread uses it at a time.
 */
#include "dir_lock.h"

struct spool_place {
	int dir_fd; /* -1: none is open */
	struct dir_lock lock;
};

#define SPOOL_PLACE_NONE ((struct spool_place){.dir_fd = -1, .lock = DIR_LOCK_NONE})

/* Makes the directory if needed, opens it and locks it. Returns 0, ERR_EXISTS when another capturer
 * writes there, ERR_IO, ... On failure nothing is open. */
int spool_place_open(struct spool_place *ret, const struct io *io, const char *dir,
		     struct err *err);
void spool_place_close(struct spool_place *p, const struct io *io);

/* Calls dir_lock_check() on the lock of p, and returns the same. */
int spool_place_check_lock(struct spool_place *p, const struct io *io, const char *dir,
			   struct err *err);

#endif
