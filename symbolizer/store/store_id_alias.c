/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the htlhashes by which binaries are found besides their build ids. They lie in KV_META,
 * under keys that no name of a number begins with, because a table of their own would have to be
 * made first: a full store has no page for it, and older programs would not open it.
 *
 *	key             value
 *	1, hash         the id
 *	2, id           its hashes, the newest first
 *
 * They come with the record, or are added to it, and go with it. An alias that an older program
 * left when it forgot a record leads nowhere, and a scrub removes it.
 */
#include <string.h>

#include "store_priv.h"

enum {
	ID_OF_HASH = 1,
	HASHES_OF_ID = 2,
};

static struct store_key key_in(uint8_t space, const struct build_id *id)
{
	struct store_key k = {.len = 1u + id->len};

	k.bytes[0] = space;
	memcpy(k.bytes + 1, id->bytes, id->len);
	return k;
}

static bool get_alias(struct store_read *r, uint8_t space, const struct build_id *id,
		      struct store_id_aliases *ret)
{
	struct store_key key = key_in(space, id);
	struct kv_bytes value;

	ret->count = 0;
	if (r->s->kv->ops->get(r->kv, KV_META, (struct kv_bytes){key.bytes, key.len}, &value,
			       NULL) != 1)
		return false;
	if (store_id_aliases_decode(ret, value))
		return true;
	store_found_damage(r->s);
	return false;
}

static bool leads_to(struct store_read *r, const struct build_id *hash, struct build_id *ret)
{
	struct store_id_aliases one;

	if (!get_alias(r, ID_OF_HASH, hash, &one) || one.count != 1)
		return false;
	*ret = one.ids[0];
	return true;
}

static bool has_alias(const struct store_id_aliases *a, const struct build_id *id)
{
	for (size_t i = 0; i < a->count; i++)
		if (build_id_equal(&a->ids[i], id))
			return true;
	return false;
}

struct build_id store_resolve_alias(struct store_read *r, const struct build_id *name)
{
	struct store_record record;
	struct build_id id;

	if (name->len != HTLHASH_LEN || !leads_to(r, name, &id))
		return *name;
	if (store_get_record(r, name, &record, NULL) == 1 && record.table_count)
		return *name;
	return store_get_record(r, &id, &record, NULL) ? id : *name;
}

void store_id_aliases(struct store_read *r, const struct build_id *id, struct store_id_aliases *ret)
{
	get_alias(r, HASHES_OF_ID, id, ret);
}

/* --- changes --------------------------------------------------------------------------------- */

void store_id_alias_change_done(struct store_id_alias_change *c)
{
	buf_done(&c->id);
	buf_done(&c->hashes);
}

static void change_alias(struct store_id_alias_change *c, enum kv_table table, struct store_key key,
			 const struct buf *value)
{
	struct store_key *k = &c->keys[c->count];

	*k = key;
	c->writes[c->count++] = (struct kv_write){
		table, {k->bytes, k->len}, {value ? value->p : NULL, value ? value->len : 0}};
	c->bytes += value ? value->len : 0;
}

/* Returns whether another binary has the hash. The first keeps it as long as it has a record. */
static bool hash_is_taken(struct store_read *r, const struct build_id *hash,
			  const struct build_id *id)
{
	struct store_record record;
	struct build_id other;

	return leads_to(r, hash, &other) && !build_id_equal(&other, id) &&
	       store_get_record(r, &other, &record, NULL) != 0;
}

static void merge_aliases(struct store_read *r, const struct build_id *id,
			  const struct store_id_aliases *from, struct store_id_aliases *to)
{
	for (size_t i = 0; i < from->count && to->count < STORE_ID_ALIASES; i++)
		if (from->ids[i].len == HTLHASH_LEN && !has_alias(to, &from->ids[i]) &&
		    !hash_is_taken(r, &from->ids[i], id))
			to->ids[to->count++] = from->ids[i];
}

bool store_id_alias_add(struct store_read *r, const struct build_id *id,
			const struct store_id_aliases *add, bool is_ready,
			struct store_id_alias_change *c)
{
	const struct store_id_aliases self = {{*id}, 1};
	struct store_id_aliases old, now = {.count = 0};
	struct build_id led;

	get_alias(r, HASHES_OF_ID, id, &old);
	if (add)
		merge_aliases(r, id, add, &now);
	merge_aliases(r, id, &old, &now);
	if (!store_id_aliases_encode(&self, &c->id) || !store_id_aliases_encode(&now, &c->hashes))
		return false;
	for (size_t i = 0; i < now.count; i++) {
		struct store_key missing = {.len = now.ids[i].len};
		struct kv_bytes value;

		c->added += !has_alias(&old, &now.ids[i]);
		if (!leads_to(r, &now.ids[i], &led) || !build_id_equal(&led, id))
			change_alias(c, KV_META, key_in(ID_OF_HASH, &now.ids[i]), &c->id);
		memcpy(missing.bytes, now.ids[i].bytes, missing.len);
		if (is_ready && r->s->kv->ops->get(r->kv, KV_MISSING, store_key_of(&now.ids[i]),
						   &value, NULL) == 1) {
			change_alias(c, KV_MISSING, missing, NULL);
			c->missing_gone++;
		}
	}
	for (size_t i = 0; i < old.count; i++)
		if (!has_alias(&now, &old.ids[i]) && leads_to(r, &old.ids[i], &led) &&
		    build_id_equal(&led, id))
			change_alias(c, KV_META, key_in(ID_OF_HASH, &old.ids[i]), NULL);
	if (now.count != old.count || c->added)
		change_alias(c, KV_META, key_in(HASHES_OF_ID, id), &c->hashes);
	return true;
}

void store_id_alias_drop(struct store_read *r, const struct build_id *id,
			 struct store_id_alias_change *c)
{
	struct store_id_aliases old;
	struct build_id led;

	get_alias(r, HASHES_OF_ID, id, &old);
	for (size_t i = 0; i < old.count; i++)
		if (leads_to(r, &old.ids[i], &led) && build_id_equal(&led, id))
			change_alias(c, KV_META, key_in(ID_OF_HASH, &old.ids[i]), NULL);
	change_alias(c, KV_META, key_in(HASHES_OF_ID, id), NULL);
}

static int add_aliases(struct store *s, const struct build_id *id,
		       const struct store_id_aliases *add, struct err *err)
{
	_cleanup_(store_id_alias_change_done) struct store_id_alias_change c =
		STORE_ID_ALIAS_CHANGE_INIT;
	struct store_record record;
	struct store_read *r;
	bool ok = true;
	int rc;

	TRY(store_read_begin(s, &r, err));
	rc = store_get_record(r, id, &record, err);
	if (rc == 1)
		ok = store_id_alias_add(r, id, add, record.binary.status == STORE_READY, &c);
	store_read_end(r);
	if (!ok)
		return err_no_memory(err);
	if (rc != 1 || !c.added)
		return rc < 0 ? rc : 0;
	TRY(store_commit(s, c.writes, c.count, c.bytes, err));
	store_count_found(s, c.missing_gone);
	return 1;
}

int store_add_id_aliases(struct store *s, const struct build_id *id,
			 const struct store_id_aliases *add, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->writer);
	rc = add_aliases(s, id, add, err);
	pthread_mutex_unlock(&s->writer);
	return rc;
}

/* --- checking -------------------------------------------------------------------------------- */

/* Returns whether hash and id lead to each other, and the id has a record. */
static bool alias_is_sound(struct store_read *r, uint8_t space, const struct build_id *name,
			   struct kv_bytes value)
{
	struct store_record record;
	struct store_id_aliases named, back;
	struct build_id led;

	if (!store_id_aliases_decode(&named, value))
		return false;
	if (space == ID_OF_HASH)
		return named.count == 1 && get_alias(r, HASHES_OF_ID, &named.ids[0], &back) &&
		       has_alias(&back, name) &&
		       store_get_record(r, &named.ids[0], &record, NULL) != 0;
	for (size_t i = 0; i < named.count; i++)
		if (!leads_to(r, &named.ids[i], &led) || !build_id_equal(&led, name))
			return false;
	return store_get_record(r, name, &record, NULL) != 0;
}

int store_id_alias_find_damaged(struct store *s, struct store_key *at, struct build_id *ret,
				struct err *err)
{
	_cleanup_(store_read_endp) struct store_read *r = NULL;
	struct kv_bytes key = {at->bytes, at->len}, value;
	int rc;

	TRY(store_read_begin(s, &r, err));
	while ((rc = s->kv->ops->next(r->kv, KV_META, key, &key, &value, err)) == 1) {
		const uint8_t *p = key.p;

		if (p[0] > HASHES_OF_ID)
			return 0; /* the names of numbers follow */
		if (!build_id_set(ret, BUILD_ID_GNU, p + 1, key.len - 1, NULL) &&
		    alias_is_sound(r, p[0], ret, value))
			continue;
		memcpy(at->bytes, key.p, key.len);
		at->len = key.len;
		return 1;
	}
	return rc;
}
