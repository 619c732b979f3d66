/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MEMORY_IO_H
#define RAWSTACK_MEMORY_IO_H
/*
 * A struct io over files in memory: one directory, clocks that stand still until told, and failures
 * on demand. Tests read and damage the files directly.
 */
#include "io.h"

enum {
	MEMORY_FILES = 256,
	MEMORY_HANDLES = 64
};

struct memory_file {
	char name[128]; /* empty: unlinked */
	uint64_t id;    /* no other has had it */
	uint8_t *p;
	size_t len;
	int handles;
	bool in_use, is_locked;
};

struct memory_io {
	struct io io;
	struct memory_file files[MEMORY_FILES];
	struct {
		struct memory_file *file; /* NULL: the directory */
		bool in_use, has_lock, has_mark;
	} handles[MEMORY_HANDLES];
	uint64_t mono_ns, real_ns, free_bytes;
	uint64_t random, next_id;
	/* Each call but close and the clocks counts down; the one that reaches 0 fails. */
	long fail_after; /* -1: never */
	bool fail_on;    /* every call that writes fails, with error */
	int error;       /* -ENOSPC, -EROFS, ... */
	unsigned int sync_count;
};

void memory_io_init(struct memory_io *m);
void memory_io_done(struct memory_io *m);

/* NULL when there is none. `index` counts the files whose name starts with prefix, sorted. */
struct memory_file *memory_io_file(struct memory_io *m, const char *prefix, size_t index);
size_t memory_io_count(struct memory_io *m, const char *prefix);

/* Of an open descriptor; NULL: the directory. */
struct memory_file *memory_io_of(struct memory_io *m, int fd);

/* As when the process that has locks and marks is killed. */
void memory_io_drop_locks(struct memory_io *m);

/* A file with these bytes, replacing one of the name. */
void memory_io_put(struct memory_io *m, const char *name, const void *p, size_t len);

#endif
