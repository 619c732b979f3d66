/* SPDX-License-Identifier: Apache-2.0 */
/* Makes room: evicts tables when the engine is full, and forgets records without a table. */
#include <string.h>
#include <time.h>

#include "event.h"
#include "io.h"
#include "limits.h"
#include "store_priv.h"
#include "store_room.h"

enum {
	EVICTION_ROUNDS = 8,
	SPARE_PAGES = 8, /* for the record, and for the branches above it and above the table */
};

struct candidate {
	struct build_id id;
	uint16_t format;
	bool is_own, pinned;
	uint64_t when, len;
	uint64_t page; /* the first page of a long table; else 0 */
};

struct candidates {
	struct candidate *rows;
	size_t count, cap;
};

static void candidates_done(struct candidates *c)
{
	free(c->rows);
}

/* Tables that this program cannot read go first, pinned or not. */
static int by_age(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->is_own != y->is_own)
		return x->is_own ? 1 : -1;
	if (x->pinned != y->pinned)
		return x->pinned ? 1 : -1;
	return x->when < y->when ? -1 : x->when > y->when;
}

static bool add_evictable(struct candidates *c, const struct candidate *one)
{
	if (!GROW(c->rows, &c->cap, c->count + 1, SIZE_MAX))
		return false;
	c->rows[c->count++] = *one;
	return true;
}

static uint64_t page_of(struct store_read *r, const struct store_record *record,
			const struct store_record_table *t, const struct kv_layout *layout)
{
	struct kv_bytes table;
	uint64_t page;

	if (!layout || t->len <= layout->long_len ||
	    store_table_bytes(r, &record->binary.id, t, &table, NULL) != 1 ||
	    table.len <= layout->long_len)
		return 0;
	memcpy(&page, (const uint8_t *)table.p - layout->value_head, sizeof(page));
	return page;
}

/* Adds the tables of a record that may be evicted or, if `tables` is false, a record that has none.
 * Returns false if memory is out. */
static bool add_record(struct store_read *in, const struct store_record *r, bool tables,
		       uint64_t used_ns, const struct kv_layout *layout, struct candidates *ret)
{
	const struct store *s = in->s;
	struct candidate c = {.id = r->binary.id, .pinned = r->binary.pinned};
	bool added = true;

	c.when = tables && used_ns > r->binary.changed_ns ? used_ns : r->binary.changed_ns;
	if (!tables)
		return r->table_count || add_evictable(ret, &c);
	for (size_t i = 0; added && i < r->table_count; i++) {
		c.format = r->tables[i].format;
		c.is_own = c.format == s->format;
		c.len = r->tables[i].len;
		c.page = page_of(in, r, &r->tables[i], layout);
		added = (c.is_own && c.pinned) || add_evictable(ret, &c);
	}
	return added;
}

/* Collects candidates in the order in which they go: tables that may be evicted, by last use, or
 * records without a table, by last change. */
static int collect_candidates(struct store *s, bool tables, struct kv_layout *layout,
			      struct candidates *ret, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	struct store_record record;
	struct build_id at;
	int rc;

	TRY(store_read_begin(s, &r, err));
	if (layout)
		TRY(s->kv->ops->layout(r->kv, layout, err));
	while ((rc = store_next_record(r, after, &record, err)) == 1) {
		at = record.binary.id;
		after = &at;
		if (!add_record(r, &record, tables, store_last_use(r, &at), layout, ret))
			return err_no_memory(err);
	}
	if (ret->count)
		qsort(ret->rows, ret->count, sizeof(ret->rows[0]), by_age);
	return rc;
}

/* Adds a record to the counters, or subtracts it. The caller holds `lock`. */
static void count_record(struct store *s, const struct store_record *r, uint64_t sign)
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
		count_record(s, old, UINT64_MAX); /* -1 */
	if (now)
		count_record(s, now, 1);
	pthread_mutex_unlock(&s->lock);
}

int store_edit(struct store *s, const struct build_id *id,
	       bool (*change)(struct store_record *r, const void *arg), const void *arg,
	       struct store_edit *ret, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	int rc;

	TRY(store_read_begin(s, &r, err));
	rc = store_get_record(r, id, &ret->old, err);
	if (rc != 1)
		return rc;
	ret->now = ret->old;
	if (!(ret->now.table_count || ret->now.binary.pinned) || !change(&ret->now, arg))
		return 0;
	store_record_see(&ret->now, s->format);
	return store_record_encode(&ret->now, &ret->out) ? 1 : err_no_memory(err);
}

/* Returns the bytes of all tables, of all formats. */
static uint64_t stored_bytes(const struct store *s)
{
	return s->stat.table_bytes + s->stat.other_bytes;
}

/* Counts and logs a table that made room, which took the time since begin_ns. */
static void tell_eviction(struct store *s, const struct candidate *c, uint64_t begin_ns)
{
	struct event e;

	pthread_mutex_lock(&s->lock);
	s->stat.evicted_count++;
	pthread_mutex_unlock(&s->lock);
	if (!event_begin(&e, LOG_INFO, EVENT_EVICTION))
		return;
	event_id(&e, "build_id", &c->id);
	event_text(&e, "reason", "room");
	event_number(&e, "bytes", c->len);
	event_number(&e, "format", c->format);
	if (s->put_id)
		event_id(&e, "for", s->put_id);
	event_seconds(&e, "seconds", io_mono_ns() - begin_ns);
	event_end(&e);
}

/*
 * Evicts tables of `needed` bytes, or all that may be evicted. Returns ERR_LIMIT if there are none,
 * or if `least` bytes would not fit even without them.
 */
static int evict_tables(struct store *s, uint64_t needed, uint64_t least, struct err *err)
{
	_cleanup_(candidates_done) struct candidates c = {0};
	uint64_t room, freed = 0;
	int rc;

	TRY(collect_candidates(s, true, NULL, &c, err));
	/* A table that can never fit must not drive others out. */
	room = s->max_bytes > stored_bytes(s) ? s->max_bytes - stored_bytes(s) : 0;
	for (size_t i = 0; i < c.count; i++)
		room += c.rows[i].len;
	if (room < least)
		return err_set(err, ERR_LIMIT, "the store is full of pinned tables");
	for (size_t i = 0; i < c.count && freed < needed; i++) {
		const uint64_t begin_ns = io_mono_ns();

		rc = store_purge_locked(s, &c.rows[i].id, c.rows[i].format, err);
		if (rc < 0)
			return rc;
		tell_eviction(s, &c.rows[i], begin_ns);
		freed += c.rows[i].len;
	}
	return freed ? 0
		     : err_set(err, ERR_LIMIT, "the store is full and every table in it is pinned");
}

static uint64_t pages_for(const struct kv_layout *l, uint64_t len)
{
	return (len + l->value_head - 1) / l->page_len + 1;
}

/* Marks in taken[] the candidates to evict so that `pages` pages lie side by side, and returns what
 * room_find() does. */
static int find_window(const struct candidates *c, const struct kv_layout *l, uint64_t pages,
		       bool *taken, uint64_t *ret_largest, struct err *err)
{
	_cleanup_(freep) struct room_table *tables = calloc(c->count + 1, sizeof(*tables));
	_cleanup_(freep) size_t *from = calloc(c->count + 1, sizeof(*from));
	_cleanup_(freep) bool *of_room = calloc(c->count + 1, sizeof(*of_room));
	struct room room = {.free_pages = l->free_pages,
			    .page_count = l->page_count,
			    .room_count = l->room_count,
			    .tables = tables};
	int rc;

	if (!tables || !from || !of_room)
		return err_no_memory(err);
	for (size_t i = 0; i < c->count; i++)
		if (c->rows[i].page) {
			from[room.table_count] = i;
			tables[room.table_count++] = (struct room_table){
				c->rows[i].page, pages_for(l, c->rows[i].len), i};
		}
	rc = room_find(&room, pages, of_room, ret_largest, err);
	for (size_t i = 0; i < room.table_count; i++)
		taken[from[i]] = of_room[i];
	return rc;
}

/* Returns the index of the newest taken table plus 1, or 0 if none is taken. */
static size_t newest_of(const bool *taken, size_t count)
{
	while (count && !taken[count - 1])
		count--;
	return count;
}

static bool is_victim(const struct store_victim *rows, size_t count, const struct build_id *id)
{
	for (size_t i = 0; i < count; i++)
		if (build_id_equal(&rows[i].id, id))
			return true;
	return false;
}

static int purge_taken(struct store *s, const struct candidates *c, const bool *taken,
		       struct err *err)
{
	_cleanup_(freep) struct store_victim *rows = calloc(c->count + 1, sizeof(*rows));
	const uint64_t begin_ns = io_mono_ns();
	size_t count = 0;
	int rc = 0;

	if (!rows)
		return err_no_memory(err);
	for (size_t i = 0; i < c->count && rc >= 0; i++) {
		if (!taken[i])
			continue;
		if (is_victim(rows, count, &c->rows[i].id)) /* a second table of this id */
			rc = store_purge_locked(s, &c->rows[i].id, c->rows[i].format, err);
		else
			rows[count++] = (struct store_victim){c->rows[i].id, c->rows[i].format};
	}
	rc = rc < 0 ? rc : store_purge_together(s, rows, count, err);
	for (size_t i = 0; i < c->count && rc >= 0; i++)
		if (taken[i])
			tell_eviction(s, &c->rows[i], begin_ns);
	return rc;
}

/*
 * Evicts tables that lie side by side, so that a value of `needed` bytes has room. It frees some
 * more pages for what the eviction writes, twice as many with each try. Returns ERR_LIMIT, and
 * evicts nothing, if the value cannot fit.
 */
static int evict_side_by_side(struct store *s, uint64_t needed, int tries, struct err *err)
{
	_cleanup_(candidates_done) struct candidates c = {0};
	_cleanup_(freep) bool *taken = NULL;
	struct kv_layout l = {0};
	uint64_t pages = 0, largest = 0, ignored;
	size_t newest;
	int rc = collect_candidates(s, true, &l, &c, err);

	if (rc)
		goto out;
	taken = calloc(c.count + 1, sizeof(*taken));
	if (!taken) {
		rc = err_no_memory(err);
		goto out;
	}
	pages = pages_for(&l, needed);
	rc = find_window(&c, &l, pages, taken, &largest, err);
	/* At the first try the extra pages must not cost a table newer than all that have to go. */
	if (rc == 1) {
		newest = newest_of(taken, c.count);
		if (find_window(&c, &l, pages + (SPARE_PAGES << tries), taken, &ignored, err) < 1 ||
		    (!tries && newest_of(taken, c.count) > newest))
			rc = find_window(&c, &l, pages, taken, &ignored, err);
	} else if (!rc && !c.count) {
		rc = err_set(err, ERR_LIMIT, "the store is full of pinned tables");
	} else if (!rc) {
		rc = err_set(err, ERR_LIMIT,
			     "no room in the store for %llu bytes: even without all tables that "
			     "are not pinned, only %llu would lie side by side",
			     (unsigned long long)needed,
			     (unsigned long long)(largest * l.page_len));
	}
	if (rc >= 0)
		rc = purge_taken(s, &c, taken, err);
out:
	free(l.free_pages);
	return rc;
}

int store_fit(struct store *s, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&s->writer);
	if (stored_bytes(s) > s->max_bytes)
		rc = evict_tables(s, stored_bytes(s) - s->max_bytes, 0, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

/*
 * Waits and commits again. Pages that a commit frees become usable only after the next one, and not
 * before the snapshots that see them have ended. Those last as long as a request, so waiting is
 * better than evicting more.
 */
static int retry_commit(struct store *s, const struct kv_write *writes, size_t count,
			struct err *err)
{
	static const char tick_key[] = "tick";
	uint8_t number[STORE_NUMBER_LEN];
	struct kv_write tick = {
		KV_META, {tick_key, sizeof(tick_key) - 1}, {number, sizeof(number)}};

	store_number_encode(s->next_number, number);
	s->kv->ops->settle(s->kv, SETTLE_MS);
	TRY(s->kv->ops->commit(s->kv, &tick, 1, err));
	return s->kv->ops->commit(s->kv, writes, count, err);
}

/* Returns whether other processes read the store throughout SETTLE_MS. */
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

/* Returns the length of the longest value. Only a long value needs pages side by side; everything
 * else fits into single free pages. */
static uint64_t longest_value(const struct kv_write *writes, size_t count)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < count; i++)
		if (writes[i].value.p && writes[i].value.len > longest)
			longest = writes[i].value.len;
	return longest;
}

int store_commit(struct store *s, const struct kv_write *writes, size_t count, uint64_t needed,
		 struct err *err)
{
	int rc = s->kv->ops->commit(s->kv, writes, count, err);

	for (int round = 0; rc == ERR_LIMIT && round < EVICTION_ROUNDS; round++) {
		bool cleared = s->kv->ops->maintain(s->kv);

		/* While a backup lasts, no page becomes free, however many tables are evicted. */
		if (!cleared && is_read_by_others(s))
			return err_set(err, ERR_UNAVAILABLE,
				       "the store is full, and another process reads it (a "
				       "backup?): there is no room until that ends");
		/*
		 * The snapshot of a dead process, if one was cleared, may have held all pages that
		 * are needed; otherwise tables are evicted. If none may be evicted, the pages that
		 * this put replaces may become free once the present requests have ended.
		 */
		if (cleared)
			rc = 0;
		else if (s->kv->ops->layout)
			rc = evict_side_by_side(s, longest_value(writes, count), round, err);
		else
			rc = evict_tables(s, needed << round, needed, err);
		if (rc < 0 && (rc != ERR_LIMIT || round))
			return rc;
		rc = retry_commit(s, writes, count, err);
	}
	return rc;
}

/* Deletes a record without tables, and the aliases of its id. */
static int forget_record(struct store *s, const struct build_id *id, struct err *err)
{
	_cleanup_(store_id_alias_change_done) struct store_id_alias_change aliases =
		STORE_ID_ALIAS_CHANGE_INIT;
	struct kv_write writes[1 + ARRAY_LEN(aliases.writes)] = {
		{KV_BINARIES, store_key_of(id), {NULL, 0}}};
	struct store_read *r;
	int rc;

	TRY(store_read_begin(s, &r, err));
	store_id_alias_drop(r, id, &aliases);
	store_read_end(r);
	memcpy(writes + 1, aliases.writes, aliases.count * sizeof(writes[0]));
	rc = s->kv->ops->commit(s->kv, writes, 1 + aliases.count, err);
	if (!rc)
		s->tombstone_count--;
	return rc;
}

/* Forgets the oldest eighth of the records without tables, if there are too many. The caller holds
 * `writer`. */
int store_trim_tombstones(struct store *s, struct err *err)
{
	_cleanup_(candidates_done) struct candidates c = {0};
	int rc;

	if (s->tombstone_count <= LIMIT_TOMBSTONES)
		return 0;
	rc = collect_candidates(s, false, NULL, &c, err);
	for (size_t i = 0; !rc && i < c.count && i < LIMIT_TOMBSTONES / 8; i++)
		rc = forget_record(s, &c.rows[i].id, err);
	return rc;
}
