/* SPDX-License-Identifier: Apache-2.0 */
#include "store_salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "limits.h"
#include "store_pages.h"
#include "store_priv.h"

enum {
	WRITES_MAX = 1024, /* writes of one commit */
	/* Records that are read from a damaged store: 100 times as many as a large one has. */
	LIMIT_SALVAGED_RECORDS = 1 << 22,
};

#define WRITES_LEN (64 * MIB)

/* The age of a record, because a free page may hold an older record of the same id. */
struct rank {
	uint64_t number, changed_ns;
};

struct salvager {
	const char *from;
	struct kv *kv;
	struct store *s; /* NULL until the records are written */
	uint16_t format;
	const struct store_salvage_use *use;
	struct store_salvaged *told;
	struct intern ids;
	struct rank *ranks; /* one for each of ids */
	size_t ranks_cap;
	struct intern tables; /* keys of the tables that were written */
	struct arena arena;
	struct kv_write writes[WRITES_MAX];
	size_t count, len;
	int rc;
	struct err *err;
};

static void flush_salvaged(struct salvager *s)
{
	if (s->count && !s->rc)
		s->rc = s->kv->ops->commit(s->kv, s->writes, s->count, s->err);
	arena_reset(&s->arena);
	s->count = s->len = 0;
}

static void put_salvaged(struct salvager *s, enum kv_table table,
			 const struct store_pages_pair *pair)
{
	struct kv_write *w;

	if (s->count == WRITES_MAX || s->len + pair->value.len > WRITES_LEN / 2)
		flush_salvaged(s);
	w = &s->writes[s->count];
	*w = (struct kv_write){table, pair->key, pair->value};
	w->key.p = arena_copy(&s->arena, pair->key.p, pair->key.len);
	w->value.p = arena_copy(&s->arena, pair->value.p, pair->value.len);
	if (!w->key.p || !w->value.p) {
		s->rc = err_no_memory(s->err);
		return;
	}
	s->count++;
	s->len += pair->value.len;
}

/* Returns whether a record is the newest of its id so far. */
static bool is_newest(struct salvager *s, const struct store_record *r)
{
	struct rank rank = {.changed_ns = r->binary.changed_ns};
	uint32_t i = intern_find(&s->ids, r->binary.id.bytes, r->binary.id.len);

	for (size_t t = 0; t < r->table_count; t++)
		if (r->tables[t].number > rank.number)
			rank.number = r->tables[t].number;
	if (i != INTERN_FULL &&
	    (s->ranks[i].changed_ns > rank.changed_ns ||
	     (s->ranks[i].changed_ns == rank.changed_ns && s->ranks[i].number >= rank.number)))
		return false;
	if (i == INTERN_FULL)
		i = intern_add(&s->ids, r->binary.id.bytes, r->binary.id.len, NULL);
	if (i == INTERN_FULL || !GROW(s->ranks, &s->ranks_cap, i + 1, LIMIT_SALVAGED_RECORDS)) {
		s->rc = err_no_memory(s->err);
		return false;
	}
	s->ranks[i] = rank;
	return true;
}

static bool salvage_record(struct salvager *s, const struct store_pages_pair *pair)
{
	struct store_record r;

	if (store_record_decode(&r, pair->key, pair->value, s->format, NULL))
		return false;
	if (is_newest(s, &r))
		put_salvaged(s, KV_BINARIES, pair);
	return true;
}

static bool take_missing(struct salvager *s, const struct store_pages_pair *pair)
{
	struct store_missing m;

	if (store_missing_decode(&m, pair->key, pair->value, NULL))
		return false;
	put_salvaged(s, KV_MISSING, pair);
	return true;
}

static bool take_meta(struct salvager *s, const struct store_pages_pair *pair)
{
	const uint8_t *first = pair->key.p;
	struct store_id_aliases aliases;
	uint64_t number;

	if (*first < ' ' ? !store_id_aliases_decode(&aliases, pair->value)
			 : pair->value.len != STORE_NUMBER_LEN ||
				   !store_number_decode(pair->value, &number))
		return false;
	put_salvaged(s, KV_META, pair);
	return true;
}

/* Takes all pairs but tables. A pair of an unknown tree is tried as each kind that it may be. */
static bool take_small(void *ctx, const struct store_pages_pair *pair)
{
	struct salvager *s = ctx;
	uint64_t number;

	switch (pair->table) {
	case KV_TABLES:
		break;
	case KV_BINARIES:
		salvage_record(s, pair);
		break;
	case KV_MISSING:
		take_missing(s, pair);
		break;
	case KV_META:
		take_meta(s, pair);
		break;
	case KV_USED:
	case KV_BATCHES:
		if (pair->value.len == STORE_NUMBER_LEN &&
		    store_number_decode(pair->value, &number))
			put_salvaged(s, pair->table, pair);
		break;
	case KV_BATCH_ORDER:
		if (pair->key.len == sizeof(number) && pair->value.len <= LIMIT_BATCH_ID_LEN)
			put_salvaged(s, pair->table, pair);
		break;
	default:
		if (!salvage_record(s, pair) && !take_missing(s, pair) &&
		    *(const uint8_t *)pair->key.p < ' ')
			take_meta(s, pair);
	}
	return !s->rc;
}

/* --- tables ---------------------------------------------------------------------------------- */

static bool is_there(const struct salvager *s, const struct store_key *key)
{
	return intern_find(&s->tables, key->bytes, key->len) != INTERN_FULL;
}

static void put_table(struct salvager *s, const struct store_key *key, struct kv_bytes table)
{
	const struct store_pages_pair pair = {KV_TABLES, {key->bytes, key->len}, table};
	struct kv_write w = {KV_TABLES, pair.key, table};

	if (table.len < WRITES_LEN / 4)
		put_salvaged(s, KV_TABLES, &pair);
	else if (!s->rc)
		s->rc = s->kv->ops->commit(s->kv, &w, 1, s->err);
	if (!s->rc && intern_add(&s->tables, key->bytes, key->len, NULL) == INTERN_FULL)
		s->rc = err_no_memory(s->err);
	s->told->tables += !s->rc;
}

/* Returns 1 with the record of the id, or 0 if there is none. */
static int get_record(struct salvager *s, const struct build_id *id, struct store_record *ret)
{
	struct store_read *r;
	int rc = store_read_begin(s->s, &r, s->err);

	if (rc) {
		s->rc = rc;
		return 0;
	}
	rc = store_get_record(r, id, ret, NULL);
	ret->binary.meta = NULL;
	store_read_end(r);
	return rc == 1;
}

static bool salvage_table(void *ctx, const struct store_pages_pair *pair)
{
	struct salvager *s = ctx;
	const struct store_record_table *t;
	struct store_binary b = {0};
	struct store_record record;
	struct build_id id;
	struct store_key key = {.len = pair->key.len};
	const uint8_t *end = (const uint8_t *)pair->key.p + pair->key.len;
	uint16_t format;

	if ((pair->table != KV_TABLES && pair->table != KV_TABLE_COUNT) || pair->key.len < 3 ||
	    build_id_set(&id, BUILD_ID_GNU, pair->key.p, pair->key.len - 2, NULL))
		return !s->rc;
	memcpy(key.bytes, pair->key.p, key.len);
	format = (uint16_t)(end[-2] << 8 | end[-1]);
	if (is_there(s, &key))
		return !s->rc;
	if (get_record(s, &id, &record)) {
		t = store_record_table(&record, format);
		if (t && t->len == pair->value.len && store_sum_is(pair->value, t->crc))
			put_table(s, &key, pair->value);
	} else if (!s->rc && format == s->format &&
		   s->use->describe(s->use->ctx, &id, pair->value, &b)) {
		b.id = id;
		b.status = STORE_READY;
		b.table_len = pair->value.len;
		s->rc = store_put(s->s, &b, pair->value.p, s->err);
		s->told->tables_without_record += !s->rc;
		if (!s->rc && intern_add(&s->tables, key.bytes, key.len, NULL) == INTERN_FULL)
			s->rc = err_no_memory(s->err);
	}
	return !s->rc;
}

static bool has_sum(void *ctx, struct kv_bytes value)
{
	return store_sum_is(value, *(const uint32_t *)ctx);
}

/* Searches for the tables of a record that no pair led to. Returns whether all its tables are there
 * now. */
static bool find_tables(struct salvager *s, struct store_pages *pages, const struct store_record *r)
{
	bool all = true;

	for (size_t i = 0; i < r->table_count && !s->rc; i++) {
		struct store_key key = store_table_key(&r->binary.id, r->tables[i].format);
		uint32_t sum = r->tables[i].crc;

		if (is_there(s, &key))
			continue;
		if (store_pages_find_value(pages, (size_t)r->tables[i].len, has_sum, &sum))
			put_table(s, &key, store_pages_value(pages));
		else
			all = false;
	}
	return all;
}

static int find_lost(struct salvager *s, struct store_pages *pages)
{
	const struct build_id *after = NULL;
	struct store_record record;
	struct build_id at;
	int rc = 0;

	for (;;) {
		struct store_read *r;

		TRY(store_read_begin(s->s, &r, s->err));
		rc = store_next_record(r, after, &record, s->err);
		record.binary.meta = NULL;
		store_read_end(r);
		if (rc != 1)
			return rc;
		s->told->records++;
		at = record.binary.id;
		after = &at;
		if (find_tables(s, pages, &record) || s->rc)
			continue;
		flush_salvaged(s);
		s->told->lost++;
		s->use->lost(s->use->ctx, &at);
		rc = store_purge_damaged(s->s, &at, s->err);
		if (rc < 0)
			return rc;
	}
}

/* --- all of it ------------------------------------------------------------------------------- */

static int salvage_pages(struct salvager *s, struct store_pages *pages)
{
	struct store_stat stat;
	uint64_t version;
	int rc = store_pages_salvage(pages, take_small, s, s->err);

	flush_salvaged(s);
	if (rc || s->rc)
		return rc ? rc : s->rc;
	rc = store_open(&s->s, s->kv, UINT64_MAX, s->format, s->err);
	if (rc) {
		s->kv = NULL;
		return rc;
	}
	rc = store_meta_get(s->s, STORE_VERSION_NAME, &version, s->err);
	if (rc == 0)
		rc = store_meta_put(s->s, STORE_VERSION_NAME, STORE_VERSION, s->err);
	if (rc >= 0)
		rc = store_pages_salvage(pages, salvage_table, s, s->err);
	if (!rc && !s->rc)
		rc = find_lost(s, pages);
	flush_salvaged(s);
	store_stat(s->s, &stat);
	s->told->missing = stat.missing_count;
	if (rc || s->rc)
		return rc ? rc : s->rc;
	if (!s->told->records && !s->told->missing && !store_pages_have_meta(pages))
		return err_set(
			s->err, ERR_DATA,
			"%s: nothing of a store is found in it: restore a backup, or remove it "
			"to begin anew",
			s->from);
	return 0;
}

int store_salvage(const char *from, const char *to, uint16_t format,
		  const struct store_salvage_use *use, struct store_salvaged *ret, struct err *err)
{
	_cleanup_(store_pages_closep) struct store_pages *pages = NULL;
	_cleanup_(closep) int fd = open(from, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) struct salvager *s = calloc(1, sizeof(*s));
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return err_sys(err, errno, "%s", from);
	if (!s)
		return err_no_memory(err);
	*ret = (struct store_salvaged){0};
	*s = (struct salvager){
		.from = from,
		.format = format,
		.use = use,
		.told = ret,
		.err = err,
		.arena = ARENA_INIT(WRITES_LEN),
		.ids = INTERN_INIT(LIMIT_SALVAGED_RECORDS, LIMIT_SALVAGED_RECORDS * BUILD_ID_MAX),
		.tables = INTERN_INIT(LIMIT_SALVAGED_RECORDS, LIMIT_SALVAGED_RECORDS * KV_KEY_MAX)};
	rc = store_pages_open(&pages, fd, from, err);
	/* The new file may need more room than the old one, because its free pages differ. */
	if (!rc)
		rc = store_kv_open_lmdb(&s->kv, to, 2 * (uint64_t)st.st_size + 64 * MIB, 0, err);
	if (!rc)
		rc = salvage_pages(s, pages);
	if (s->s)
		store_close(s->s);
	else if (s->kv)
		s->kv->ops->close(s->kv);
	arena_done(&s->arena);
	intern_done(&s->ids);
	intern_done(&s->tables);
	free(s->ranks);
	return rc;
}
