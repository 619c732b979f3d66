/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CRASH_LOG_H
#define RAWSTACK_CRASH_LOG_H
/*
 * What a program did to its files, in order, and what a power cut may leave of it. Recorders
 * (record_io.h for a struct io, record_libc.c for a library that calls libc) append; a checker asks
 * for images of the disk after the first n entries.
 *
 * The model is harsher than any file system we know. Data is durable when its file was synced
 * behind it, names when their directory was. Of the rest each 4 KiB block of a file has any of the
 * contents it had since the last sync, or the first sectors of one and the rest of the one before;
 * each length likewise; and of the changes of names any subset took place.
 */
#include "base.h"

enum crash_op {
	CRASH_CREATE,        /* name: an empty file `id` */
	CRASH_WRITE,         /* id, off, data */
	CRASH_WRITE_DURABLE, /* the same, by O_DSYNC: these blocks are on the disk then, no others
			      */
	CRASH_LENGTH,        /* id, off: its length is that now; grown with zeros */
	CRASH_SYNC,          /* id */
	CRASH_SYNC_DIR,      /* names */
	CRASH_RENAME,        /* name -> to */
	CRASH_UNLINK,        /* name */
	CRASH_MARK,          /* off, len: means something to the checker */
};

struct crash_entry {
	enum crash_op op;
	uint64_t id, off;
	char name[128], to[128];
	uint8_t *data;
	size_t len;
};

struct crash_log {
	struct crash_entry *entries;
	size_t count, cap;
};

/* Appends; aborts without memory. Copies everything. */
void crash_log_add(struct crash_log *l, enum crash_op op, uint64_t id, uint64_t off,
		   const void *data, size_t len, const char *name, const char *to);
void crash_log_done(struct crash_log *l);

/* A file of an image. */
struct crash_file {
	char name[128];
	uint8_t *p;
	size_t len;
};

struct crash_image {
	struct crash_file *files;
	size_t count;
};

struct crash_disk;

/* The disk before the first entry: empty. */
struct crash_disk *crash_disk_new(const struct crash_log *l);
void crash_disk_free(struct crash_disk *d);

/* Takes the next entry; false at the end. */
bool crash_disk_step(struct crash_disk *d);

/* In how many ways a cut now can leave the disk; SIZE_MAX when that is more than can be counted. */
size_t crash_disk_ways(const struct crash_disk *d);

/* The n-th of them; with UINT64_MAX, one at random by *seed, and then with torn blocks too. Freed
 * with crash_image_done(). */
void crash_disk_image(const struct crash_disk *d, uint64_t nth, uint64_t *seed,
		      struct crash_image *ret);
void crash_image_done(struct crash_image *i);

/* A number below n by *seed, the same everywhere. */
uint64_t crash_random(uint64_t *seed, uint64_t n);

#endif
