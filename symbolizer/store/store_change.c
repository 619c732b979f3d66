/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the store: puts, pins, numbers and times of use. */
#include <string.h>

#include "crc32c.h"
#include "limits.h"
#include "store_priv.h"

static int put_record(struct store *s, const struct store_binary *b, const void *table,
		      struct err *err)
{
	_cleanup_(store_id_alias_change_done) struct store_id_alias_change aliases =
		STORE_ID_ALIAS_CHANGE_INIT;
	_cleanup_(buf_done) struct buf out = BUF_INIT(STORE_RECORD_MAX);
	bool ready = b->status == STORE_READY, is_known, fits = true, had_missing, named;
	struct store_record record = {0}, old;
	struct store_record_table own = {.format = s->format,
					 .generation = b->generation,
					 .len = b->table_len},
				  gone = {0};
	struct store_key key = store_table_key(&b->id, s->format), gone_key;
	struct kv_bytes none = {NULL, 0};
	struct store_read *r;
	size_t count;

	TRY(store_read_begin(s, &r, err));
	/* A damaged record is overwritten; a scrub finds its other tables later. */
	is_known = store_get_record(r, &b->id, &old, NULL) == 1;
	had_missing = s->kv->ops->get(r->kv, KV_MISSING, store_key_of(&b->id), &none, NULL) == 1;
	named = store_id_alias_add(r, &b->id, b->aliases, ready, &aliases);
	store_read_end(r);
	if (!named)
		return err_no_memory(err);
	if (is_known)
		record = old;
	record.binary = *b;
	record.written = b->status;
	store_record_drop(&record, s->format);
	if (ready) {
		own.number = s->next_number++;
		own.crc = crc32c(0, table, b->table_len);
		fits = store_record_add(&record, &own, &gone);
	}
	gone_key = store_table_key(&b->id, gone.format);
	store_record_see(&record, s->format);
	if (!store_record_encode(&record, &out))
		return err_set(err, ERR_LIMIT, "a record of more than %llu bytes",
			       (unsigned long long)LIMIT_BINARY_META_LEN);

	struct kv_write writes[5 + ARRAY_LEN(aliases.writes)] = {
		{KV_BINARIES, store_key_of(&b->id), {out.p, out.len}},
		{KV_TABLES,
		 {key.bytes, key.len},
		 {ready ? table : NULL, ready ? (size_t)b->table_len : 0}},
		{KV_USED, store_key_of(&b->id), {NULL, 0}},
		{KV_MISSING, store_key_of(&b->id), {NULL, 0}},
		{KV_TABLES, {gone_key.bytes, gone_key.len}, {NULL, 0}},
	};

	count = ready ? 5u - fits : 3u;
	memcpy(writes + count, aliases.writes, aliases.count * sizeof(writes[0]));
	TRY(store_commit(s, writes, count + aliases.count,
			 out.len + aliases.bytes + (ready ? b->table_len : 0), err));
	store_account(s, is_known ? &old : NULL, &record);
	store_count_found(s, aliases.missing_gone + (ready && had_missing));
	return store_trim_tombstones(s, err);
}

void store_count_found(struct store *s, size_t count)
{
	pthread_mutex_lock(&s->lock);
	s->stat.missing_count -= count;
	pthread_mutex_unlock(&s->lock);
}

int store_put(struct store *s, const struct store_binary *b, const void *table, struct err *err)
{
	int rc;

	if (b->status == STORE_READY && !s->kv->ops->has_room(s->kv, b->table_len))
		return err_set(err, ERR_LIMIT, "not enough free disk space for the store to grow");
	if (b->status == STORE_READY && b->table_len > s->max_bytes)
		return err_set(err, ERR_LIMIT, "a table of %llu bytes, the store has %llu",
			       (unsigned long long)b->table_len, (unsigned long long)s->max_bytes);
	pthread_mutex_lock(&s->writer);
	s->put_id = &b->id;
	rc = put_record(s, b, table, err);
	s->put_id = NULL;
	pthread_mutex_unlock(&s->writer);
	return rc;
}

int store_purge(struct store *s, const struct build_id *id, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = store_purge_locked(s, id, STORE_ALL_FORMATS, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

int store_retire(struct store *s, const struct build_id *id, const void *meta, size_t meta_len,
		 struct err *err)
{
	int rc;

	if (meta_len > LIMIT_BINARY_META_LEN)
		return err_set(err, ERR_LIMIT, "a record of more than %llu bytes",
			       (unsigned long long)LIMIT_BINARY_META_LEN);
	pthread_mutex_lock(&s->writer);
	rc = store_retire_locked(s, id, (struct kv_bytes){meta, meta_len}, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

static bool set_pinned(struct store_record *r, const void *arg)
{
	r->binary.pinned = *(const bool *)arg;
	return true;
}

static int pin_binary(struct store *s, const struct build_id *id, bool pinned, struct err *err)
{
	struct store_edit edit = {.out = BUF_INIT(STORE_RECORD_MAX)};
	struct kv_write write = {KV_BINARIES, store_key_of(id), {NULL, 0}};
	int rc = store_edit(s, id, set_pinned, &pinned, &edit, err);

	if (rc == 1 && edit.old.binary.pinned != pinned) {
		write.value = (struct kv_bytes){edit.out.p, edit.out.len};
		rc = store_commit(s, &write, 1, edit.out.len, err);
		rc = rc ? rc : 1;
	}
	buf_done(&edit.out);
	return rc;
}

int store_pin(struct store *s, const struct build_id *id, bool pinned, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = pin_binary(s, id, pinned, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

int store_meta_get(struct store *s, const char *name, uint64_t *ret, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	struct kv_bytes value = {NULL, 0};
	int rc = store_read_begin(s, &r, err);

	if (!rc)
		rc = s->kv->ops->get(r->kv, KV_META, (struct kv_bytes){name, strlen(name)}, &value,
				     err);
	if (rc == 1 && !store_number_decode(value, ret))
		return err_set(err, ERR_DATA, "the store: '%s' is damaged", name);
	return rc;
}

int store_meta_put(struct store *s, const char *name, uint64_t n, struct err *err)
{
	uint8_t number[STORE_NUMBER_LEN];
	struct kv_write write = {KV_META, {name, strlen(name)}, {number, sizeof(number)}};
	int rc;

	store_number_encode(n, number);
	pthread_mutex_lock(&s->writer);
	rc = store_commit(s, &write, 1, sizeof(number), err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

void store_note_used(struct store *s, const struct build_id *id, uint64_t now_ns)
{
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	i = intern_add(&s->used, id->bytes, id->len, NULL);
	if (i != INTERN_FULL && GROW(s->used_ns, &s->used_cap, i + 1, LIMIT_NOTED_USES))
		s->used_ns[i] = now_ns;
	pthread_mutex_unlock(&s->lock);
}

void store_write_used(struct store *s)
{
	_cleanup_(freep) struct kv_write *writes = NULL;
	_cleanup_(freep) uint8_t *copies = NULL; /* the key and value of each write */
	const size_t each = BUILD_ID_MAX + STORE_NUMBER_LEN;
	size_t count;

	pthread_mutex_lock(&s->lock);
	count = s->used.count;
	writes = calloc(count + 1, sizeof(*writes));
	copies = calloc(count + 1, each);
	for (uint32_t i = 0; writes && copies && i < count; i++) {
		uint8_t *at = copies + i * each;
		size_t len;
		const void *key = intern_get(&s->used, i, &len);

		memcpy(at, key, len);
		store_number_encode(s->used_ns[i], at + BUILD_ID_MAX);
		writes[i] = (struct kv_write){
			KV_USED, {at, len}, {at + BUILD_ID_MAX, STORE_NUMBER_LEN}};
	}
	intern_reset(&s->used);
	pthread_mutex_unlock(&s->lock);
	if (!writes || !copies || !count)
		return;
	pthread_mutex_lock(&s->writer);
	s->kv->ops->commit(s->kv, writes, count, NULL);
	pthread_mutex_unlock(&s->writer);
}

void store_maintain(struct store *s)
{
	store_write_used(s);
	store_forget_rechecks(s);
	s->kv->ops->maintain(s->kv);
}
