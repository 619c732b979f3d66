/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB notices no damaged value, and a damaged page of its tree may hide keys without a word. So
 * all tables are read now and then, and the ids of tables and of records are held against each
 * other.
 */
#include "store_priv.h"

static bool is_sound(struct store_read *r, const struct store_record *record)
{
	const struct build_id *id = &record->binary.id;
	struct kv_bytes table;

	return r->s->kv->ops->get(r->kv, KV_TABLES, key_of(id), &table, NULL) == 1 &&
	       table.len == record->binary.table_len && store_sum_is(table, record->table_crc);
}

/* The next record that says READY, in a snapshot of its own: 1 with whether its table is sound, 0
 * at the end. */
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
		if (record.binary.status == STORE_READY)
			break;
		rc = 0;
	}
	if (rc != 1)
		return rc;
	*at = id;
	*ret_len = record.binary.table_len;
	*ret_sound = is_sound(r, &record);
	return 1;
}

/* The next table behind *after (NULL: the first) without a record that says READY: 1, or 0. */
static int find_orphan(struct store *s, const struct build_id *after, struct build_id *ret,
		       struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	struct kv_bytes key = {NULL, 0}, value;
	struct store_record record;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	if (after)
		key = key_of(after);
	while ((rc = s->kv->ops->next(r->kv, KV_TABLES, key, &key, &value, err)) == 1) {
		if (build_id_set(ret, BUILD_ID_GNU, key.p, key.len, NULL))
			continue;
		if (store_get_record(r, ret, &record, NULL) != 1 ||
		    record.binary.status != STORE_READY)
			return 1;
	}
	return rc;
}

/* Nothing says what it is: it goes. */
static bool drop_orphan(struct store *s, const struct build_id *id)
{
	struct kv_write gone = {KV_TABLES, key_of(id), {NULL, 0}};
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = s->kv->ops->commit(s->kv, &gone, 1, NULL);
	pthread_mutex_unlock(&s->writer);
	return !rc;
}

static void count(struct store *s, bool damaged)
{
	pthread_mutex_lock(&s->lock);
	if (damaged)
		s->stat.damaged_count++;
	else
		s->stat.scrub_rounds++;
	pthread_mutex_unlock(&s->lock);
}

int store_purge_damaged(struct store *s, const struct build_id *id, struct err *err)
{
	struct store_record record;
	struct store_read *r;
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = store_read_begin(s, &r, err);
	if (!rc) {
		/* A put may have brought a sound one since it was looked at. */
		rc = store_get_record(r, id, &record, err);
		if (rc == 1 && (record.binary.status != STORE_READY || is_sound(r, &record)))
			rc = 0;
		store_read_end(r);
	}
	if (rc == 1)
		rc = store_purge_locked(s, id, err);
	pthread_mutex_unlock(&s->writer);
	if (rc == 1)
		count(s, true);
	return rc;
}

size_t store_scrub(struct store *s, uint64_t max_bytes,
		   void (*damaged)(void *ctx, const struct build_id *id), void *ctx)
{
	uint64_t done = 0, len;
	size_t found = 0;
	struct build_id id;
	bool sound;

	while (done < max_bytes) {
		if (check_next(s, &s->scrub_at, s->scrub_started, &sound, &len, NULL) != 1) {
			s->scrub_started = false;
			for (; find_orphan(s, NULL, &id, NULL) == 1 && drop_orphan(s, &id); found++)
				damaged(ctx, &id);
			count(s, false);
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
	struct build_id at, orphan;
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
	started = false;
	for (; (rc = find_orphan(s, started ? &at : NULL, &orphan, err)) == 1; started = true) {
		at = orphan;
		tell(ctx, &at, "a table without a record");
		found++;
	}
	*ret_found = found;
	return rc;
}

int store_copy(struct store *s, int fd, struct err *err)
{
	return s->kv->ops->copy(s->kv, fd, err);
}
