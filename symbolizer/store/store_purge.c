/* SPDX-License-Identifier: Apache-2.0 */
/* Purges tables. The record stays and says that there was a table. */
#include <string.h>

#include "io.h"
#include "limits.h"
#include "store_priv.h"

enum {
	PURGE_TRIES = 2,
};

struct dropping {
	uint16_t format, own;
	uint64_t now_ns;
	const struct kv_bytes *meta; /* replaces that of a record that is not pinned; or NULL */
};

/* A pin outlasts everything but a delete: a damaged table that is built again is pinned again. */
static bool drop_tables(struct store_record *r, const void *arg)
{
	const struct dropping *d = arg;

	if (d->meta && (r->binary.pinned || !r->table_count))
		return false;
	if (d->format == STORE_ALL_FORMATS) {
		r->table_count = 0;
		r->binary.pinned = false;
	} else if (!store_record_drop(r, d->format)) {
		return false;
	}
	if (!r->table_count || d->format == d->own) {
		r->written = STORE_PURGED;
		r->binary.changed_ns = d->now_ns;
	}
	if (d->meta) {
		r->binary.meta = d->meta->p;
		r->binary.meta_len = d->meta->len;
	}
	return true;
}

/* Lists the keys of the tables that are in `old` but not in `now`, and returns their count. */
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

/* The writes that purge one table. */
struct purge {
	struct build_id id;
	struct store_edit edit;
	struct store_key keys[STORE_FORMATS];
	size_t key_count;
};

static void purge_done(struct purge *p)
{
	buf_done(&p->edit.out);
}

enum {
	PURGE_WRITES = STORE_FORMATS + 2
};

/* Returns 1, or 0 if there is no such table. */
static int prepare_purge(struct store *s, const struct build_id *id, uint16_t format,
			 const struct kv_bytes *meta, struct purge *p, struct err *err)
{
	const struct dropping d = {format, s->format, io_system()->real_ns(NULL), meta};
	int rc;

	p->id = *id;
	p->edit.out = (struct buf)BUF_INIT(STORE_RECORD_MAX);
	rc = store_edit(s, id, drop_tables, &d, &p->edit, err);
	if (rc == 1)
		p->key_count = list_dropped(id, &p->edit.old, &p->edit.now, p->keys);
	return rc;
}

static size_t add_purge(const struct purge *p, struct kv_write *to)
{
	size_t count = 0;

	for (size_t i = 0; i < p->key_count; i++)
		to[count++] =
			(struct kv_write){KV_TABLES, {p->keys[i].bytes, p->keys[i].len}, {NULL, 0}};
	to[count++] = (struct kv_write){
		KV_BINARIES, store_key_of(&p->id), {p->edit.out.p, p->edit.out.len}};
	if (!p->edit.now.table_count)
		to[count++] = (struct kv_write){KV_USED, store_key_of(&p->id), {NULL, 0}};
	return count;
}

/* Commits deletions. These need pages too, and snapshots may hold all free ones. */
static int commit_purges(struct store *s, const struct kv_write *writes, size_t count,
			 struct err *err)
{
	int rc = s->kv->ops->commit(s->kv, writes, count, err);

	for (int i = 0; rc == ERR_LIMIT && i < PURGE_TRIES; i++) {
		s->kv->ops->settle(s->kv, SETTLE_MS);
		rc = s->kv->ops->commit(s->kv, writes, count, err);
	}
	return rc;
}

/* Removes the table. The record becomes PURGED if the table was of this program's format, or the
 * last one. Returns 1, or 0 if there is no such table. The caller holds `writer`. */
static int purge_one(struct store *s, const struct build_id *id, uint16_t format,
		     const struct kv_bytes *meta, struct err *err)
{
	struct kv_write writes[PURGE_WRITES];
	_cleanup_(purge_done) struct purge p = {0};
	int rc = prepare_purge(s, id, format, meta, &p, err);

	if (rc != 1)
		return rc;
	TRY(commit_purges(s, writes, add_purge(&p, writes), err));
	store_account(s, &p.edit.old, &p.edit.now);
	return 1;
}

int store_purge_locked(struct store *s, const struct build_id *id, uint16_t format, struct err *err)
{
	return purge_one(s, id, format, NULL, err);
}

int store_retire_locked(struct store *s, const struct build_id *id, struct kv_bytes meta,
			struct err *err)
{
	return purge_one(s, id, STORE_ALL_FORMATS, &meta, err);
}

int store_purge_together(struct store *s, const struct store_victim *rows, size_t count,
			 struct err *err)
{
	_cleanup_(freep) struct kv_write *writes =
		calloc(count * PURGE_WRITES + 1, sizeof(*writes));
	_cleanup_(freep) struct purge *purges = calloc(count + 1, sizeof(*purges));
	size_t write_count = 0;
	int rc = 0;

	if (!writes || !purges)
		return err_no_memory(err);
	for (size_t i = 0; i < count && rc >= 0; i++) {
		rc = prepare_purge(s, &rows[i].id, rows[i].format, NULL, &purges[i], err);
		if (rc == 1)
			write_count += add_purge(&purges[i], writes + write_count);
	}
	if (rc >= 0)
		rc = commit_purges(s, writes, write_count, err);
	for (size_t i = 0; i < count; i++) {
		if (!rc && purges[i].key_count)
			store_account(s, &purges[i].edit.old, &purges[i].edit.now);
		purge_done(&purges[i]);
	}
	return rc;
}
