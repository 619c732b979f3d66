/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers ids that were asked for and have no table. The number of ids, the bytes of each and the
 * number of batch ids are bounded. */
#include <endian.h>
#include <string.h>

#include "arena.h"
#include "limits.h"
#include "missing_shares.h"
#include "store_priv.h"
#include "store_record.h"

/* Bytes of all paths of one record, which clients send. Hosts use few names for one binary. */
#define LIMIT_MISSING_PATHS_LEN 2048
#define RECORD_LEN              (LIMIT_MISSING_PATHS_LEN + 128)

int store_missing_get(struct store_read *r, const struct build_id *id, struct store_missing *ret,
		      struct err *err)
{
	struct kv_bytes value;
	int rc = r->s->kv->ops->get(r->kv, KV_MISSING, store_key_of(id), &value, err);

	if (rc <= 0)
		return rc;
	rc = store_missing_decode(ret, store_key_of(id), value, err);
	if (rc)
		store_found_damage(r->s);
	return rc ? rc : 1;
}

int store_missing_next(struct store_read *r, const struct build_id *after,
		       struct store_missing *ret, struct err *err)
{
	struct kv_bytes at = {NULL, 0}, value;

	if (after)
		at = store_key_of(after);
	for (;;) {
		int rc = r->s->kv->ops->next(r->kv, KV_MISSING, at, &at, &value, err);

		if (rc <= 0)
			return rc;
		if (!store_missing_decode(ret, at, value, NULL))
			return 1;
		store_found_damage(r->s);
	}
}

int store_missing_load(struct store *s, struct store_read *r, struct err *err)
{
	const struct build_id *after = NULL;
	struct kv_bytes key = {NULL, 0}, value;
	struct store_missing m;
	struct build_id at;
	uint64_t number;
	bool first = true;
	int rc;

	while ((rc = store_missing_next(r, after, &m, err)) == 1) {
		at = m.id;
		after = &at;
		s->stat.missing_count++;
	}
	while (rc == 0 && s->kv->ops->next(r->kv, KV_BATCH_ORDER, key, &key, &value, err) == 1) {
		if (key.len != sizeof(number))
			continue;
		memcpy(&number, key.p, sizeof(number));
		number = be64toh(number);
		if (first)
			s->batch_first = number;
		first = false;
		s->batch_next = number + 1;
	}
	return rc;
}

/* --- writing: all changes of a batch are gathered, then committed as one --------------------- */

struct change {
	struct arena arena; /* holds keys and values */
	struct kv_write *writes;
	size_t count, cap;
	int64_t added; /* new ids, less those forgotten */
};

static void change_done(struct change *c)
{
	arena_done(&c->arena);
	free(c->writes);
}

static int change_add(struct change *c, enum kv_table table, struct kv_bytes key,
		      struct kv_bytes value, struct err *err)
{
	struct kv_write w = {table, key, value};

	w.key.p = arena_copy(&c->arena, key.p, key.len);
	if (value.p)
		w.value.p = arena_copy(&c->arena, value.p, value.len);
	if (!w.key.p || (value.p && !w.value.p) ||
	    !GROW(c->writes, &c->cap, c->count + 1, SIZE_MAX))
		return err_no_memory(err);
	c->writes[c->count++] = w;
	return 0;
}

/* Adds a path that is new, if there is room. */
static void add_path(struct store_missing *m, struct kv_bytes path)
{
	size_t total = path.len;

	if (!path.len || m->path_count == ARRAY_LEN(m->paths))
		return;
	for (size_t i = 0; i < m->path_count; i++) {
		if (m->paths[i].len == path.len && !memcmp(m->paths[i].p, path.p, path.len))
			return;
		total += m->paths[i].len;
	}
	if (total <= LIMIT_MISSING_PATHS_LEN)
		m->paths[m->path_count++] = path;
}

/* The fate of a note, which is decided for all notes before the first is written. */
struct plan {
	bool skip;    /* the table has come, or there is no room */
	bool is_new;  /* the id has no row yet */
	bool is_seen; /* read_rows() has found its row */
	uint32_t client;
};

static int plan_note(struct store_read *r, const struct store_missing *n, struct plan *plan,
		     struct err *err)
{
	struct build_id id = store_resolve_alias(r, &n->id);
	struct store_record record;
	struct store_missing m;
	struct kv_bytes value;
	int rc = r->s->kv->ops->get(r->kv, KV_MISSING, store_key_of(&n->id), &value, err);

	if (rc < 0)
		return rc;
	plan->skip = !n->has_table && store_get_record(r, &id, &record, NULL) == 1 &&
		     record.binary.status == STORE_READY;
	plan->is_new = rc == 0;
	/* A new record replaces a damaged one. */
	plan->client = rc && !store_missing_decode(&m, store_key_of(&n->id), value, NULL)
			       ? m.client
			       : n->client;
	return 0;
}

static int write_missing_note(struct store_read *r, struct change *c, const struct store_missing *n,
			      const struct plan *plan, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(RECORD_LEN);
	struct store_missing m;
	struct kv_bytes value;
	int rc = r->s->kv->ops->get(r->kv, KV_MISSING, store_key_of(&n->id), &value, err);

	if (rc < 0)
		return rc;
	if (rc == 0 || store_missing_decode(&m, store_key_of(&n->id), value, NULL))
		m = (struct store_missing){.id = n->id, .first_ns = n->first_ns};
	m.client = plan->client;
	add_capped_u64(&m.weight, n->weight);
	if (n->last_ns > m.last_ns)
		m.last_ns = n->last_ns;
	for (size_t i = 0; i < n->path_count; i++)
		add_path(&m, n->paths[i]);
	if (!store_missing_encode(&m, &out))
		return err_no_memory(err);
	return change_add(c, KV_MISSING, store_key_of(&n->id), (struct kv_bytes){out.p, out.len},
			  err);
}

struct rows {
	struct missing_row *rows;
	size_t count, cap;
};

static void rows_done(struct rows *rows)
{
	free(rows->rows);
}

/* Adds a row. n is its note, or NULL. */
static int add_missing_row(struct rows *rows, const struct store_missing *m,
			   const struct store_missing *n, uint32_t note, struct err *err)
{
	struct missing_row *row;

	if (!GROW(rows->rows, &rows->cap, rows->count + 1, SIZE_MAX))
		return err_no_memory(err);
	row = &rows->rows[rows->count++];
	*row = (struct missing_row){.id = m->id,
				    .weight = m->weight,
				    .last_ns = m->last_ns,
				    .client = m->client,
				    .note = note};
	if (!n)
		return 0;
	row->is_asked = true;
	row->asked_by = n->client;
	if (n != m)
		add_capped_u64(&row->weight, n->weight);
	return 0;
}

/* Lists all rows as they will be with the notes. */
static int read_rows(struct store_read *r, const struct store_pending *p, struct plan *plans,
		     struct rows *rows, struct err *err)
{
	const struct build_id *after = NULL;
	struct store_missing m;
	struct build_id at;
	int rc;

	while ((rc = store_missing_next(r, after, &m, err)) == 1) {
		uint32_t note = intern_find(&p->ids, m.id.bytes, m.id.len);
		bool is_noted = note != INTERN_FULL && !plans[note].skip;

		at = m.id;
		after = &at;
		if (is_noted)
			plans[note].is_seen = true;
		TRY(add_missing_row(rows, &m, is_noted ? &p->notes[note] : NULL, note, err));
	}
	if (rc)
		return rc;
	for (uint32_t i = 0; i < p->ids.count; i++)
		if (!plans[i].skip && !plans[i].is_seen)
			TRY(add_missing_row(rows, &p->notes[i], &p->notes[i], i, err));
	return 0;
}

/* Decides, when the table is full, whose share each row is in, and which rows go. */
static int share_rows(struct store_read *r, struct change *c, const struct store_pending *p,
		      struct plan *plans, struct err *err)
{
	_cleanup_(rows_done) struct rows rows = {NULL, 0, 0};

	TRY(read_rows(r, p, plans, &rows, err));
	missing_shares_cut(rows.rows, rows.count, LIMIT_MISSING_IDS);
	for (size_t i = 0; i < rows.count; i++) {
		const struct missing_row *row = &rows.rows[i];

		if (row->is_asked) {
			plans[row->note].client = row->client;
			plans[row->note].skip = row->gone;
		}
		if (!row->gone)
			continue;
		c->added--;
		if (!row->is_asked || !plans[row->note].is_new)
			TRY(change_add(c, KV_MISSING, store_key_of(&row->id),
				       (struct kv_bytes){NULL, 0}, err));
	}
	return 0;
}

/* Adds the gathered notes to the change. */
static int note_rows(struct store_read *r, struct change *c, const struct store_pending *p,
		     struct err *err)
{
	size_t count = p->ids.count;
	_cleanup_(freep) struct plan *plans = calloc(count + 1, sizeof(*plans));

	if (!plans)
		return err_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		TRY(plan_note(r, &p->notes[i], &plans[i], err));
		c->added += !plans[i].skip && plans[i].is_new;
	}
	if ((int64_t)r->s->stat.missing_count + c->added >= (int64_t)LIMIT_MISSING_IDS)
		TRY(share_rows(r, c, p, plans, err));
	for (size_t i = 0; i < count; i++)
		if (!plans[i].skip)
			TRY(write_missing_note(r, c, &p->notes[i], &plans[i], err));
	return 0;
}

/* Remembers a new batch id, and forgets the oldest one if there are LIMIT_BATCH_IDS. */
static int remember_batch(struct store_read *r, struct change *c, struct kv_bytes batch_id,
			  uint64_t *first, uint64_t *next, struct err *err)
{
	struct store *s = r->s;
	uint8_t number[STORE_NUMBER_LEN];
	struct kv_bytes old;
	uint64_t big_endian;

	if (*next - *first >= LIMIT_BATCH_IDS) {
		struct kv_bytes key = {&big_endian, sizeof(big_endian)};

		big_endian = htobe64((*first)++);
		if (s->kv->ops->get(r->kv, KV_BATCH_ORDER, key, &old, NULL) == 1 && old.len)
			TRY(change_add(c, KV_BATCHES, old, (struct kv_bytes){NULL, 0}, err));
		TRY(change_add(c, KV_BATCH_ORDER, key, (struct kv_bytes){NULL, 0}, err));
	}
	store_number_encode(*next, number);
	TRY(change_add(c, KV_BATCHES, batch_id, (struct kv_bytes){number, sizeof(number)}, err));
	big_endian = htobe64((*next)++);
	return change_add(c, KV_BATCH_ORDER, (struct kv_bytes){&big_endian, sizeof(big_endian)},
			  batch_id, err);
}

/* Gathers the writes for everything that is flushing. */
static int note_pending(struct store_read *r, struct change *c, const struct store_pending *p,
			uint64_t *first, uint64_t *next, struct err *err)
{
	for (uint32_t i = 0; i < p->batches.count; i++) {
		struct kv_bytes id;

		id.p = intern_get(&p->batches, i, &id.len);
		TRY(remember_batch(r, c, id, first, next, err));
	}
	return note_rows(r, c, p, err);
}

/* Commits everything that is flushing, at once. */
static int note_all(struct store *s, struct err *err)
{
	_cleanup_(change_done) struct change c = {.arena = ARENA_INIT(SIZE_MAX)};
	uint64_t first = s->batch_first, next = s->batch_next;
	struct store_read *r;
	int rc;

	TRY(store_read_begin(s, &r, err));
	rc = note_pending(r, &c, &s->flushing, &first, &next, err);
	store_read_end(r);
	if (rc)
		return rc;
	if (c.count)
		TRY(store_commit(s, c.writes, c.count, c.arena.used, err));
	s->batch_first = first;
	s->batch_next = next;
	pthread_mutex_lock(&s->lock);
	s->stat.missing_count = (uint64_t)((int64_t)s->stat.missing_count + c.added);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* --- gathered in memory ---------------------------------------------------------------------- */

enum {
	PENDING_IDS = 16384, /* twice the modules of a batch */
	PENDING_BATCHES = 4096,
	PENDING_PATHS_LEN = 4 << 20,
};

void store_pending_init(struct store_pending *p)
{
	*p = (struct store_pending){
		.ids = INTERN_INIT(PENDING_IDS, PENDING_IDS * BUILD_ID_MAX),
		.batches = INTERN_INIT(PENDING_BATCHES, PENDING_BATCHES * LIMIT_BATCH_ID_LEN),
		.paths = ARENA_INIT(PENDING_PATHS_LEN),
	};
}

void store_pending_done(struct store_pending *p)
{
	intern_done(&p->ids);
	intern_done(&p->batches);
	arena_done(&p->paths);
	free(p->notes);
}

static void pending_reset(struct store_pending *p)
{
	intern_reset(&p->ids);
	intern_reset(&p->batches);
	arena_reset(&p->paths);
}

/* Adds a copy of a new path to the note, if there is room. */
static void gather_path(struct store_pending *p, struct store_missing *m, struct kv_bytes path)
{
	size_t before = m->path_count;

	add_path(m, path);
	if (m->path_count == before)
		return;
	m->paths[before].p = arena_copy(&p->paths, path.p, path.len);
	if (!m->paths[before].p)
		m->path_count--;
}

/* Adds a batch to the notes in memory. Notes that do not fit are lost, at most those of one batch.
 * The caller holds `lock`. */
static void gather_missing(struct store_pending *p, struct kv_bytes batch_id,
			   const struct store_missing *notes, size_t count)
{
	if (batch_id.len)
		intern_add(&p->batches, batch_id.p, batch_id.len, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct store_missing *n = &notes[i];
		bool is_new;
		uint32_t at = intern_add(&p->ids, n->id.bytes, n->id.len, &is_new);
		struct store_missing *m;

		if (at == INTERN_FULL || !GROW(p->notes, &p->notes_cap, p->ids.count, PENDING_IDS))
			return;
		m = &p->notes[at];
		if (is_new)
			*m = (struct store_missing){.id = n->id,
						    .client = n->client,
						    .first_ns = n->last_ns,
						    .has_table = n->has_table};
		add_capped_u64(&m->weight, n->weight);
		if (n->last_ns > m->last_ns)
			m->last_ns = n->last_ns;
		if (n->path_count)
			gather_path(p, m, n->paths[0]);
	}
}

static bool was_counted(struct store_read *r, struct kv_bytes batch_id)
{
	struct store *s = r->s;
	struct kv_bytes value;

	return intern_find(&s->pending.batches, batch_id.p, batch_id.len) != INTERN_FULL ||
	       intern_find(&s->flushing.batches, batch_id.p, batch_id.len) != INTERN_FULL ||
	       s->kv->ops->get(r->kv, KV_BATCHES, batch_id, &value, NULL) == 1;
}

/* Gathers a batch that was not counted yet. Gathers nothing and sets *ret_stale if a flush came
 * between the snapshot and the lock, because then neither shows the batches of the flush. */
static int gather_batch(struct store *s, struct kv_bytes batch_id,
			const struct store_missing *notes, size_t count, bool *ret_stale,
			struct err *err)
{
	struct store_read *r;
	uint64_t flushes;

	pthread_mutex_lock(&s->lock);
	flushes = s->flush_count;
	pthread_mutex_unlock(&s->lock);
	TRY(store_read_begin(s, &r, err));
	pthread_mutex_lock(&s->lock);
	*ret_stale = s->flush_count != flushes;
	if (!*ret_stale && !(batch_id.len && was_counted(r, batch_id)))
		gather_missing(&s->pending, batch_id, notes, count);
	pthread_mutex_unlock(&s->lock);
	store_read_end(r);
	return 0;
}

int store_flush_missing(struct store *s, struct err *err)
{
	struct store_pending taken;
	int rc;

	pthread_mutex_lock(&s->writer);
	pthread_mutex_lock(&s->lock);
	taken = s->pending;
	s->pending = s->flushing;
	s->flushing = taken;
	pthread_mutex_unlock(&s->lock);
	rc = s->flushing.ids.count || s->flushing.batches.count ? note_all(s, err) : 0;
	pthread_mutex_lock(&s->lock);
	pending_reset(&s->flushing);
	s->flush_count++;
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

int store_note_missing(struct store *s, struct kv_bytes batch_id, const struct store_missing *notes,
		       size_t count, struct err *err)
{
	bool full, stale;
	int rc;

	if (!count)
		return 0;
	if (batch_id.len > LIMIT_BATCH_ID_LEN)
		return err_set(err, ERR_USAGE, "a batch id of %zu bytes", batch_id.len);
	do {
		rc = gather_batch(s, batch_id, notes, count, &stale, err);
	} while (!rc && stale);
	pthread_mutex_lock(&s->lock);
	full = s->pending.ids.count > PENDING_IDS / 2 ||
	       s->pending.batches.count > PENDING_BATCHES / 2 ||
	       s->pending.paths.used > PENDING_PATHS_LEN / 2;
	pthread_mutex_unlock(&s->lock);
	return rc || !full ? rc : store_flush_missing(s, err);
}
