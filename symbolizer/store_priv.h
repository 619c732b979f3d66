/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_STORE_PRIV_H
#define RAWSTACK_STORE_PRIV_H
/* What the parts of the store share: store.c (tables and binaries), store_missing.c. */
#include <pthread.h>

#include "intern.h"
#include "store.h"

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
};

struct store_read {
	struct store *s;
	struct kv_read *kv;
};

static inline struct kv_bytes key_of(const struct build_id *id)
{
	return (struct kv_bytes){id->bytes, id->len};
}

/* Commits, evicting least recently used tables for needed bytes while the engine is full. The
 * caller holds `writer` and no read. */
int store_commit(struct store *s, const struct kv_write *writes, size_t count, uint64_t needed,
		 struct err *err);

/* At open: counts what is there. */
int store_missing_load(struct store *s, struct store_read *r, struct err *err);

#endif
