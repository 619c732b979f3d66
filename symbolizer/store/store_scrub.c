/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scrubs the store. LMDB does not notice a damaged value, and a damaged page of its trees may hide
 * keys. So all tables are read now and then, and the ids of tables are compared with those of
 * records.
 */
#include <string.h>

#include "limits.h"
#include "store_priv.h"

static bool table_is_sound(struct store_read *r, const struct store_record *record,
			   const struct store_record_table *t)
{
	struct kv_bytes table;

	return store_table_bytes(r, &record->binary.id, t, &table, NULL) == 1 &&
	       table.len == t->len && store_sum_is(table, t->crc);
}

/* Returns the format of the record's first damaged table; 0 if there is none. */
static uint16_t find_damaged(struct store_read *r, const struct store_record *record)
{
	for (size_t i = 0; i < record->table_count; i++)
		if (!table_is_sound(r, record, &record->tables[i]))
			return record->tables[i].format;
	return 0;
}

/* Checks the tables, of all formats, of the next record that has any, in a snapshot of its own.
 * Returns 1 and whether they are sound, or 0 at the end. */
static int check_next(struct store *s, struct build_id *at, bool started, bool *ret_sound,
		      uint64_t *ret_len, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	const struct build_id *after = started ? at : NULL;
	struct store_record record = {0};
	struct build_id id = {0};
	int rc = store_read_begin(s, &r, err);

	while (!rc && (rc = store_next_record(r, after, &record, err)) == 1) {
		id = record.binary.id;
		after = &id;
		if (record.table_count)
			break;
		rc = 0;
	}
	if (rc != 1)
		return rc;
	*at = id;
	*ret_len = record.binary.table_len + record.binary.other_len;
	*ret_sound = !find_damaged(r, &record);
	return 1;
}

/* Splits a key of KV_TABLES into id and format. Returns false if it is no such key. */
static bool read_table_key(struct kv_bytes key, struct build_id *id, uint16_t *ret_format)
{
	const uint8_t *p = key.p;

	if (key.len < sizeof(*ret_format) ||
	    build_id_set(id, BUILD_ID_GNU, p, key.len - sizeof(*ret_format), NULL))
		return false;
	*ret_format = (uint16_t)(p[key.len - 2] << 8 | p[key.len - 1]);
	return true;
}

/* Finds the next table after *at (len 0: the first) that is in no record. Returns 1 with its key in
 * *at, or 0. */
static int find_orphan(struct store *s, struct store_key *at, struct build_id *ret, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	struct kv_bytes key = {at->bytes, at->len}, value;
	struct store_record record;
	uint16_t format;
	int rc;

	TRY(store_read_begin(s, &r, err));
	while ((rc = s->kv->ops->next(r->kv, KV_TABLES, key, &key, &value, err)) == 1) {
		if (!read_table_key(key, ret, &format) ||
		    (store_get_record(r, ret, &record, NULL) == 1 &&
		     store_record_table(&record, format)))
			continue;
		memcpy(at->bytes, key.p, key.len);
		at->len = key.len;
		return 1;
	}
	return rc;
}

/* Deletes a key that no record accounts for. */
static bool drop_orphan(struct store *s, enum kv_table table, const struct store_key *key)
{
	struct kv_write gone = {table, {key->bytes, key->len}, {NULL, 0}};
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = s->kv->ops->commit(s->kv, &gone, 1, NULL);
	pthread_mutex_unlock(&s->writer);
	return !rc;
}

static void count_scrubbed(struct store *s, bool damaged)
{
	pthread_mutex_lock(&s->lock);
	if (damaged)
		s->stat.damaged_count++;
	else
		s->stat.scrub_rounds++;
	pthread_mutex_unlock(&s->lock);
}

/* Purges one damaged table of the id. Returns 1, or 0 if there is none. */
static int purge_one_damaged(struct store *s, const struct build_id *id, struct err *err)
{
	struct store_record record;
	uint16_t format = 0;
	struct store_read *r;
	int rc;

	TRY(store_read_begin(s, &r, err));
	/* A put may have stored a sound table since the damage was found. */
	rc = store_get_record(r, id, &record, err);
	if (rc == 1)
		format = find_damaged(r, &record);
	store_read_end(r);
	return format ? store_purge_locked(s, id, format, err) : rc < 0 ? rc : 0;
}

int store_purge_damaged(struct store *s, const struct build_id *id, struct err *err)
{
	size_t found = 0;
	int rc;

	pthread_mutex_lock(&s->writer);
	while ((rc = purge_one_damaged(s, id, err)) == 1) {
		count_scrubbed(s, true);
		found++;
	}
	pthread_mutex_unlock(&s->writer);
	if (found) {
		pthread_mutex_lock(&s->lock);
		if (intern_add(&s->lost, id->bytes, id->len, NULL) == INTERN_FULL)
			intern_reset(&s->lost);
		pthread_mutex_unlock(&s->lock);
	}
	return found ? 1 : rc;
}

bool store_was_lost(struct store *s, const struct build_id *id)
{
	bool was;

	pthread_mutex_lock(&s->lock);
	was = intern_find(&s->lost, id->bytes, id->len) != INTERN_FULL;
	pthread_mutex_unlock(&s->lock);
	return was;
}

/* Returns whether the table may be read whole now. */
static bool take_recheck(struct store *s, const struct store_record_table *t)
{
	bool may;

	pthread_mutex_lock(&s->lock);
	may = (t->len <= s->recheck_left || s->recheck_left == LIMIT_SCRUB_LEN) &&
	      intern_find(&s->rechecked, &t->number, sizeof(t->number)) == INTERN_FULL &&
	      intern_add(&s->rechecked, &t->number, sizeof(t->number), NULL) != INTERN_FULL;
	if (may)
		s->recheck_left -= t->len < s->recheck_left ? t->len : s->recheck_left;
	pthread_mutex_unlock(&s->lock);
	return may;
}

int store_recheck(struct store_read *r, const struct build_id *id, struct err *err)
{
	const struct store_record_table *own;
	struct store_record record;
	struct kv_bytes table;
	int rc = store_get_record(r, id, &record, err);

	if (rc <= 0)
		return rc;
	own = store_record_table(&record, r->s->format);
	if (!own || !take_recheck(r->s, own))
		return 0;
	rc = store_table_bytes(r, id, own, &table, err);
	if (rc == 1 && table.len == own->len && store_sum_is(table, own->crc))
		return 0;
	pthread_mutex_lock(&r->s->lock);
	intern_reset(&r->s->verified);
	pthread_mutex_unlock(&r->s->lock);
	return rc < 0 ? rc : err_set(err, ERR_DATA, "a table is damaged");
}

void store_forget_rechecks(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	intern_reset(&s->rechecked);
	s->recheck_left = LIMIT_SCRUB_LEN;
	pthread_mutex_unlock(&s->lock);
}

size_t store_scrub(struct store *s, uint64_t max_bytes,
		   void (*damaged)(void *ctx, const struct build_id *id), void *ctx)
{
	struct store_key orphan = {.len = 0}, alias = {.len = 0};
	uint64_t done = 0, len;
	size_t found = 0;
	struct build_id id;
	bool sound;

	while (done < max_bytes) {
		if (check_next(s, &s->scrub_at, s->scrub_started, &sound, &len, NULL) != 1) {
			s->scrub_started = false;
			/* If pages are damaged, a record that is not found is no reason to purge
			 * its table. */
			for (; !store_is_damaged(s) && find_orphan(s, &orphan, &id, NULL) == 1 &&
			       drop_orphan(s, KV_TABLES, &orphan);
			     found++)
				damaged(ctx, &id);
			/* An alias is a smaller loss: the file is asked for when it is offered
			 * again. */
			while (store_id_alias_find_damaged(s, &alias, &id, NULL) == 1 &&
			       drop_orphan(s, KV_META, &alias))
				;
			count_scrubbed(s, false);
			return found;
		}
		s->scrub_started = true;
		done += len + 1;
		if (!sound && store_purge_damaged(s, &s->scrub_at, NULL) == 1) {
			found++;
			damaged(ctx, &s->scrub_at);
		}
	}
	return found;
}

int store_verify(struct store *s,
		 void (*tell)(void *ctx, const struct build_id *id, const char *what), void *ctx,
		 size_t *ret_found, struct err *err)
{
	struct store_key orphan = {.len = 0}, alias = {.len = 0};
	struct build_id at;
	bool started = false, sound;
	size_t found = 0;
	uint64_t len;
	int rc;

	for (; (rc = check_next(s, &at, started, &sound, &len, err)) == 1; started = true)
		if (!sound) {
			tell(ctx, &at, "the table is damaged");
			found++;
		}
	if (rc)
		return rc;
	for (; (rc = find_orphan(s, &orphan, &at, err)) == 1;) {
		tell(ctx, &at, "a table without a record");
		found++;
	}
	for (; !rc && (rc = store_id_alias_find_damaged(s, &alias, &at, err)) == 1; rc = 0) {
		tell(ctx, &at, "hash and build id do not lead to each other");
		found++;
	}
	*ret_found = found;
	return rc;
}

int store_copy(struct store *s, int fd, struct err *err)
{
	return s->kv->ops->copy(s->kv, fd, err);
}
