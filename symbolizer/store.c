/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <string.h>
#include <sys/mman.h>

#include "crc32c.h"
#include "limits.h"
#include "store_priv.h"
#include "store_record.h"

enum {
	EVICTION_ROUNDS = 8,
	PURGE_TRIES = 2,
	SETTLE_MS = 2000, /* a request takes less, also on a busy machine */
	USED_MAX = 1 << 20,
	VERIFIED_MAX = 1 << 20,
};

/* --- reading ------------------------------------------------------------------------------- */

int store_read_begin(struct store *s, struct store_read **ret, struct err *err)
{
	struct store_read *r = malloc(sizeof(*r));
	int rc;

	if (!r)
		return err_set(err, ERR_MEMORY, "out of memory");
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

static void store_read_endp(struct store_read **r)
{
	store_read_end(*r);
}

/* What is noted in memory is newer than what was written. */
static uint64_t last_use(struct store_read *r, const struct build_id *id)
{
	struct store *s = r->s;
	struct kv_bytes value;
	uint64_t ns = 0;
	uint32_t i;

	if (s->kv->ops->get(r->kv, KV_USED, key_of(id), &value, NULL) == 1 &&
	    !store_number_decode(value, &ns))
		ns = 0;
	pthread_mutex_lock(&s->lock);
	i = intern_find(&s->used, id->bytes, id->len);
	if (i != INTERN_FULL)
		ns = s->used_ns[i];
	pthread_mutex_unlock(&s->lock);
	return ns;
}

static int get_record(struct store_read *r, const struct build_id *id, struct store_record *ret,
		      struct err *err)
{
	struct kv_bytes value;
	int rc = r->s->kv->ops->get(r->kv, KV_BINARIES, key_of(id), &value, err);

	if (rc <= 0)
		return rc;
	rc = store_record_decode(ret, key_of(id), value, err);
	return rc ? rc : 1;
}

int store_binary(struct store_read *r, const struct build_id *id, struct store_binary *ret,
		 struct err *err)
{
	struct store_record record;
	int rc = get_record(r, id, &record, err);

	if (rc <= 0)
		return rc;
	*ret = record.binary;
	ret->used_ns = last_use(r, id);
	return 1;
}

static int next_record(struct store_read *r, const struct build_id *after, struct store_record *ret,
		       struct err *err)
{
	struct kv_bytes at = {NULL, 0}, value;

	if (after)
		at = key_of(after);
	for (;;) {
		int rc = r->s->kv->ops->next(r->kv, KV_BINARIES, at, &at, &value, err);

		if (rc <= 0)
			return rc;
		if (!store_record_decode(ret, at, value, NULL))
			return 1;
	}
}

int store_binary_next(struct store_read *r, const struct build_id *after, struct store_binary *ret,
		      struct err *err)
{
	struct store_record record;
	int rc = next_record(r, after, &record, err);

	if (rc <= 0)
		return rc;
	*ret = record.binary;
	ret->used_ns = last_use(r, &ret->id);
	return 1;
}

/* The sum of a table is computed once per opening of the store. */
static bool verify(struct store *s, const struct store_record *record, struct kv_bytes table)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)table.p / page * page;
	bool known;

	pthread_mutex_lock(&s->lock);
	known = intern_find(&s->verified, &record->number, sizeof(record->number)) != INTERN_FULL;
	pthread_mutex_unlock(&s->lock);
	if (known)
		return true;
	/* The map is read without read-ahead: ask for the whole, or the pass takes seconds. */
	if (table.len >= MIB)
		madvise((void *)start, (uintptr_t)table.p + table.len - start, MADV_WILLNEED);
	if (crc32c(0, table.p, table.len) != record->table_crc)
		return false;
	pthread_mutex_lock(&s->lock);
	if (intern_add(&s->verified, &record->number, sizeof(record->number), NULL) == INTERN_FULL)
		intern_reset(&s->verified);
	pthread_mutex_unlock(&s->lock);
	return true;
}

int store_table(struct store_read *r, const struct build_id *id, struct store_table *ret,
		struct err *err)
{
	char hex[BUILD_ID_HEX_MAX];
	struct store_record record;
	struct kv_bytes table;
	int rc = get_record(r, id, &record, err);

	if (rc <= 0 || record.binary.status != STORE_READY)
		return rc < 0 ? rc : 0;
	rc = r->s->kv->ops->get(r->kv, KV_TABLES, key_of(id), &table, err);
	if (rc < 0)
		return rc;
	if (rc == 0 || table.len != record.binary.table_len || !verify(r->s, &record, table))
		return err_set(err, ERR_DATA, "the table of %s is damaged", build_id_hex(id, hex));
	*ret = (struct store_table){table.p, table.len, record.number};
	return 1;
}

/* --- eviction ------------------------------------------------------------------------------ */

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

static void account(struct store *s, const struct store_record *old, const struct store_binary *now)
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

/* With `writer` held: the table goes, the record says PURGED. 1, or 0 when there was no table. */
static int purge(struct store *s, const struct build_id *id, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(STORE_RECORD_MAX);
	struct store_record record, old;
	struct store_read *r;
	bool encoded = false;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	rc = get_record(r, id, &record, err);
	if (rc == 1 && record.binary.status == STORE_READY) {
		old = record;
		record.binary.status = STORE_PURGED;
		record.binary.pinned = false;
		encoded = store_record_encode(&record, &out);
	} else if (rc == 1) {
		rc = 0;
	}
	store_read_end(r);
	if (rc == 1) {
		struct kv_write writes[] = {
			{KV_TABLES, key_of(id), {NULL, 0}},
			{KV_BINARIES, key_of(id), {out.p, out.len}},
			{KV_USED, key_of(id), {NULL, 0}},
		};

		if (!encoded)
			return err_set(err, ERR_MEMORY, "out of memory");
		rc = s->kv->ops->commit(s->kv, writes, ARRAY_LEN(writes), err);
		/* Taking away needs pages too, and snapshots may hold all that are free. */
		for (int i = 0; rc == ERR_LIMIT && i < PURGE_TRIES; i++) {
			s->kv->ops->settle(s->kv, SETTLE_MS);
			rc = s->kv->ops->commit(s->kv, writes, ARRAY_LEN(writes), err);
		}
		if (rc)
			return rc;
		account(s, &old, &record.binary);
		return 1;
	}
	return rc;
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
	room = s->max_bytes - s->stat.table_bytes;
	for (size_t i = 0; i < c.count; i++)
		room += c.rows[i].len;
	if (room < least)
		return err_set(err, ERR_LIMIT, "the store is full of pinned tables");
	for (size_t i = 0; i < c.count && freed < needed; i++) {
		rc = purge(s, &c.rows[i].id, err);
		if (rc < 0)
			return rc;
		freed += c.rows[i].len;
	}
	return freed ? 0
		     : err_set(err, ERR_LIMIT, "the store is full and every table in it is pinned");
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

int store_commit(struct store *s, const struct kv_write *writes, size_t count, uint64_t needed,
		 struct err *err)
{
	int rc = s->kv->ops->commit(s->kv, writes, count, err);

	for (int round = 0; rc == ERR_LIMIT && round < EVICTION_ROUNDS; round++) {
		s->kv->ops->maintain(s->kv);
		/* Free pages must lie side by side, which may take more than what is needed. */
		rc = evict(s, needed << round, needed, err);
		if (rc)
			return rc;
		rc = retry(s, writes, count, err);
	}
	return rc;
}

/* With `writer` held: forgets the oldest eighth of records without tables, if they are too many. */
static int trim_tombstones(struct store *s, struct err *err)
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

/* --- changing ------------------------------------------------------------------------------ */

static int put(struct store *s, const struct store_binary *b, const void *table, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(STORE_RECORD_MAX);
	bool ready = b->status == STORE_READY;
	struct store_record record = {.binary = *b}, old;
	struct kv_bytes none = {NULL, 0};
	struct store_read *r;
	bool had_missing;
	int known, rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	known = get_record(r, &b->id, &old, NULL); /* a damaged one is written over */
	had_missing = s->kv->ops->get(r->kv, KV_MISSING, key_of(&b->id), &none, NULL) == 1;
	store_read_end(r);
	record.number = s->next_number++;
	record.table_crc = ready ? crc32c(0, table, b->table_len) : 0;
	if (!store_record_encode(&record, &out))
		return err_set(err, ERR_LIMIT, "a record of more than %llu bytes",
			       (unsigned long long)LIMIT_BINARY_META_LEN);

	struct kv_write writes[] = {
		{KV_BINARIES, key_of(&b->id), {out.p, out.len}},
		{KV_TABLES,
		 key_of(&b->id),
		 {ready ? table : NULL, ready ? (size_t)b->table_len : 0}},
		{KV_USED, key_of(&b->id), {NULL, 0}},
		{KV_MISSING, key_of(&b->id), {NULL, 0}},
	};

	rc = store_commit(s, writes, ready ? 4 : 3, out.len + (ready ? b->table_len : 0), err);
	if (rc)
		return rc;
	account(s, known == 1 ? &old : NULL, b);
	if (ready && had_missing) {
		pthread_mutex_lock(&s->lock);
		s->stat.missing_count--;
		pthread_mutex_unlock(&s->lock);
	}
	return trim_tombstones(s, err);
}

int store_put(struct store *s, const struct store_binary *b, const void *table, struct err *err)
{
	int rc;

	if (b->status == STORE_READY && b->table_len > s->max_bytes)
		return err_set(err, ERR_LIMIT, "a table of %llu bytes, the store has %llu",
			       (unsigned long long)b->table_len, (unsigned long long)s->max_bytes);
	pthread_mutex_lock(&s->writer);
	rc = put(s, b, table, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

int store_purge(struct store *s, const struct build_id *id, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = purge(s, id, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

static int pin(struct store *s, const struct build_id *id, bool pinned, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(STORE_RECORD_MAX);
	struct store_record record;
	struct store_read *r;
	bool encoded = false;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	rc = get_record(r, id, &record, err);
	if (rc == 1 && record.binary.status == STORE_READY) {
		record.binary.pinned = pinned;
		encoded = store_record_encode(&record, &out);
	}
	store_read_end(r);
	if (rc == 1 && encoded) {
		struct kv_write write = {KV_BINARIES, key_of(id), {out.p, out.len}};

		rc = store_commit(s, &write, 1, out.len, err);
		return rc ? rc : 1;
	}
	return rc < 0 ? rc : 0;
}

int store_pin(struct store *s, const struct build_id *id, bool pinned, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = pin(s, id, pinned, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

void store_note_used(struct store *s, const struct build_id *id, uint64_t now_ns)
{
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	i = intern_add(&s->used, id->bytes, id->len, NULL);
	if (i != INTERN_FULL &&
	    grow_array((void **)&s->used_ns, &s->used_cap, i + 1, sizeof(s->used_ns[0]), USED_MAX))
		s->used_ns[i] = now_ns;
	pthread_mutex_unlock(&s->lock);
}

/* One commit of all uses noted; on failure they are lost, which costs a wrong order of eviction. */
static void write_used(struct store *s)
{
	_cleanup_(freep) struct kv_write *writes = NULL;
	_cleanup_(freep) uint8_t *copies = NULL; /* of each: the key, the value */
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
	write_used(s);
	s->kv->ops->maintain(s->kv);
}

void store_stat(struct store *s, struct store_stat *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->stat;
	pthread_mutex_unlock(&s->lock);
	ret->max_bytes = s->max_bytes;
}

/* --- open and close ------------------------------------------------------------------------ */

static int load(struct store *s, struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	struct store_record record;
	struct build_id at;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	while ((rc = next_record(r, after, &record, err)) == 1) {
		at = record.binary.id;
		after = &at;
		account(s, NULL, &record.binary);
		if (record.number >= s->next_number)
			s->next_number = record.number + 1;
	}
	return rc ? rc : store_missing_load(s, r, err);
}

int store_open(struct store **ret, struct kv *kv, uint64_t max_bytes, struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s) {
		kv->ops->close(kv);
		return err_set(err, ERR_MEMORY, "out of memory");
	}
	s->kv = kv;
	s->max_bytes = max_bytes;
	s->next_number = 1;
	s->verified = (struct intern)INTERN_INIT(VERIFIED_MAX, VERIFIED_MAX * sizeof(uint64_t));
	s->used = (struct intern)INTERN_INIT(USED_MAX, (size_t)USED_MAX * BUILD_ID_MAX);
	pthread_mutex_init(&s->writer, NULL);
	pthread_mutex_init(&s->lock, NULL);
	rc = load(s, err);
	if (rc) {
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
	write_used(s);
	s->kv->ops->close(s->kv);
	intern_done(&s->verified);
	intern_done(&s->used);
	free(s->used_ns);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->writer);
	free(s);
}
