/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TABLE_CACHE_H
#define RAWSTACK_TABLE_CACHE_H
/*
 * Keeps tables of local files in $XDG_CACHE_HOME/rawstack (else ~/.cache/rawstack) between calls of
 * `rawstack resolve -e`. The key of a table is made of the build id, length and modification time
 * of the file and of its debug file, and of the program that made it, so no table is ever stale.
 * The least recently used tables are dropped when all together exceed TABLE_CACHE_MAX. Without a
 * directory, or on a full disk, nothing is found and nothing is kept, which is not an error.
 * Several processes may use it at a time.
 *
 * People often repeat a question before there is a table. So a part, which answers only the
 * addresses of the last question, is kept as NAME.part until there is a table.
 *
 * Beside the place of a table that does not exist yet is a note, NAME.seen. It says how often the
 * file was read without making a table, and who makes it now. That process holds a lock on the note
 * (fcntl(2)), so only one process makes a table, and the lock ends with the process however it
 * dies.
 */
#include "build_id.h"
#include "err.h"

/* Room for the tables of about a hundred large programs. */
#define TABLE_CACHE_MAX (UINT64_C(2) << 30)

struct table_cache {
	int dir_fd;     /* -1: there is no cache */
	char name[192]; /* name of the table's file */
};

/* Opens the cache for the table of a file. `fds` are the file and those that were read with it; -1
 * for one that does not exist. */
void table_cache_open(struct table_cache *c, const struct build_id *id, const int *fds,
		      size_t count);
void table_cache_close(struct table_cache *c);

/* Returns a descriptor of the table, or -1. */
int table_cache_find(const struct table_cache *c);

/* Keeps the bytes of a table, if there is a cache and room. */
void table_cache_keep(const struct table_cache *c, const void *p, size_t len);

/* Keeps the bytes of a part, which answers these addresses, in rising order. */
void table_cache_keep_part(const struct table_cache *c, const uint64_t *vaddrs, size_t count,
			   const void *p, size_t len);

/* Returns a descriptor of a part that answers all of these addresses, or -1. *ret_off is the offset
 * of the part in the file, at a page. */
int table_cache_find_part(const struct table_cache *c, const uint64_t *vaddrs, size_t count,
			  size_t *ret_off);

/* Counts one more read of the file that made no table, and returns the count. Returns 0 without a
 * cache. */
unsigned int table_cache_count(const struct table_cache *c);

/*
 * Claims the table for the caller or its child, who makes it now; reading a part has taken part_ms.
 * Returns a descriptor, and the claim lasts as long as any process has it open. Returns -1 if there
 * is a table, another process makes it, or there is no cache.
 */
int table_cache_claim(const struct table_cache *c, uint32_t part_ms);

/*
 * Waits for a table that another process makes, if it is likely to be there before an answer
 * without it. `share` is what such an answer costs, in hundredths of the part that was read before
 * the claim; 0: an answer needs the table. Returns a descriptor of the table, or -1.
 */
int table_cache_await(const struct table_cache *c, unsigned int share);

#endif
