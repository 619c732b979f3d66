/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer_admin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data_dir.h"
#include "io.h"
#include "limits.h"
#include "rsym.h"
#include "rsym_format.h"
#include "store.h"
#include "store_birth.h"
#include "store_check.h"
#include "store_salvage.h"

struct admin {
	const char *data;
	const char *out; /* the directory that a backup or a salvage writes to */
};

#define PROGRAM "rawstack-symbolizer "

static const struct option_row rows[] = {
	OPTION_TEXT(0, "data", "DIR", struct admin, data, "the data directory of the service"),
	OPTION_END,
};

#define ONLY_DATA .synopsis = "--data DIR", .rows = rows
#define DATA_AND_OUT                                                                      \
	.synopsis = "--data DIR OUT", .rows = rows, .operands_min = 1, .operands_max = 1, \
	.operands_wanted = "one directory to write to is needed"

static int parse_admin(const struct option_usage *usage, int argc, char **argv, struct admin *ret,
		       struct err *err)
{
	struct operands operands;

	TRY(options_parse(usage, argc, argv, ret, &operands, err));
	if (!ret->data)
		return options_refuse(usage, err, "--data DIR is required");
	ret->out = operands.list[0]; /* argv ends in a NULL */
	return 0;
}

/* Checks the store and opens it for reading, which works beside a running service. */
static int open_store(struct store **ret, const char *data, struct err *err)
{
	struct kv *kv;
	int rc;

	TRY(store_check_by_child(data, err));
	rc = store_kv_open_lmdb(&kv, data, 0, 0, err);
	return rc ? rc : store_open(ret, kv, UINT64_MAX, RSYM_MAJOR, err);
}

/* Copies the store to a new file, and gives the file to `owner` unless that is NULL. */
static int copy_to(const char *data, const char *path, const struct stat *owner, uint64_t *ret_len,
		   struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(closep) int fd = -1;
	int rc = open_store(&s, data, err);
	struct stat st;

	if (rc)
		return rc;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "%s", path);
	rc = store_copy(s, fd, err);
	if (!rc && owner && fchown(fd, owner->st_uid, owner->st_gid))
		rc = err_sys(err, errno, "%s", path);
	if (!rc && fstat(fd, &st))
		rc = err_sys(err, errno, "%s", path);
	if (rc)
		unlink(path);
	else
		*ret_len = (uint64_t)st.st_size;
	return rc;
}

static int sync_dir(const char *path, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) ? err_sys(err, errno, "%s", path) : 0;
}

static const struct option_usage backup_usage = {
	.name = PROGRAM "backup",
	.about = "Copies the store, compacted, to OUT/store.mdb, also while the service runs. A "
		 "service can start from OUT. Unfinished uploads and kept files are not copied.",
	DATA_AND_OUT,
};

static int run_backup(int argc, char **argv, struct err *err)
{
	struct admin a = {0};
	char path[LIMIT_PATH_LEN];
	uint64_t len;
	bool made;
	int rc;

	TRY(parse_admin(&backup_usage, argc, argv, &a, err));
	if (snprintf(path, sizeof(path), "%s/store.mdb", a.out) >= (int)sizeof(path))
		return err_set(err, ERR_USAGE, "%s: name too long", a.out);
	made = mkdir(a.out, 0700) == 0;
	if (!made && errno != EEXIST)
		return err_sys(err, errno, "%s", a.out);
	rc = copy_to(a.data, path, NULL, &len, err);
	if (rc && made)
		rmdir(a.out);
	if (rc)
		return rc;
	TRY(sync_dir(a.out, err));
	printf("%s: %llu bytes\n", path, (unsigned long long)len);
	return 0;
}

static const struct command cmd_backup = {
	.usage = &backup_usage,
	.run = run_backup,
	.summary = "copy the store while the service runs",
};

/* Locks a data directory, unless a running service has it. */
static int lock_stopped(const char *data, struct dir_lock *ret, struct err *err)
{
	_cleanup_(closep) int dir_fd = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (dir_fd < 0)
		return err_sys(err, errno, "%s", data);
	rc = data_dir_own_file(data, "lock", err);
	if (!rc)
		rc = data_dir_lock(data, dir_fd, ret, err);
	return rc == ERR_EXISTS
		       ? err_set(err, ERR_EXISTS, "%s: in use; stop the service first", data)
		       : rc;
}

static const struct option_usage compact_usage = {
	.name = PROGRAM "compact",
	.about = "Returns unused space of the store to the disk. The service must be stopped.",
	ONLY_DATA,
};

/* Replaces the store's file by a compacted copy, so nobody may have it open. */
static int run_compact(int argc, char **argv, struct err *err)
{
	struct admin a = {0};
	char path[LIMIT_PATH_LEN], next[LIMIT_PATH_LEN];
	_cleanup_(data_dir_unlock) struct dir_lock lock = DIR_LOCK_NONE;
	struct stat before;
	uint64_t len;

	TRY(parse_admin(&compact_usage, argc, argv, &a, err));
	if (snprintf(path, sizeof(path), "%s/store.mdb", a.data) >= (int)sizeof(path) ||
	    snprintf(next, sizeof(next), "%s/store.mdb.compact", a.data) >= (int)sizeof(next))
		return err_set(err, ERR_USAGE, "%s: name too long", a.data);
	if (stat(path, &before))
		return err_sys(err, errno, "%s", path);
	TRY(lock_stopped(a.data, &lock, err));
	unlink(next); /* left by an earlier attempt */
	/* The new file belongs to the owner of the old one, even if root compacts it. */
	TRY(copy_to(a.data, next, &before, &len, err));
	if (rename(next, path))
		return err_sys(err, errno, "%s", path);
	printf("%s: %llu bytes, %llu before\n", path, (unsigned long long)len,
	       (unsigned long long)before.st_size);
	return sync_dir(a.data, err);
}

static const struct command cmd_compact = {
	.usage = &compact_usage,
	.run = run_compact,
	.summary = "give unused space of the store back to the disk",
};

static void tell_fault(void *ctx _unused_, const struct build_id *id, const char *what)
{
	char hex[BUILD_ID_HEX_MAX];

	printf("%s: %s\n", build_id_hex(id, hex), what);
}

/* Validates each table whose checksum is right, and counts the tables and their bytes. */
static int verify_tables(struct store *s, uint64_t *ret_bytes, size_t *ret_count, size_t *ret_bad,
			 struct err *err)
{
	const struct build_id *after = NULL;
	struct store_binary b;
	struct store_table t;
	struct store_read *r;
	struct build_id at;
	int rc = store_read_begin(s, &r, err);

	if (rc)
		return rc;
	while ((rc = store_binary_next(r, after, &b, err)) == 1) {
		struct rsym table;
		struct err why;

		at = b.id;
		after = &at;
		if (store_table(r, &b.id, &t, NULL) != 1)
			continue; /* store_verify() has told of it if it is damaged */
		(*ret_count)++;
		*ret_bytes += t.len;
		if (rsym_open(&table, t.p, t.len, &why)) {
			tell_fault(NULL, &b.id, why.message);
			(*ret_bad)++;
		}
	}
	store_read_end(r);
	return rc;
}

static const struct option_usage verify_usage = {
	.name = PROGRAM "verify",
	.about = "Reads every table, compares its checksum and validates it, and compares the ids "
		 "of tables with those of records, also while the service runs. Of tables of other "
		 "formats it compares only the checksum. Prints what is damaged; the exit status "
		 "is 1 if anything is.",
	ONLY_DATA,
};

static int run_store_verify(int argc, char **argv, struct err *err)
{
	struct admin a = {0};
	_cleanup_(store_closep) struct store *s = NULL;
	struct store_stat stat;
	uint64_t bytes = 0;
	size_t count = 0, bad = 0;
	int rc = parse_admin(&verify_usage, argc, argv, &a, err);

	if (rc)
		return rc;
	if ((rc = open_store(&s, a.data, err)) ||
	    (rc = store_verify(s, tell_fault, NULL, &bad, err)) ||
	    (rc = verify_tables(s, &bytes, &count, &bad, err)))
		return rc;
	printf("%zu tables, %llu bytes, %zu damaged\n", count, (unsigned long long)bytes, bad);
	store_stat(s, &stat);
	if (stat.other_count)
		printf("%llu tables of other formats, %llu bytes, for other versions of the "
		       "service\n",
		       (unsigned long long)stat.other_count, (unsigned long long)stat.other_bytes);
	return bad ? err_set(err, ERR_DATA,
			     "%s: %zu damaged; the service builds them again, or asks for their "
			     "files",
			     a.data, bad)
		   : 0;
}

static const struct command cmd_verify = {
	.usage = &verify_usage,
	.run = run_store_verify,
	.summary = "check every table of the store",
};

/* --- salvage --------------------------------------------------------------------------------- */

static bool describe_salvaged(void *ctx _unused_, const struct build_id *id, struct kv_bytes table,
			      struct store_binary *ret)
{
	struct rsym opened;

	if (rsym_open(&opened, table.p, table.len, NULL) || !build_id_equal(&opened.id, id))
		return false;
	ret->generation = opened.generation;
	ret->changed_ns = io_system()->real_ns(NULL);
	return true;
}

static void tell_lost(void *ctx _unused_, const struct build_id *id)
{
	tell_fault(NULL, id, "its table is lost");
}

/* Gives a file that root made to the owner of the data directory. */
static int give_to_owner(const char *from, const char *dir, const char *name, struct err *err)
{
	_cleanup_(closep) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (stat(from, &st))
		return err_sys(err, errno, "%s", from);
	if (dir_fd < 0)
		return err_sys(err, errno, "%s", dir);
	if (geteuid() == 0 && fchownat(dir_fd, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW))
		return err_sys(err, errno, "%s/%s", dir, name);
	return 0;
}

/* Removes the directory in OUT where a salvage works, with the files that a salvage makes there. */
static void remove_work(const char *work)
{
	static const char *const names[] = {"store.mdb", "store.mdb-lock", "store.mdb-new"};
	_cleanup_(closep) int fd = open(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(names); i++)
		(void)unlinkat(fd, names[i], 0);
	(void)rmdir(work);
}

/* Gives a whole store in `work` its owner and its name `made`. */
static int place_salvaged(const struct admin *a, const char *work, const char *made,
			  struct err *err)
{
	char file[LIMIT_PATH_LEN];

	TRY(give_to_owner(a->data, work, "store.mdb", err));
	TRY(give_to_owner(a->data, a->out, ".", err));
	if (snprintf(file, sizeof(file), "%s/store.mdb", work) >= (int)sizeof(file))
		return err_set(err, ERR_USAGE, "%s: name too long", a->out);
	if (rename(file, made))
		return err_sys(err, errno, "%s", made);
	return 0;
}

/* Salvages into a directory of its own, and gives the store its name when it is whole. If a full
 * disk or a kill ends it before, there is nothing that a service would start on. */
static int salvage_whole(const struct admin *a, const char *path, const char *made,
			 struct store_salvaged *found, struct err *err)
{
	static const struct store_salvage_use use = {.describe = describe_salvaged,
						     .lost = tell_lost};
	char work[LIMIT_PATH_LEN];
	int rc;

	if (snprintf(work, sizeof(work), "%s/" STORE_SALVAGE_NAME, a->out) >= (int)sizeof(work))
		return err_set(err, ERR_USAGE, "%s: name too long", a->out);
	remove_work(work); /* left by a salvage that was killed */
	if (mkdir(work, 0700))
		return err_sys(err, errno, "%s", work);
	rc = store_salvage(path, work, RSYM_MAJOR, &use, found, err);
	rc = rc ? rc : place_salvaged(a, work, made, err);
	remove_work(work);
	return rc ? rc : sync_dir(a->out, err);
}

static const struct option_usage salvage_usage = {
	.name = PROGRAM "salvage",
	.about = "Copies what is intact of a damaged store into the new data directory OUT: "
		 "records and tables, each proved by its checksum. Prints which tables are lost. "
		 "The service must be stopped. DIR stays as it is; its subdirectories `kept` and "
		 "`uploads` may be moved to OUT. OUT gets a store only when that is whole.",
	DATA_AND_OUT,
};

static int run_salvage(int argc, char **argv, struct err *err)
{
	struct admin a = {0};
	char path[LIMIT_PATH_LEN], made[LIMIT_PATH_LEN];
	_cleanup_(data_dir_unlock) struct dir_lock lock = DIR_LOCK_NONE;
	struct store_salvaged found;
	bool is_new;
	int rc;

	TRY(parse_admin(&salvage_usage, argc, argv, &a, err));
	if (snprintf(path, sizeof(path), "%s/store.mdb", a.data) >= (int)sizeof(path) ||
	    snprintf(made, sizeof(made), "%s/store.mdb", a.out) >= (int)sizeof(made))
		return err_set(err, ERR_USAGE, "%s: name too long", a.data);
	if (access(path, R_OK))
		return err_sys(err, errno, "%s", path);
	TRY(lock_stopped(a.data, &lock, err));
	is_new = !mkdir(a.out, 0700);
	if (!is_new && errno != EEXIST)
		return err_sys(err, errno, "%s", a.out);
	if (!access(made, F_OK))
		return err_set(err, ERR_EXISTS, "%s: holds a store already", made);
	rc = salvage_whole(&a, path, made, &found, err);
	if (rc && is_new)
		(void)rmdir(a.out);
	if (rc)
		return rc;
	printf("%s: %zu records, %zu tables, %zu tables whose record was lost, %zu binaries that "
	       "lost a table\n",
	       made, found.records, found.tables, found.tables_without_record, found.lost);
	return 0;
}

static const struct command cmd_salvage = {
	.usage = &salvage_usage,
	.run = run_salvage,
	.summary = "copy what is intact of a damaged store",
};

const struct command *const symbolizer_admin_commands[] = {
	&cmd_backup, &cmd_compact, &cmd_verify, &cmd_salvage, NULL,
};
