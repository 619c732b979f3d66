/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_PRIV_H
#define RAWSTACK_STORE_PRIV_H
/* The store, as its parts share it: store.c (reading, open), store_change.c, store_evict.c,
 * store_id_alias.c, store_missing.c, store_purge.c and store_scrub.c. */
#include <pthread.h>
#include <string.h>

#include "arena.h"
#include "intern.h"
#include "store.h"
#include "store_record.h"

enum {
	/* Ids whose last use waits to be written, which happens once a minute. The use of further
	 * ids is lost. */
	LIMIT_NOTED_USES = 1 << 20
};

/* Notes of missing ids that are not written yet. */
struct store_pending {
	struct intern ids;
	struct store_missing *notes; /* one for each of ids */
	size_t notes_cap;
	struct intern batches;
	struct arena paths;
};

void store_pending_init(struct store_pending *p);
void store_pending_done(struct store_pending *p);

struct store {
	struct kv *kv;
	uint64_t max_bytes;
	uint16_t format; /* the format of the tables that this program reads */

	/* Makes changes one at a time, from reading the present state to the end of the commit. */
	pthread_mutex_t writer;
	const struct build_id *put_id; /* whose table needs room now, for the log; or NULL */
	uint64_t next_number;
	size_t tombstone_count;           /* records without a table of any format */
	uint64_t batch_first, batch_next; /* numbers of the remembered batch ids */

	/* Held for moments only; no thread waits for `writer` while it holds this. */
	pthread_mutex_t lock;
	struct intern verified; /* numbers of tables whose checksum was right */
	/* Tables that store_recheck() read, and the bytes that it may still read until
	 * store_maintain(). */
	struct intern rechecked;
	uint64_t recheck_left;
	struct intern lost; /* ids whose table was found damaged since the start */
	struct intern used; /* ids used since the last maintenance */
	uint64_t *used_ns;  /* one for each of used */
	size_t used_cap;
	struct store_stat stat;
	struct store_pending pending, flushing; /* flushing: in a commit at this moment */
	uint64_t flush_count;

	struct build_id scrub_at; /* where the scrub goes on; guarded by `writer` */
	bool scrub_started;
};

struct store_read {
	struct store *s;
	struct kv_read *kv;
};

static inline struct kv_bytes store_key_of(const struct build_id *id)
{
	return (struct kv_bytes){id->bytes, id->len};
}

struct store_key {
	uint8_t bytes[KV_KEY_MAX];
	size_t len;
};

/* Makes a key of KV_TABLES: build id, then the format in 2 bytes, big-endian. */
static inline struct store_key store_table_key(const struct build_id *id, uint16_t format)
{
	struct store_key k = {.len = id->len + sizeof(format)};

	_Static_assert(BUILD_ID_MAX + sizeof(format) <= KV_KEY_MAX, "a table's key is too long");
	memcpy(k.bytes, id->bytes, id->len);
	k.bytes[id->len] = (uint8_t)(format >> 8);
	k.bytes[id->len + 1] = (uint8_t)format;
	return k;
}

/* Notes that a record is damaged. Others may then not be found. */
static inline void store_found_damage(struct store *s)
{
	atomic_store(&s->kv->damaged, true);
}

static inline void store_read_endp(struct store_read **r)
{
	store_read_end(*r);
}

/* Do the same as store_binary() and store_binary_next(), but return the fields that only the store
 * uses. */
int store_get_record(struct store_read *r, const struct build_id *id, struct store_record *ret,
		     struct err *err);
int store_next_record(struct store_read *r, const struct build_id *after, struct store_record *ret,
		      struct err *err);

/* Returns the Unix time in ns of the last use; 0: never. */
uint64_t store_last_use(struct store_read *r, const struct build_id *id);

/* Finds the bytes of a record's table. Returns 1, or 0 if they are gone. */
int store_table_bytes(struct store_read *r, const struct build_id *id,
		      const struct store_record_table *t, struct kv_bytes *ret, struct err *err);

/* Returns whether the checksum of a table is `sum`. */
bool store_sum_is(struct kv_bytes table, uint32_t sum);

/* Updates the counters of struct store_stat for a record that replaces another. Either may be NULL.
 */
void store_account(struct store *s, const struct store_record *old, const struct store_record *now);

/* A record before and after a change. Neither borrows bytes. */
struct store_edit {
	struct store_record old, now;
	struct buf out; /* `now`, encoded; the caller initialises and releases it */
};

/* Encodes the record of an id that has a table or a pin, after change() changed it. Returns 1, or 0
 * if the id has neither or if change() changes nothing. The caller holds `writer`. */
int store_edit(struct store *s, const struct build_id *id,
	       bool (*change)(struct store_record *r, const void *arg), const void *arg,
	       struct store_edit *ret, struct err *err);

/* Changes of aliases that become part of a commit. They own their bytes, so the read that they were
 * made from may end before the commit. */
struct store_id_alias_change {
	struct buf id, hashes; /* the values of the writes */
	struct store_key keys[3 * STORE_ID_ALIASES + 1];
	struct kv_write writes[3 * STORE_ID_ALIASES + 1];
	size_t count;
	size_t bytes;        /* bytes of all values */
	size_t added;        /* aliases that are new */
	size_t missing_gone; /* ids that leave the list of missing ids */
};

#define STORE_ID_ALIAS_CHANGE_INIT                                                 \
	{                                                                          \
		.id = BUF_INIT(KV_KEY_MAX * 2), .hashes = BUF_INIT(KV_KEY_MAX * 2) \
	}

void store_id_alias_change_done(struct store_id_alias_change *c);

/* Adds to *c the writes that give an id the aliases of `add` (NULL: none) besides those it has.
 * Returns false if memory is out. The caller holds `writer`. */
bool store_id_alias_add(struct store_read *r, const struct build_id *id,
			const struct store_id_aliases *add, bool is_ready,
			struct store_id_alias_change *c);
void store_id_alias_drop(struct store_read *r, const struct build_id *id,
			 struct store_id_alias_change *c);

/* Finds the next alias after *at (len 0: the first) that leads nowhere. Returns 1, with its key of
 * KV_META in *at, or 0. */
int store_id_alias_find_damaged(struct store *s, struct store_key *at, struct build_id *ret,
				struct err *err);

/* Counts ids that left the list of missing ids. */
void store_count_found(struct store *s, size_t count);

#define STORE_ALL_FORMATS 0

/* Purges the table of one format. The caller holds `writer`, also for store_trim_tombstones(),
 * which bounds the number of records without a table. */
int store_purge_locked(struct store *s, const struct build_id *id, uint16_t format,
		       struct err *err);
int store_retire_locked(struct store *s, const struct build_id *id, struct kv_bytes meta,
			struct err *err);
int store_trim_tombstones(struct store *s, struct err *err);

struct store_victim {
	struct build_id id;
	uint16_t format;
};

/* Purges tables of different ids in one commit, because each commit writes pages while room is
 * short. The caller holds `writer`. */
int store_purge_together(struct store *s, const struct store_victim *rows, size_t count,
			 struct err *err);

enum {
	SETTLE_MS = 2000 /* longer than a request takes, also on a busy machine */
};

/* Writes all noted times of use in one commit. If it fails they are lost, which costs a wrong order
 * of eviction and nothing else. */
void store_write_used(struct store *s);

/* Commits, and evicts least recently used tables for `needed` bytes while the engine is full. The
 * caller holds `writer` and no read. */
int store_commit(struct store *s, const struct kv_write *writes, size_t count, uint64_t needed,
		 struct err *err);

/* Lets store_recheck() read tables again. */
void store_forget_rechecks(struct store *s);

/* Counts the missing ids in the file when the store is opened. */
int store_missing_load(struct store *s, struct store_read *r, struct err *err);

#endif
