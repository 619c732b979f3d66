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
	uint16_t format;
	bool is_own, pinned;
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

/* What nobody can read here goes first, and pins do not hold it for ever. */
static int by_age(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->is_own != y->is_own)
		return x->is_own ? 1 : -1;
	if (x->pinned != y->pinned)
		return x->pinned ? 1 : -1;
	return x->when < y->when ? -1 : x->when > y->when;
}

static bool add_candidate(struct candidates *c, const struct candidate *one)
{
	if (!grow_array((void **)&c->rows, &c->cap, c->count + 1, sizeof(c->rows[0]), SIZE_MAX))
		return false;
	c->rows[c->count++] = *one;
	return true;
}

/* Those of a record's tables that may go, or the record, if it has none. */
static bool add_record(struct store *s, const struct store_record *r, bool tables, uint64_t used_ns,
		       struct candidates *ret)
{
	struct candidate c = {.id = r->binary.id, .pinned = r->binary.pinned};
	bool added = true;

	c.when = tables && used_ns > r->binary.changed_ns ? used_ns : r->binary.changed_ns;
	if (!tables)
		return r->table_count || add_candidate(ret, &c);
	for (size_t i = 0; added && i < r->table_count; i++) {
		c.format = r->tables[i].format;
		c.is_own = c.format == s->format;
		c.len = r->tables[i].len;
		added = (c.is_own && c.pinned) || add_candidate(ret, &c);
	}
	return added;
}

/* In the order in which they go: tables that may (by use), or records without one (by change). */
static int collect(struct store *s, bool tables, struct candidates *ret, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	struct store_record record;
	struct build_id at;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	while ((rc = store_next_record(r, after, &record, err)) == 1) {
		at = record.binary.id;
		after = &at;
		if (!add_record(s, &record, tables, store_last_use(r, &at), ret))
			return err_set(err, ERR_MEMORY, "out of memory");
	}
	if (ret->count)
		qsort(ret->rows, ret->count, sizeof(ret->rows[0]), by_age);
	return rc;
}

/* Adds a record to what is counted, or takes it out. With `lock` held. */
static void count(struct store *s, const struct store_record *r, uint64_t sign)
{
	const struct store_record_table *own = store_record_table(r, s->format);

	s->stat.ready_count += own ? sign : 0;
	s->stat.table_bytes += own ? sign * own->len : 0;
	s->stat.other_count += sign * (r->table_count - (own != NULL));
	for (size_t i = 0; i < r->table_count; i++)
		if (&r->tables[i] != own)
			s->stat.other_bytes += sign * r->tables[i].len;
}

void store_account(struct store *s, const struct store_record *old, const struct store_record *now)
{
	s->tombstone_count -= old && !old->table_count;
	s->tombstone_count += now && !now->table_count;
	pthread_mutex_lock(&s->lock);
	if (old)
		count(s, old, UINT64_MAX); /* -1 */
	if (now)
		count(s, now, 1);
	pthread_mutex_unlock(&s->lock);
}

int store_edit(struct store *s, const struct build_id *id,
	       bool (*edit)(struct store_record *r, const void *arg), const void *arg,
	       struct buf *out, struct store_record *ret_old, struct store_record *ret_now,
	       struct err *err)
{
	struct store_record record;
	struct store_read *r;
	bool encoded = true;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	rc = store_get_record(r, id, &record, err);
	if (rc == 1) {
		*ret_old = record;
		rc = (record.table_count || record.binary.pinned) && edit(&record, arg);
	}
	if (rc == 1) {
		store_record_see(&record, s->format);
		*ret_now = record;
		encoded = store_record_encode(&record, out);
	}
	store_read_end(r);
	return encoded ? rc : err_set(err, ERR_MEMORY, "out of memory");
}

struct dropping {
	uint16_t format, own;
};

/* A pin outlasts all but a delete: a table that was damaged is pinned again when it is made anew.
 */
static bool drop_tables(struct store_record *r, const void *arg)
{
	const struct dropping *d = arg;

	if (d->format == STORE_ALL_FORMATS) {
		r->table_count = 0;
		r->binary.pinned = false;
	} else if (!store_record_drop(r, d->format)) {
		return false;
	}
	if (!r->table_count || d->format == d->own)
		r->written = STORE_PURGED;
	return true;
}

/* What is in one and not in the other. */
static size_t list_dropped(const struct build_id *id, const struct store_record *old,
			   const struct store_record *now,
			   struct store_key keys[static STORE_FORMATS])
{
	size_t count = 0;

	for (size_t i = 0; i < old->table_count; i++)
		if (!store_record_table(now, old->tables[i].format))
			keys[count++] = store_table_key(id, old->tables[i].format);
	return count;
}

/* With `writer` held: the table goes; when it was of this format, or the last one, the record says
 * PURGED. 1, or 0 when there was none. */
int store_purge_locked(struct store *s, const struct build_id *id, uint16_t format, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(STORE_RECORD_MAX);
	struct kv_write writes[STORE_FORMATS + 2];
	struct store_key keys[STORE_FORMATS];
	struct store_record old = {0}, now = {0};
	const struct dropping d = {format, s->format};
	int rc = store_edit(s, id, drop_tables, &d, &out, &old, &now, err);
	size_t count;

	if (rc != 1)
		return rc;
	count = list_dropped(id, &old, &now, keys);
	for (size_t i = 0; i < count; i++)
		writes[i] = (struct kv_write){KV_TABLES, {keys[i].bytes, keys[i].len}, {NULL, 0}};
	writes[count++] = (struct kv_write){KV_BINARIES, key_of(id), {out.p, out.len}};
	if (!now.table_count)
		writes[count++] = (struct kv_write){KV_USED, key_of(id), {NULL, 0}};
	rc = s->kv->ops->commit(s->kv, writes, count, err);
	/* Taking away needs pages too, and snapshots may hold all that are free. */
	for (int i = 0; rc == ERR_LIMIT && i < PURGE_TRIES; i++) {
		s->kv->ops->settle(s->kv, SETTLE_MS);
		rc = s->kv->ops->commit(s->kv, writes, count, err);
	}
	if (rc)
		return rc;
	store_account(s, &old, &now);
	return 1;
}

/* Of all formats. */
static uint64_t stored_bytes(const struct store *s)
{
	return s->stat.table_bytes + s->stat.other_bytes;
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
	room = s->max_bytes > stored_bytes(s) ? s->max_bytes - stored_bytes(s) : 0;
	for (size_t i = 0; i < c.count; i++)
		room += c.rows[i].len;
	if (room < least)
		return err_set(err, ERR_LIMIT, "the store is full of pinned tables");
	for (size_t i = 0; i < c.count && freed < needed; i++) {
		rc = store_purge_locked(s, &c.rows[i].id, c.rows[i].format, err);
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
	if (stored_bytes(s) > s->max_bytes)
		rc = evict(s, stored_bytes(s) - s->max_bytes, 0, err);
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

/* A record without tables, with the aliases of its id. */
static int forget(struct store *s, const struct build_id *id, struct err *err)
{
	_cleanup_(store_alias_change_done) struct store_alias_change aliases =
		STORE_ALIAS_CHANGE_INIT;
	struct kv_write writes[1 + ARRAY_LEN(aliases.writes)] = {
		{KV_BINARIES, key_of(id), {NULL, 0}}};
	struct store_read *r;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	store_alias_drop(r, id, &aliases);
	store_read_end(r);
	memcpy(writes + 1, aliases.writes, aliases.count * sizeof(writes[0]));
	rc = s->kv->ops->commit(s->kv, writes, 1 + aliases.count, err);
	if (!rc)
		s->tombstone_count--;
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
	for (size_t i = 0; !rc && i < c.count && i < LIMIT_TOMBSTONES / 8; i++)
		rc = forget(s, &c.rows[i].id, err);
	return rc;
}
