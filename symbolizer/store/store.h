/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_H
#define RAWSTACK_STORE_H
/*
 * The memory of the service: tables, records of their binaries, ids that were asked for and are
 * missing, and the time of the last use of each table. All of it stays within a budget of bytes.
 * When the budget is spent, the least recently used tables that are not pinned make room; their
 * records stay with the status PURGED.
 *
 * Tables of several formats (major versions) lie side by side. A program sees and changes the
 * tables of its own format, so that an older program finds the tables that it made before an
 * upgrade. Tables of other formats make room first, pinned or not.
 *
 * Every record and every table carries a checksum. The store verifies the checksum of a table at
 * the first use after it is opened. It answers ERR_DATA for a damaged table and never serves it.
 *
 * All functions are safe from any thread. A read is a snapshot for one thread and one request; the
 * thread never holds it across a wait, nor while it changes the store.
 */
#include "build_id.h"
#include "err.h"
#include "limits.h"
#include "store_binary.h"

/* Ids of batches that are remembered, so that Missing counts each batch once. */
#define LIMIT_BATCH_IDS LIMIT(16384)

/* Ids without a table whose fate is remembered. */
#define LIMIT_TOMBSTONES LIMIT(100000)

struct store;

/* The version of the records and of their layout. A change of either raises it. */
#define STORE_VERSION      2
#define STORE_VERSION_NAME "store_version" /* the key of store_meta_put() */

/* Opens the store and takes ownership of kv, also on failure. format is the major version of the
 * tables that this program reads and writes, and is not 0. Returns ERR_UNSUPPORTED if a newer
 * program wrote the store. */
int store_open(struct store **ret, struct kv *kv, uint64_t max_bytes, uint16_t format,
	       struct err *err) _must_check_;

/* Writes the times of use that are still in memory, and closes the store. */
void store_close(struct store *s);
DEFINE_FREEP(struct store, store_close);

/* --- reading --------------------------------------------------------------------------------- */

struct store_read;

int store_read_begin(struct store *s, struct store_read **ret, struct err *err) _must_check_;
void store_read_end(struct store_read *r);

/* Returns 1 and the record, 0 if the id is unknown, or ERR_DATA if the record is damaged. */
int store_binary(struct store_read *r, const struct build_id *id, struct store_binary *ret,
		 struct err *err);

/*
 * Returns the id of the binary that a name stands for. That is the name itself if it has a table,
 * else the id that has the name as an alias, else again the name. All other functions take ids
 * only.
 */
struct build_id store_resolve_alias(struct store_read *r, const struct build_id *name);

void store_id_aliases(struct store_read *r, const struct build_id *id,
		      struct store_id_aliases *ret);

/* Returns 1 and the first record with an id above `after` (NULL: the first of all), or 0 at the
 * end. A damaged record has the status STORE_DAMAGED if its key is an id. Returns ERR_DATA for a
 * damaged page, because the records behind it cannot be found. */
int store_binary_next(struct store_read *r, const struct build_id *after, struct store_binary *ret,
		      struct err *err);

struct store_table {
	const void *p; /* borrowed until store_read_end(); aligned to 16 bytes */
	size_t len;
	uint64_t number; /* changes with each write of the table; with p a key for caches */
};

/* Returns 1 and the table, 0 if there is none, or ERR_DATA if it is damaged. */
int store_table(struct store_read *r, const struct build_id *id, struct store_table *ret,
		struct err *err);

/*
 * Compares the checksum of a table once more, for a caller that got odd answers from it. Returns 0
 * if it is right, or ERR_DATA; from then on store_table() returns ERR_DATA, too. Between two calls
 * of store_maintain() it reads each table once and LIMIT_SCRUB_LEN bytes in all, and beyond that
 * returns 0 without a look.
 */
int store_recheck(struct store_read *r, const struct build_id *id, struct err *err);

/* Returns whether a damaged page or record was met since the start. If so, an id that is not found
 * may be there nevertheless. */
bool store_is_damaged(struct store *s);

/* Returns whether a table of the id was found damaged, and purged, since the start. */
bool store_was_lost(struct store *s, const struct build_id *id);

/* --- changing -------------------------------------------------------------------------------- */

/*
 * Writes the record and, if its status is READY, the table of b->table_len bytes, in one commit
 * that is durable when the function returns. It evicts other tables if it must. Returns ERR_LIMIT
 * if there is no room and nothing left to evict, and ERR_UNAVAILABLE if there is no room as long as
 * another process reads the store. The table replaces an older one of the same id and format; those
 * of other formats stay, up to STORE_FORMATS. A READY id and its aliases leave the list of missing
 * ids.
 */
int store_put(struct store *s, const struct store_binary *b, const void *table,
	      struct err *err) _must_check_;

/* Adds aliases to an id that has a record; durable at return. Returns 1 if one of them is new, else
 * 0. An alias that another id has already stays with that id. */
int store_add_id_aliases(struct store *s, const struct build_id *id,
			 const struct store_id_aliases *add, struct err *err);

/* Removes the tables of all formats and leaves the status PURGED. Returns 1, or 0 if there was no
 * table. */
int store_purge(struct store *s, const struct build_id *id, struct err *err);

/* Does the same, unless the binary is pinned, and replaces the service's own bytes of the record.
 * Returns 1, or 0 if it is pinned or there was no table. */
int store_retire(struct store *s, const struct build_id *id, const void *meta, size_t meta_len,
		 struct err *err) _must_check_;

/* Does the same if a table of the id is damaged at this moment. The caller may have met the damage
 * in an older snapshot, and a new table may be there by now. */
int store_purge_damaged(struct store *s, const struct build_id *id, struct err *err);

/* Evicts tables until the rest fits a budget that was made smaller. The file keeps its length.
 * Returns ERR_LIMIT if all tables are pinned. */
int store_fit(struct store *s, struct err *err);

/* Sets or clears the pin. Returns 1, or 0 if the id has neither a table of any format nor a pin. */
int store_pin(struct store *s, const struct build_id *id, bool pinned, struct err *err);

/* Reads or writes a number that the service keeps under a name of its own. The first returns 1, or
 * 0 if there is no such name. */
int store_meta_get(struct store *s, const char *name, uint64_t *ret, struct err *err) _must_check_;
int store_meta_put(struct store *s, const char *name, uint64_t n, struct err *err) _must_check_;

/* Notes a use of the table in memory. store_maintain() writes it. */
void store_note_used(struct store *s, const struct build_id *id, uint64_t now_ns);

/* Writes the times of use and frees the snapshots of processes that died. The service calls it once
 * a minute. */
void store_maintain(struct store *s);

/*
 * Compares the checksums of about max_bytes of tables, and goes on from there at the next call. At
 * the end of a round it compares the ids of tables with those of records. It purges a damaged
 * table, as a lookup does, and calls damaged(). Returns how many were damaged.
 */
size_t store_scrub(struct store *s, uint64_t max_bytes,
		   void (*damaged)(void *ctx, const struct build_id *id), void *ctx);

/* --- what is missing ------------------------------------------------------------------------- */

/*
 * Adds the weights of one batch. The ids are distinct; only the first path of each note counts, and
 * first_ns is ignored. A batch id among the last LIMIT_BATCH_IDS changes nothing, so that a batch
 * counts once; an empty batch id always counts. The notes stay in memory until
 * store_flush_missing(), or are written at once when there are many, in one commit with the batch
 * ids: a crash loses both or neither. Above LIMIT_MISSING_IDS, missing_shares_cut() chooses which
 * ids to forget.
 */
int store_note_missing(struct store *s, struct kv_bytes batch_id, const struct store_missing *notes,
		       size_t count, struct err *err);

/* Writes what store_note_missing() gathered. The service calls it once a second and before it reads
 * the list. Notes that cannot be written are lost. */
int store_flush_missing(struct store *s, struct err *err);

/* Returns 1 and the record of a missing id, or 0. */
int store_missing_get(struct store_read *r, const struct build_id *id, struct store_missing *ret,
		      struct err *err);

/* Iterates like store_binary_next(), in order of id. */
int store_missing_next(struct store_read *r, const struct build_id *after,
		       struct store_missing *ret, struct err *err);

/* Calls tell() for every table that is damaged, lost, or in no record, and for every alias that
 * leads nowhere, and counts them. Changes nothing. */
int store_verify(struct store *s,
		 void (*tell)(void *ctx, const struct build_id *id, const char *what), void *ctx,
		 size_t *ret_found, struct err *err) _must_check_;

/* Writes a compacted copy of the whole store into an empty file, durable at return. Puts may wait
 * for it. */
int store_copy(struct store *s, int fd, struct err *err) _must_check_;

struct store_stat {
	uint64_t max_bytes, table_bytes;
	uint64_t ready_count, missing_count;
	uint64_t other_count, other_bytes; /* tables of other formats */
	uint64_t file_bytes;
	uint64_t oldest_read_ns;      /* age of the oldest snapshot; 0: there is none */
	uint64_t oldest_read_commits; /* commits since the oldest snapshot of any process */
	uint64_t evicted_count;       /* tables evicted since the start */
	uint64_t damaged_count;       /* tables found damaged since the start */
	uint64_t scrub_rounds;        /* rounds of scrubbing since the start */
	bool failed;                  /* the meta page could not be written: open the store anew */
	bool damaged;                 /* a damaged page or record was met */
	bool gone;                    /* the file, or its directory, was removed or replaced */
};

void store_stat(struct store *s, struct store_stat *ret);

#endif
