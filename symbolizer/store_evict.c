/* SPDX-License-Identifier: Apache-2.0 */
/* Room: what a commit does when the engine is full, and how tables are taken away. */
#include <string.h>
#include <time.h>

#include "limits.h"
#include "store_priv.h"

enum {
	EVICTION_ROUNDS = 8,
	PURGE_TRIES = 2,
	SETTLE_MS = 2000, /* a request takes less, also on a busy machine */
};

struct candidate {
	struct build_id id;
	uint64_t when, len;
};

struct candidates {
	struct candidate *rows;
	size_t count, cap;
};

static void candidates_done(struct candidates *c)
{
	free(c->rows);
}

static int by_age(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->when < y->when ? -1 : x->when > y->when;
}

/* Oldest first: tables that may go (by use), or records without a table (by change). */
static int collect(struct store *s, bool tables, struct candidates *ret, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	struct store_binary b;
	struct build_id at;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	while ((rc = store_binary_next(r, after, &b, err)) == 1) {
		at = b.id;
		after = &at;
		if (tables ? b.status != STORE_READY || b.pinned : b.status == STORE_READY)
			continue;
		if (!grow_array((void **)&ret->rows, &ret->cap, ret->count + 1,
				sizeof(ret->rows[0]), SIZE_MAX))
			return err_set(err, ERR_MEMORY, "out of memory");
		ret->rows[ret->count++] = (struct candidate){
			b.id, tables && b.used_ns > b.changed_ns ? b.used_ns : b.changed_ns,
			b.table_len};
	}
	if (ret->count)
		qsort(ret->rows, ret->count, sizeof(ret->rows[0]), by_age);
	return rc;
}

void store_account(struct store *s, const struct store_record *old, const struct store_binary *now)
{
	bool was = old && old->binary.status == STORE_READY;
	bool is = now && now->status == STORE_READY;

	if (old && !was)
		s->tombstone_count--;
	if (now && !is)
		s->tombstone_count++;
	pthread_mutex_lock(&s->lock);
	if (was) {
		s->stat.table_bytes -= old->binary.table_len;
		s->stat.ready_count--;
	}
	if (is) {
		s->stat.table_bytes += now->table_len;
		s->stat.ready_count++;
	}
	pthread_mutex_unlock(&s->lock);
}

int store_change_ready(struct store *s, const struct build_id *id, enum store_status status,
		       bool pinned, struct buf *out, struct store_record *ret_old, struct err *err)
{
	struct store_record record;
	struct store_read *r;
	bool encoded = true;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	rc = store_get_record(r, id, &record, err);
	if (rc == 1 && record.binary.status != STORE_READY)
		rc = 0;
	if (rc == 1) {
		*ret_old = record;
		record.binary.status = status;
		record.binary.pinned = pinned;
		encoded = store_record_encode(&record, out);
	}
	store_read_end(r);
	return encoded ? rc : err_set(err, ERR_MEMORY, "out of memory");
}

/* With `writer` held: the table goes, the record says PURGED. 1, or 0 when there was no table. */
int store_purge_locked(struct store *s, const struct build_id *id, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(STORE_RECORD_MAX);
	const struct store_binary purged = {.status = STORE_PURGED};
	struct store_record old = {0};
	int rc = store_change_ready(s, id, STORE_PURGED, false, &out, &old, err);
	struct kv_write writes[] = {
		{KV_TABLES, key_of(id), {NULL, 0}},
		{KV_BINARIES, key_of(id), {out.p, out.len}},
		{KV_USED, key_of(id), {NULL, 0}},
	};

	if (rc != 1)
		return rc;
	rc = s->kv->ops->commit(s->kv, writes, ARRAY_LEN(writes), err);
	/* Taking away needs pages too, and snapshots may hold all that are free. */
	for (int i = 0; rc == ERR_LIMIT && i < PURGE_TRIES; i++) {
		s->kv->ops->settle(s->kv, SETTLE_MS);
		rc = s->kv->ops->commit(s->kv, writes, ARRAY_LEN(writes), err);
	}
	if (rc)
		return rc;
	store_account(s, &old, &purged);
	return 1;
}

/*
 * Takes tables of `needed` bytes away, or all that there are. ERR_LIMIT when there are none, or
 * when even then `least` bytes would not fit.
 */
static int evict(struct store *s, uint64_t needed, uint64_t least, struct err *err)
{
	_cleanup_(candidates_done) struct candidates c = {0};
	uint64_t room, freed = 0;
	int rc = collect(s, true, &c, err);

	if (rc)
		return rc;
	/* What cannot fit drives nothing out. */
	room = s->max_bytes > s->stat.table_bytes ? s->max_bytes - s->stat.table_bytes : 0;
	for (size_t i = 0; i < c.count; i++)
		room += c.rows[i].len;
	if (room < least)
		return err_set(err, ERR_LIMIT, "the store is full of pinned tables");
	for (size_t i = 0; i < c.count && freed < needed; i++) {
		rc = store_purge_locked(s, &c.rows[i].id, err);
		if (rc < 0)
			return rc;
		freed += c.rows[i].len;
	}
	return freed ? 0
		     : err_set(err, ERR_LIMIT, "the store is full and every table in it is pinned");
}

int store_fit(struct store *s, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&s->writer);
	if (s->stat.table_bytes > s->max_bytes)
		rc = evict(s, s->stat.table_bytes - s->max_bytes, 0, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

/*
 * What a commit frees is usable only after the next one, and not before the snapshots that see it
 * have ended: those last as long as a request, so that waiting is better than evicting more.
 */
static int retry(struct store *s, const struct kv_write *writes, size_t count, struct err *err)
{
	static const char tick_key[] = "tick";
	uint8_t number[STORE_NUMBER_LEN];
	struct kv_write tick = {
		KV_META, {tick_key, sizeof(tick_key) - 1}, {number, sizeof(number)}};
	int rc;

	store_number_encode(s->next_number, number);
	s->kv->ops->settle(s->kv, SETTLE_MS);
	rc = s->kv->ops->commit(s->kv, &tick, 1, err);
	return rc ? rc : s->kv->ops->commit(s->kv, writes, count, err);
}

/* Whether another process goes on reading, though it was given a moment to end. */
static bool is_read_by_others(struct store *s)
{
	const struct timespec pause = {0, 10000000};
	struct kv_stat stat = {0};

	for (int ms = 0; ms < SETTLE_MS; ms += 10) {
		s->kv->ops->stat(s->kv, &stat);
		if (!stat.foreign_count)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

int store_commit(struct store *s, const struct kv_write *writes, size_t count, uint64_t needed,
		 struct err *err)
{
	int rc = s->kv->ops->commit(s->kv, writes, count, err);

	for (int round = 0; rc == ERR_LIMIT && round < EVICTION_ROUNDS; round++) {
		bool cleared = s->kv->ops->maintain(s->kv);

		/* While a backup lasts no page gets free, were all tables to go for it. */
		if (!cleared && is_read_by_others(s))
			return err_set(err, ERR_UNAVAILABLE,
				       "the store is full, and another process reads it (a "
				       "backup?): nothing can make room until that has ended");
		/*
		 * A process that died with a snapshot may have held all that is needed. Else tables
		 * go: free pages must lie side by side, which may take more than what is needed.
		 * When none may go, what this put takes the place of can be free once the requests
		 * of this moment have ended.
		 */
		rc = cleared ? 0 : evict(s, needed << round, needed, err);
		if (rc && (rc != ERR_LIMIT || round))
			return rc;
		rc = retry(s, writes, count, err);
	}
	return rc;
}

/* With `writer` held: forgets the oldest eighth of records without tables, if they are too many. */
int store_trim_tombstones(struct store *s, struct err *err)
{
	_cleanup_(candidates_done) struct candidates c = {0};
	int rc;

	if (s->tombstone_count <= LIMIT_TOMBSTONES)
		return 0;
	rc = collect(s, false, &c, err);
	for (size_t i = 0; !rc && i < c.count && i < LIMIT_TOMBSTONES / 8; i++) {
		struct kv_write gone = {KV_BINARIES, key_of(&c.rows[i].id), {NULL, 0}};

		rc = s->kv->ops->commit(s->kv, &gone, 1, err);
		if (!rc)
			s->tombstone_count--;
	}
	return rc;
}
