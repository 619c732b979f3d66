/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_H
#define RAWSTACK_STORE_H
/*
 * What the service remembers: tables and what is known of their binaries, ids that were asked for
 * and are not there, and when each table was last used. Within a budget of bytes: when it is full,
 * the least recently used tables that are not pinned make room; their records stay and say PURGED.
 *
 * Tables of several formats (major versions) lie side by side: a program sees and changes those of
 * its own, and whoever goes back to an older program finds what that one had made. Those of other
 * formats make room first, pinned or not.
 *
 * Every record and every table carries a checksum of ours, a table's is verified at its first use
 * after the store was opened: a damaged one is ERR_DATA and never served.
 *
 * Safe from any thread. A read is a snapshot that one thread uses for one request and never holds
 * across a wait, nor while it changes the store.
 */
#include "build_id.h"
#include "err.h"
#include "store_binary.h"

struct store;

/* The version of the records and of their layout; a change of either raises it. */
#define STORE_VERSION      2
#define STORE_VERSION_NAME "store_version" /* of store_meta_put(): whoever writes says so */

/* Takes the engine over, also on failure. format: of the tables that this program reads and writes;
 * not 0. ERR_UNSUPPORTED: a newer program wrote the store. */
int store_open(struct store **ret, struct kv *kv, uint64_t max_bytes, uint16_t format,
	       struct err *err) _must_check_;

/* Writes out what `used` holds back. */
void store_close(struct store *s);
DEFINE_FREEP(struct store, store_close);

/* --- reading --------------------------------------------------------------------------------- */

struct store_read;

int store_read_begin(struct store *s, struct store_read **ret, struct err *err) _must_check_;
void store_read_end(struct store_read *r);

/* 1 and the record, 0 when the id is unknown, ERR_DATA when it is damaged. */
int store_binary(struct store_read *r, const struct build_id *id, struct store_binary *ret,
		 struct err *err);

/*
 * The id of the binary that a name stands for: the name, if there is a table of it; else the id
 * whose alias it is; else the name. All other functions know ids only.
 */
struct build_id store_resolve_alias(struct store_read *r, const struct build_id *name);

void store_id_aliases(struct store_read *r, const struct build_id *id,
		      struct store_id_aliases *ret);

/* The first record with an id above `after` (NULL: the first); 1 or 0. A damaged one has the status
 * STORE_DAMAGED, if its id is one. ERR_DATA when a page is damaged: those behind it are not found.
 */
int store_binary_next(struct store_read *r, const struct build_id *after, struct store_binary *ret,
		      struct err *err);

struct store_table {
	const void *p; /* borrowed from the read; 16-byte aligned */
	size_t len;
	uint64_t number; /* changes whenever the id's table is written: a key for caches, with p */
};

/* 1 and the table, 0 when there is none, ERR_DATA when it is damaged. */
int store_table(struct store_read *r, const struct build_id *id, struct store_table *ret,
		struct err *err);

/*
 * Whether a table whose answers are odd is still what was stored: 0, or ERR_DATA, and then so it is
 * for store_table(). Each table is looked at once between two calls of store_maintain(), and
 * LIMIT_SCRUB_LEN bytes of all of them: else 0.
 */
int store_recheck(struct store_read *r, const struct build_id *id, struct err *err);

/* Whether damage of a page or a record was met since the start: what is not found may be there. */
bool store_is_damaged(struct store *s);

/* Whether a table of the id was found damaged and taken away since the start. */
bool store_was_lost(struct store *s, const struct build_id *id);

/* --- changing -------------------------------------------------------------------------------- */

/*
 * Writes the record and, when its status is READY, the table of b->table_len bytes: one commit,
 * durable at return, evicting others if need be. ERR_LIMIT when there is no room and nothing left
 * to evict; ERR_UNAVAILABLE when there is none as long as another process reads. An older table of
 * the id and format goes; those of other formats stay, up to STORE_FORMATS. A READY id is no longer
 * missing, nor are its aliases.
 */
int store_put(struct store *s, const struct store_binary *b, const void *table,
	      struct err *err) _must_check_;

/* Aliases for an id that has a record: durable at return. 1 when one of them is new. An alias of
 * another id stays that. */
int store_add_id_aliases(struct store *s, const struct build_id *id,
			 const struct store_id_aliases *add, struct err *err);

/* Takes the tables of all formats away and leaves PURGED behind: 1, or 0 when there was none. */
int store_purge(struct store *s, const struct build_id *id, struct err *err);

/* The same of what is there and damaged: whoever found it so may be late. */
int store_purge_damaged(struct store *s, const struct build_id *id, struct err *err);

/* After the budget was made smaller: evicts until the tables fit. The file keeps its length.
 * ERR_LIMIT when all are pinned. */
int store_fit(struct store *s, struct err *err);

/* 1, or 0 when the id has no table of any format. */
int store_pin(struct store *s, const struct build_id *id, bool pinned, struct err *err);

/* A number of the service's own that stays with the store: 1, or 0 when there is none of the name.
 */
int store_meta_get(struct store *s, const char *name, uint64_t *ret, struct err *err) _must_check_;
int store_meta_put(struct store *s, const char *name, uint64_t n, struct err *err) _must_check_;

/* Notes a use, in memory; store_maintain() writes it down. */
void store_note_used(struct store *s, const struct build_id *id, uint64_t now_ns);

/* Once a minute: writes uses, clears dead readers. */
void store_maintain(struct store *s);

/*
 * Compares checksums of some tables, about max_bytes of them, and goes on there at the next call;
 * at the end of a round it compares the ids of tables with those of records. A damaged table is
 * taken away, like one that a lookup finds, and told. How many were found.
 */
size_t store_scrub(struct store *s, uint64_t max_bytes,
		   void (*damaged)(void *ctx, const struct build_id *id), void *ctx);

/* --- what is missing ------------------------------------------------------------------------- */

/*
 * Adds weights of one batch: ids are distinct, of each note only the first path counts, and
 * first_ns is ignored. A batch id that was counted before (of the last LIMIT_BATCH_IDS) changes
 * nothing; an empty one always counts. Gathered in memory: written by store_flush_missing(), or at
 * once when there is much of it, in one commit with the batch ids, so that a crash loses both.
 * Above LIMIT_MISSING_IDS clients have equal shares, and the lightest ids are forgotten of those
 * who have more (missing_shares.h).
 */
int store_note_missing(struct store *s, struct kv_bytes batch_id, const struct store_missing *notes,
		       size_t count, struct err *err);

/* Once a second, and before reading; what cannot be written is lost. */
int store_flush_missing(struct store *s, struct err *err);

/* 1 and the record of an id, or 0. */
int store_missing_get(struct store_read *r, const struct build_id *id, struct store_missing *ret,
		      struct err *err);

/* Iterates like store_binary_next(), in order of id. */
int store_missing_next(struct store_read *r, const struct build_id *after,
		       struct store_missing *ret, struct err *err);

/* Reports every table that is damaged, gone, or in no record, and every alias that leads nowhere,
 * and counts them. Changes nothing. */
int store_verify(struct store *s,
		 void (*tell)(void *ctx, const struct build_id *id, const char *what), void *ctx,
		 size_t *ret_found, struct err *err) _must_check_;

/* A compacted copy of the whole store into an empty file, durable at return. Puts may wait for it.
 */
int store_copy(struct store *s, int fd, struct err *err) _must_check_;

struct store_stat {
	uint64_t max_bytes, table_bytes;
	uint64_t ready_count, missing_count;
	uint64_t other_count, other_bytes; /* tables of other formats */
	uint64_t file_bytes;
	uint64_t oldest_read_ns;      /* how long the oldest snapshot has been there; 0: none */
	uint64_t oldest_read_commits; /* since the oldest of any process that reads the file */
	uint64_t damaged_count;       /* tables found damaged since the start */
	uint64_t scrub_rounds;        /* ended since the start */
	bool failed;                  /* its head could not be written: it has to be opened anew */
	bool damaged;                 /* a page of the file was not what it should be */
	bool gone;                    /* the file was removed, or its directory is another one */
};

void store_stat(struct store *s, struct store_stat *ret);

#endif
