/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_CACHE_H
#define RAWSTACK_TABLE_CACHE_H
/*
 * Tables of local files, kept in $XDG_CACHE_HOME/rawstack (else ~/.cache/rawstack) between calls of
 * `rawstack resolve -e`. A table is found by the build id, length and time of change of the file
 * and of its debug file, and by the program that made it, so none is ever stale. What was not used
 * for longest goes when all together exceed TABLE_CACHE_MAX. Without a place to keep them, or on a
 * full disk, nothing is found and nothing kept; that is no error. Several processes may use it at a
 * time.
 *
 * The same question is often asked again, before there is a table: a part, which answers the
 * addresses of the last one only, is kept as NAME.part until there is.
 *
 * Beside a table that is not there yet lies a note, NAME.seen: how often the file was read without
 * making one, and who makes it now. Who makes it holds a lock on the note (flock(2)), so that there
 * is one at a time, and none once it has died, however it did.
 */
#include "build_id.h"
#include "err.h"

/* Tables of about a hundred large programs. */
#define TABLE_CACHE_MAX (UINT64_C(2) << 30)

struct table_cache {
	int dir_fd;     /* -1: there is none */
	char name[192]; /* of the table asked for */
};

/* `fds`: the file and what was read with it; -1 for what is not there. */
void table_cache_open(struct table_cache *c, const struct build_id *id, const int *fds,
		      size_t count);
void table_cache_close(struct table_cache *c);

/* A descriptor of the table, or -1. */
int table_cache_find(const struct table_cache *c);

/* Keeps the bytes of the table, if there is a place and room. */
void table_cache_keep(const struct table_cache *c, const void *p, size_t len);

/* Keeps the bytes of a part: what answers these addresses, which rise. */
void table_cache_keep_part(const struct table_cache *c, const uint64_t *vaddrs, size_t count,
			   const void *p, size_t len);

/* A descriptor of a part that answers all of these addresses, and where in the file it begins, at a
 * page; or -1. */
int table_cache_find_part(const struct table_cache *c, const uint64_t *vaddrs, size_t count,
			  size_t *ret_off);

/* Counts that the file was read without making a table; how often so far, this time included. 0
 * without a cache. */
unsigned int table_cache_count(const struct table_cache *c);

/*
 * Says that the caller, or a child of its, makes the table now, and that reading a part has taken
 * part_ms. A descriptor that is the claim as long as a process has it open. -1: there is a table,
 * another makes it, or there is no place for it.
 */
int table_cache_claim(const struct table_cache *c, uint32_t part_ms);

/*
 * Waits for a table that somebody makes, if it is likely to be there before an answer without it
 * would be: `share` is what such an answer costs, in hundredths of the part that was read before
 * the claim; 0: there is none without. A descriptor of the table, or -1.
 */
int table_cache_await(const struct table_cache *c, unsigned int share);

#endif
