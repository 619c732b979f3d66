/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_PRIV_H
#define RAWSTACK_STORE_PRIV_H
/* What the parts of the store share: store.c (reading, open), store_change.c, store_evict.c,
 * store_missing.c, store_scrub.c. */
#include <pthread.h>

#include "arena.h"
#include "intern.h"
#include "store.h"
#include "store_record.h"

enum {
	STORE_USED_MAX = 1 << 20
};

/* What was missing and is not written yet. */
struct store_pending {
	struct intern ids;
	struct store_missing *notes; /* of ids */
	size_t notes_cap;
	struct intern batches;
	struct arena paths;
};

void store_pending_init(struct store_pending *p);
void store_pending_done(struct store_pending *p);

struct store {
	struct kv *kv;
	uint64_t max_bytes;

	/* One change at a time: from reading what is there to the end of the commit. */
	pthread_mutex_t writer;
	uint64_t next_number;
	size_t tombstone_count;           /* records without a table */
	uint64_t batch_first, batch_next; /* numbers of the remembered batch ids */

	/* Held for moments, never with `writer` waiting inside. */
	pthread_mutex_t lock;
	struct intern verified; /* numbers of tables whose sum was right */
	struct intern used;     /* ids used since the last maintenance */
	uint64_t *used_ns;      /* of used's ids */
	size_t used_cap;
	struct store_stat stat;
	struct store_pending pending, flushing; /* flushing: on its way into a commit */
	uint64_t flush_count;

	struct build_id scrub_at; /* how far it is; writer's */
	bool scrub_started;
};

struct store_read {
	struct store *s;
	struct kv_read *kv;
};

static inline struct kv_bytes key_of(const struct build_id *id)
{
	return (struct kv_bytes){id->bytes, id->len};
}

static inline void store_read_endp(struct store_read **r)
{
	store_read_end(*r);
}

/* As store_binary() and store_binary_next(), with what is the store's own. */
int store_get_record(struct store_read *r, const struct build_id *id, struct store_record *ret,
		     struct err *err);
int store_next_record(struct store_read *r, const struct build_id *after, struct store_record *ret,
		      struct err *err);

/* Whether a table's checksum is this one. */
bool store_sum_is(struct kv_bytes table, uint32_t sum);

/* Counts a record that took the place of another; either may be NULL. */
void store_account(struct store *s, const struct store_record *old, const struct store_binary *now);

/*
 * With `writer` held: the record of an id that has a table, with another status and pin, as bytes
 * in `out`. 1, or 0 when the id has no table. What ret_old borrows is gone.
 */
int store_change_ready(struct store *s, const struct build_id *id, enum store_status status,
		       bool pinned, struct buf *out, struct store_record *ret_old, struct err *err);

/* With `writer` held: store_purge(), and the bound on records without a table. */
int store_purge_locked(struct store *s, const struct build_id *id, struct err *err);
int store_trim_tombstones(struct store *s, struct err *err);

/* One commit of all uses noted; on failure they are lost, which costs a wrong order of eviction. */
void store_write_used(struct store *s);

/* Commits, evicting least recently used tables for needed bytes while the engine is full. The
 * caller holds `writer` and no read. */
int store_commit(struct store *s, const struct kv_write *writes, size_t count, uint64_t needed,
		 struct err *err);

/* At open: counts what is there. */
int store_missing_load(struct store *s, struct store_read *r, struct err *err);

#endif
