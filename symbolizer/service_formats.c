/* SPDX-License-Identifier: Apache-2.0 */
/* At the start: tables of the store that this program cannot read, for it is newer or older than
 * the one that made them. */
#include "log.h"
#include "rsym_format.h"
#include "service_priv.h"

static const char meta_name[] = "table_major";

/* 1: the table is of another format, 0: it is not, or is damaged, which is found elsewhere. */
static int is_foreign(struct store_read *r, const struct build_id *id)
{
	struct store_table table;
	struct rsym opened;

	return store_table(r, id, &table, NULL) == 1 &&
	       rsym_open_trusted(&opened, table.p, table.len, NULL) == ERR_UNSUPPORTED;
}

static int find_foreign(struct store *s, struct intern *ret, struct err *err)
{
	_cleanup_(service_read_endp) struct store_read *r = NULL;
	const struct build_id *after = NULL;
	struct store_binary b;
	struct build_id at;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	while ((rc = store_binary_next(r, after, &b, err)) == 1) {
		at = b.id;
		after = &at;
		if (b.status == STORE_READY && is_foreign(r, &at) &&
		    intern_add(ret, at.bytes, at.len, NULL) == INTERN_FULL)
			return err_set(err, ERR_MEMORY, "out of memory");
	}
	return rc;
}

/* A store that is new, or of an older version, whose records are read too. */
static int stamp(struct store *s, struct err *err)
{
	uint64_t version = 0;
	int rc = store_meta_get(s, STORE_VERSION_NAME, &version, err);

	if (rc >= 0 && version < STORE_VERSION)
		rc = store_meta_put(s, STORE_VERSION_NAME, STORE_VERSION, err);
	return rc < 0 ? rc : 0;
}

int service_formats_check(struct service *s, struct intern *ret_again, struct err *err)
{
	uint64_t major = 0;
	int rc = store_meta_get(s->store, meta_name, &major, err);

	if (rc < 0)
		return rc;
	if (major > RSYM_MAJOR)
		return err_set(
			err, ERR_UNSUPPORTED,
			"the store has tables of format %llu, this program reads %d: start the "
			"newer one, or use another data directory",
			(unsigned long long)major, RSYM_MAJOR);
	rc = stamp(s->store, err);
	if (rc || major == RSYM_MAJOR)
		return rc;
	rc = find_foreign(s->store, ret_again, err);
	for (uint32_t i = 0; rc >= 0 && i < ret_again->count; i++) {
		struct build_id id;
		size_t len;
		const void *p = intern_get(ret_again, i, &len);

		rc = build_id_set(&id, BUILD_ID_GNU, p, len, err);
		if (!rc)
			rc = store_purge(s->store, &id, err);
	}
	if (rc < 0)
		return rc;
	if (ret_again->count)
		log_warn("%zu tables of an older format are taken away: they are made again where "
			 "their "
			 "files were kept, and missing where not",
			 ret_again->count);
	return store_meta_put(s->store, meta_name, RSYM_MAJOR, err);
}

void service_formats_rebuild(struct service *s, const struct intern *again)
{
	for (uint32_t i = 0; i < again->count; i++) {
		struct build_id id;
		size_t len;
		const void *p = intern_get(again, i, &len);

		if (!build_id_set(&id, BUILD_ID_GNU, p, len, NULL))
			build_queue_rebuild(s->queue, &id);
	}
}
