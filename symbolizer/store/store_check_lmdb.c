/* SPDX-License-Identifier: Apache-2.0 */
/* The work of the child: it checks the pages without LMDB, then walks the file with LMDB. */
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base.h"
#include "data_dir.h"
#include "limits.h"
#include "store_birth.h"
#include "store_check.h"
#include "store_pages.h"

enum {
	TRIES = 100, /* to see a commit before two more are made */
};

struct checked {
	char path[LIMIT_PATH_LEN];
	int fd;
	struct store_pages *pages;
	MDB_env *env;
	MDB_txn *txn;
};

static int lmdb_fault(const struct checked *c, const char *what, int rc, struct err *err)
{
	/* LMDB's own codes are below zero. A code above zero is the system's and says nothing about
	 * the file. */
	if (rc > 0)
		return err_set(err, ERR_IO, "%s: %s: %s%s", c->path, what, mdb_strerror(rc),
			       rc == ENOMEM ? ": the whole store needs address space (ulimit -v)"
					    : "");
	return err_set(err, ERR_DATA, "%s: damaged: %s: %s; " STORE_DAMAGED_ADVICE, c->path, what,
		       mdb_strerror(rc));
}

static int walk_table(struct checked *c, enum kv_table table, struct err *err)
{
	struct kv_bytes before = {NULL, 0};
	MDB_cursor *cursor;
	MDB_val k, v;
	MDB_dbi dbi;
	int rc = mdb_dbi_open(c->txn, store_table_names[table], 0, &dbi);

	if (rc == MDB_NOTFOUND)
		return 0;
	if (!rc)
		rc = mdb_cursor_open(c->txn, dbi, &cursor);
	if (rc)
		return lmdb_fault(c, store_table_names[table], rc, err);
	while (!(rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT))) {
		const struct kv_bytes key = {k.mv_data, k.mv_size};

		if (before.p && store_key_compare(before, key) >= 0) {
			rc = MDB_CORRUPTED;
			break;
		}
		before = key;
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : lmdb_fault(c, store_table_names[table], rc, err);
}

static int open_checked_env(struct checked *c, struct err *err)
{
	int rc;

	if ((rc = mdb_env_create(&c->env)) || (rc = mdb_env_set_maxdbs(c->env, KV_TABLE_COUNT)))
		return lmdb_fault(c, "open", rc, err);
	rc = mdb_env_open(c->env, c->path, MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD | MDB_RDONLY,
			  0600);
	return rc ? lmdb_fault(c, "open", rc, err) : 0;
}

/* Checks one commit under a snapshot, which keeps the pages of the commit as they are. */
static int check_pinned(struct checked *c, struct err *err)
{
	int rc = ERR_NOT_FOUND;

	for (int i = 0; rc == ERR_NOT_FOUND && i < TRIES; i++) {
		if (c->txn)
			mdb_txn_abort(TAKE_PTR(c->txn));
		rc = mdb_txn_begin(c->env, NULL, MDB_RDONLY, &c->txn);
		if (rc) {
			c->txn = NULL;
			return lmdb_fault(c, "read", rc, err);
		}
		rc = store_pages_reopen(c->pages, err);
		if (!rc)
			rc = store_pages_check(c->pages, mdb_txn_id(c->txn), err);
	}
	if (rc)
		return rc;
	for (size_t i = 0; i < KV_TABLE_COUNT; i++)
		TRY(walk_table(c, (enum kv_table)i, err));
	return 0;
}

static int open_checked_file(const char *dir, int *ret_fd, struct err *err)
{
	_cleanup_(closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd < 0)
		return err_sys(err, errno, "%s", dir);
	return data_dir_open_file(dir_fd, dir, "store.mdb", O_RDONLY, ret_fd, err);
}

static int check_lmdb(struct checked *c, const char *dir, struct err *err)
{
	const struct timespec pause = {0, 10000000};
	int rc;

	if (snprintf(c->path, sizeof(c->path), "%s/store.mdb", dir) >= (int)sizeof(c->path))
		return err_set(err, ERR_USAGE, "data directory: name too long");
	rc = open_checked_file(dir, &c->fd, err);
	if (rc)
		return rc == ERR_NOT_FOUND ? 0 : rc;
	if (lseek(c->fd, 0, SEEK_END) == 0)
		return store_birth_check(dir, err);
	rc = store_pages_open(&c->pages, c->fd, c->path, err);
	/* The service may be writing a meta page at this moment. */
	for (int i = 0; !rc && (rc = store_pages_check_metas(c->pages, err)) && i < 3; i++) {
		nanosleep(&pause, NULL);
		rc = store_pages_reopen(c->pages, err);
	}
	if (rc)
		return rc;
	TRY(data_dir_own_file(dir, "store.mdb-lock", err));
	TRY(open_checked_env(c, err));
	return check_pinned(c, err);
}

int store_check(const char *dir, struct err *err)
{
	struct checked c = {.fd = -1};
	int rc = check_lmdb(&c, dir, err);

	if (c.txn)
		mdb_txn_abort(c.txn);
	if (c.env)
		mdb_env_close(c.env);
	store_pages_close(c.pages);
	closep(&c.fd);
	return rc;
}
