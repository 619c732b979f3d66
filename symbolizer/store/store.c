/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <string.h>
#include <sys/mman.h>

#include "crc32c.h"
#include "limits.h"
#include "store_priv.h"
#include "store_record.h"

enum {
	/* Tables whose checksum is remembered: when there are more, all are checked once more. */
	LIMIT_VERIFIED_TABLES = 1 << 20,
	/* Ids whose table was damaged and removed, since the start: when there are more, they are
	 * answered as ids without a table. */
	LIMIT_LOST_IDS = 1 << 16,
};

/* --- reading --------------------------------------------------------------------------------- */

int store_read_begin(struct store *s, struct store_read **ret, struct err *err)
{
	struct store_read *r = malloc(sizeof(*r));
	int rc;

	if (!r)
		return err_no_memory(err);
	r->s = s;
	rc = s->kv->ops->read_begin(s->kv, &r->kv, err);
	if (rc) {
		free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void store_read_end(struct store_read *r)
{
	if (!r)
		return;
	r->s->kv->ops->read_end(r->kv);
	free(r);
}

/* A use noted in memory is newer than the one in the file. */
uint64_t store_last_use(struct store_read *r, const struct build_id *id)
{
	struct store *s = r->s;
	struct kv_bytes value;
	uint64_t ns = 0;
	uint32_t i;

	if (s->kv->ops->get(r->kv, KV_USED, store_key_of(id), &value, NULL) == 1 &&
	    !store_number_decode(value, &ns))
		ns = 0;
	pthread_mutex_lock(&s->lock);
	i = intern_find(&s->used, id->bytes, id->len);
	if (i != INTERN_FULL)
		ns = s->used_ns[i];
	pthread_mutex_unlock(&s->lock);
	return ns;
}

int store_get_record(struct store_read *r, const struct build_id *id, struct store_record *ret,
		     struct err *err)
{
	struct kv_bytes value;
	int rc = r->s->kv->ops->get(r->kv, KV_BINARIES, store_key_of(id), &value, err);

	if (rc <= 0)
		return rc;
	rc = store_record_decode(ret, store_key_of(id), value, r->s->format, err);
	if (rc)
		store_found_damage(r->s);
	return rc ? rc : 1;
}

int store_binary(struct store_read *r, const struct build_id *id, struct store_binary *ret,
		 struct err *err)
{
	struct store_record record;
	int rc = store_get_record(r, id, &record, err);

	if (rc <= 0)
		return rc;
	*ret = record.binary;
	ret->used_ns = store_last_use(r, id);
	return 1;
}

int store_next_record(struct store_read *r, const struct build_id *after, struct store_record *ret,
		      struct err *err)
{
	struct kv_bytes at = {NULL, 0}, value;

	if (after)
		at = store_key_of(after);
	for (;;) {
		int rc = r->s->kv->ops->next(r->kv, KV_BINARIES, at, &at, &value, err);

		if (rc <= 0)
			return rc;
		if (!store_record_decode(ret, at, value, r->s->format, NULL))
			return 1;
		store_found_damage(r->s);
	}
}

int store_binary_next(struct store_read *r, const struct build_id *after, struct store_binary *ret,
		      struct err *err)
{
	struct kv_bytes at = {NULL, 0}, value;
	struct store_record record;

	if (after)
		at = store_key_of(after);
	for (;;) {
		int rc = r->s->kv->ops->next(r->kv, KV_BINARIES, at, &at, &value, err);

		if (rc <= 0)
			return rc;
		if (!store_record_decode(&record, at, value, r->s->format, NULL)) {
			*ret = record.binary;
			ret->used_ns = store_last_use(r, &ret->id);
			return 1;
		}
		store_found_damage(r->s);
		*ret = (struct store_binary){.status = STORE_DAMAGED};
		if (!build_id_set(&ret->id, BUILD_ID_GNU, at.p, at.len, NULL))
			return 1;
	}
}

bool store_is_damaged(struct store *s)
{
	return atomic_load(&s->kv->damaged);
}

bool store_sum_is(struct kv_bytes table, uint32_t sum)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)table.p / page * page;

	/* The map has no read-ahead; without this advice the pass takes seconds. */
	if (table.len >= MIB)
		madvise((void *)start, (uintptr_t)table.p + table.len - start, MADV_WILLNEED);
	return crc32c(0, table.p, table.len) == sum;
}

int store_table_bytes(struct store_read *r, const struct build_id *id,
		      const struct store_record_table *t, struct kv_bytes *ret, struct err *err)
{
	struct store_key key = store_table_key(id, t->format);

	return r->s->kv->ops->get(r->kv, KV_TABLES, (struct kv_bytes){key.bytes, key.len}, ret,
				  err);
}

/* Returns whether the table's checksum is right, and computes it once per opening of the store. */
static bool verify_stored_table(struct store *s, const struct store_record_table *t,
				struct kv_bytes table)
{
	bool known;

	pthread_mutex_lock(&s->lock);
	known = intern_find(&s->verified, &t->number, sizeof(t->number)) != INTERN_FULL;
	pthread_mutex_unlock(&s->lock);
	if (known)
		return true;
	if (!store_sum_is(table, t->crc))
		return false;
	pthread_mutex_lock(&s->lock);
	if (intern_add(&s->verified, &t->number, sizeof(t->number), NULL) == INTERN_FULL)
		intern_reset(&s->verified);
	pthread_mutex_unlock(&s->lock);
	return true;
}

int store_table(struct store_read *r, const struct build_id *id, struct store_table *ret,
		struct err *err)
{
	char hex[BUILD_ID_HEX_MAX];
	const struct store_record_table *own;
	struct store_record record;
	struct kv_bytes table;
	int rc = store_get_record(r, id, &record, err);

	if (rc <= 0)
		return rc;
	own = store_record_table(&record, r->s->format);
	if (!own)
		return 0;
	rc = store_table_bytes(r, id, own, &table, err);
	if (rc < 0)
		return rc;
	if (rc == 0 || table.len != own->len || !verify_stored_table(r->s, own, table))
		return err_set(err, ERR_DATA, "the table of %s is damaged", build_id_hex(id, hex));
	*ret = (struct store_table){table.p, table.len, own->number};
	return 1;
}

void store_stat(struct store *s, struct store_stat *ret)
{
	struct kv_stat kv = {0};

	pthread_mutex_lock(&s->lock);
	*ret = s->stat;
	pthread_mutex_unlock(&s->lock);
	ret->max_bytes = s->max_bytes;
	s->kv->ops->stat(s->kv, &kv);
	ret->file_bytes = kv.file_bytes;
	ret->oldest_read_ns = kv.oldest_ns;
	ret->oldest_read_commits = kv.oldest_commits;
	ret->failed = kv.failed;
	ret->damaged = store_is_damaged(s);
	ret->gone = kv.gone;
}

/* --- open and close -------------------------------------------------------------------------- */

static int load_store(struct store *s, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	struct store_record record;
	struct build_id at;
	int rc;

	TRY(store_read_begin(s, &r, err));
	while ((rc = store_next_record(r, after, &record, err)) == 1) {
		at = record.binary.id;
		after = &at;
		store_account(s, NULL, &record);
		for (size_t i = 0; i < record.table_count; i++)
			if (record.tables[i].number >= s->next_number)
				s->next_number = record.tables[i].number + 1;
	}
	return rc ? rc : store_missing_load(s, r, err);
}

static int check_version(struct store *s, struct err *err)
{
	uint64_t version = 0;
	int rc = store_meta_get(s, STORE_VERSION_NAME, &version, err);

	if (rc >= 0 && version > STORE_VERSION)
		return err_set(err, ERR_UNSUPPORTED,
			       "the store is of version %llu, this program reads %d: start the "
			       "newer one, or use another data directory",
			       (unsigned long long)version, STORE_VERSION);
	if (rc == 1 && version < STORE_VERSION)
		return err_set(err, ERR_UNSUPPORTED,
			       "the store is of version %llu, from before the first release: "
			       "remove it and upload again, or use another data directory",
			       (unsigned long long)version);
	return rc < 0 ? rc : 0;
}

int store_open(struct store **ret, struct kv *kv, uint64_t max_bytes, uint16_t format,
	       struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		kv->ops->close(kv);
		return err_no_memory(err);
	}
	s->kv = kv;
	s->max_bytes = max_bytes;
	s->format = format;
	s->next_number = 1;
	s->verified = (struct intern)INTERN_INIT(LIMIT_VERIFIED_TABLES,
						 LIMIT_VERIFIED_TABLES * sizeof(uint64_t));
	s->rechecked = (struct intern)INTERN_INIT(LIMIT_VERIFIED_TABLES,
						  LIMIT_VERIFIED_TABLES * sizeof(uint64_t));
	s->recheck_left = LIMIT_SCRUB_LEN;
	s->lost = (struct intern)INTERN_INIT(LIMIT_LOST_IDS, LIMIT_LOST_IDS * BUILD_ID_MAX);
	s->used = (struct intern)INTERN_INIT(LIMIT_NOTED_USES,
					     (size_t)LIMIT_NOTED_USES * BUILD_ID_MAX);
	pthread_mutex_init(&s->writer, NULL);
	pthread_mutex_init(&s->lock, NULL);
	store_pending_init(&s->pending);
	store_pending_init(&s->flushing);
	if ((rc = check_version(s, err)) || (rc = load_store(s, err))) {
		store_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_flush_missing(s, NULL);
	store_write_used(s);
	s->kv->ops->close(s->kv);
	store_pending_done(&s->pending);
	store_pending_done(&s->flushing);
	intern_done(&s->verified);
	intern_done(&s->rechecked);
	intern_done(&s->lost);
	intern_done(&s->used);
	free(s->used_ns);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->writer);
	free(s);
}
