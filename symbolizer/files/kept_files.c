/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "data_dir.h"
#include "io.h"
#include "limits.h"
#include "zstd_file.h"

/* Files kept to be used again: each waits for the file that goes with it. */
#define LIMIT_KEPT_FILES LIMIT(100000)

enum {
	NAME_LEN = BUILD_ID_HEX_MAX + 16
};

struct kept {
	struct build_id id;
	enum kept_role role;
	uint64_t bytes, used_ns;
};

struct kept_files {
	int dir_fd;
	pthread_mutex_t lock;
	struct kept *list;
	size_t count, cap;
	uint64_t bytes;
	atomic_ullong max_bytes; /* set under the lock */
};

static const char *const role_names[KEPT_ROLES] = {"debug", "executable", "alt", "dwp", "failed"};

static void file_name(const struct build_id *id, enum kept_role role, char name[static NAME_LEN])
{
	char hex[BUILD_ID_HEX_MAX];

	snprintf(name, NAME_LEN, "%s.%s", build_id_hex(id, hex), role_names[role]);
}

/* --- with the lock held ---------------------------------------------------------------------- */

static struct kept *find_kept(struct kept_files *k, const struct build_id *id, enum kept_role role)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->list[i].role == role && build_id_equal(&k->list[i].id, id))
			return &k->list[i];
	return NULL;
}

static void forget_kept(struct kept_files *k, struct kept *f)
{
	k->bytes -= f->bytes;
	*f = k->list[--k->count];
}

static void drop_kept(struct kept_files *k, struct kept *f)
{
	char name[NAME_LEN];

	file_name(&f->id, f->role, name);
	unlinkat(k->dir_fd, name, 0);
	forget_kept(k, f);
}

static bool add_kept(struct kept_files *k, const struct kept *f)
{
	if (!GROW(k->list, &k->cap, k->count + 1, LIMIT_KEPT_FILES))
		return false;
	k->list[k->count++] = *f;
	k->bytes += f->bytes;
	return true;
}

/* Drops the least recently used file. The list is not empty. */
static void drop_oldest_kept(struct kept_files *k)
{
	struct kept *oldest = &k->list[0];

	for (size_t i = 1; i < k->count; i++)
		if (k->list[i].used_ns < oldest->used_ns)
			oldest = &k->list[i];
	drop_kept(k, oldest);
}

/* Makes room for one more file of so many bytes. */
static void make_kept_room(struct kept_files *k, uint64_t bytes)
{
	while (k->count && (k->bytes + bytes > k->max_bytes || k->count >= LIMIT_KEPT_FILES))
		drop_oldest_kept(k);
}

/* --- from outside ---------------------------------------------------------------------------- */

/* Packs a file into `out`, which has no name yet. The packing does not look at the room on the
 * disk, so that is checked before. */
static int write_packed(struct kept_files *k, int fd, uint64_t len, int out, uint64_t *ret_len,
			struct err *err)
{
	if (io_system()->free_bytes(NULL, k->dir_fd) < len + LIMIT_DISK_FLOOR)
		return err_set(err, ERR_LIMIT, "not enough free disk space");
	TRY(zstd_file_pack(fd, len, out, ret_len, err));
	if (fsync(out))
		return err_sys(err, errno, "kept file");
	if (*ret_len > k->max_bytes)
		return err_set(err, ERR_LIMIT, "a file of %llu bytes to keep, the budget is %llu",
			       (unsigned long long)*ret_len, (unsigned long long)k->max_bytes);
	return 0;
}

int kept_files_put(struct kept_files *k, const struct build_id *id, enum kept_role role, int fd,
		   uint64_t len, struct err *err)
{
	char name[NAME_LEN], temporary[NAME_LEN + 8], path[32];
	struct kept f = {.id = *id, .role = role}, *old;
	_cleanup_(closep) int out = -1;
	int rc = 0;

	if (k->max_bytes == 0)
		return err_set(err, ERR_LIMIT, "nothing is kept");
	file_name(id, role, name);
	snprintf(temporary, sizeof(temporary), "%s.new", name);
	/* Two builds of one id may pack a file of the same role at once, so `out` has no name. */
	out = openat(k->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (out < 0)
		return err_sys(err, errno, "kept/%s", name);
	TRY(write_packed(k, fd, len, out, &f.bytes, err));
	f.used_ns = io_system()->real_ns(NULL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	pthread_mutex_lock(&k->lock);
	unlinkat(k->dir_fd, temporary, 0); /* left by a crash */
	old = find_kept(k, id, role);
	if (old)
		forget_kept(k, old);
	make_kept_room(k, f.bytes);
	if (linkat(AT_FDCWD, path, k->dir_fd, temporary, AT_SYMLINK_FOLLOW) ||
	    renameat(k->dir_fd, temporary, k->dir_fd, name) || fsync(k->dir_fd))
		rc = err_sys(err, errno, "kept/%s", name);
	else if (!add_kept(k, &f))
		rc = err_no_memory(err);
	if (rc) {
		/* A file that is not in the list would escape the budget. */
		unlinkat(k->dir_fd, temporary, 0);
		unlinkat(k->dir_fd, name, 0);
	}
	pthread_mutex_unlock(&k->lock);
	return rc;
}

bool kept_files_have(struct kept_files *k, const struct build_id *id, enum kept_role role)
{
	bool have;

	pthread_mutex_lock(&k->lock);
	have = find_kept(k, id, role) != NULL;
	pthread_mutex_unlock(&k->lock);
	return have;
}

void kept_files_remove(struct kept_files *k, const struct build_id *id, enum kept_role role)
{
	struct kept *f;

	pthread_mutex_lock(&k->lock);
	f = find_kept(k, id, role);
	if (f)
		drop_kept(k, f);
	pthread_mutex_unlock(&k->lock);
}

int kept_files_remove_all(struct kept_files *k, const struct build_id *id, struct err *err)
{
	struct kept *f;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	for (int role = 0; role < KEPT_ROLES; role++)
		if ((f = find_kept(k, id, (enum kept_role)role)))
			drop_kept(k, f);
	if (fsync(k->dir_fd))
		rc = err_sys(err, errno, "kept");
	pthread_mutex_unlock(&k->lock);
	return rc;
}

/* Opens the packed file and notes its use. Returns -1 if there is none. */
static int open_kept(struct kept_files *k, const struct build_id *id, enum kept_role role)
{
	struct kept *f;
	char name[NAME_LEN];
	int fd = -1;

	file_name(id, role, name);
	pthread_mutex_lock(&k->lock);
	f = find_kept(k, id, role);
	if (f) {
		f->used_ns = io_system()->real_ns(NULL);
		if (data_dir_open_file(k->dir_fd, "kept", name, O_RDONLY, &fd, NULL))
			forget_kept(k, f);
		else
			futimens(fd, NULL);
	}
	pthread_mutex_unlock(&k->lock);
	return fd;
}

int kept_files_get(struct kept_files *k, const struct build_id *id, enum kept_role role,
		   int *ret_fd, struct err *err)
{
	_cleanup_(closep) int packed = open_kept(k, id, role), out = -1;
	int rc;

	if (packed < 0)
		return 0;
	out = openat(k->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (out < 0)
		return err_sys(err, errno, "temporary file for a kept one");
	rc = zstd_file_unpack(packed, out, LIMIT_UPLOAD_LEN, err);
	if (rc == ERR_DATA)
		kept_files_remove(k, id, role);
	if (rc)
		return rc;
	*ret_fd = TAKE_FD(out);
	return 1;
}

int kept_files_dir(const struct kept_files *k)
{
	return k->dir_fd;
}

void kept_files_stat(struct kept_files *k, struct kept_files_stat *ret)
{
	pthread_mutex_lock(&k->lock);
	*ret = (struct kept_files_stat){k->count, k->bytes, k->max_bytes};
	pthread_mutex_unlock(&k->lock);
}

/* --- open ------------------------------------------------------------------------------------ */

/* Returns whether a name has the shape of ours; *ret_whole is false for a file that is being
 * written. */
static bool parse_kept_name(const char *name, struct kept *f, bool *ret_whole)
{
	const char *dot = strchr(name, '.');
	char hex[BUILD_ID_HEX_MAX];

	if (!dot || dot - name >= (int)sizeof(hex))
		return false;
	snprintf(hex, sizeof(hex), "%.*s", (int)(dot - name), name);
	for (int role = 0; role < KEPT_ROLES; role++)
		if (!strncmp(dot + 1, role_names[role], strlen(role_names[role]))) {
			const char *rest = dot + 1 + strlen(role_names[role]);

			f->role = (enum kept_role)role;
			*ret_whole = !*rest;
			return (!*rest || !strcmp(rest, ".new")) &&
			       !build_id_parse(&f->id, hex, NULL);
		}
	return false;
}

static int scan_kept(struct kept_files *k, struct err *err)
{
	int fd = openat(k->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		closep(&fd);
		return err_sys(err, errno, "kept");
	}
	while ((e = readdir(dir))) {
		struct kept f = {0};
		struct stat st;
		bool whole;

		if (!parse_kept_name(e->d_name, &f, &whole))
			continue;
		if (!whole || fstatat(k->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode)) {
			unlinkat(k->dir_fd, e->d_name, 0);
			continue;
		}
		f.bytes = (uint64_t)st.st_size;
		f.used_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
		if (!add_kept(k, &f))
			break;
	}
	closedir(dir);
	make_kept_room(k, 0);
	return 0;
}

void kept_files_set_max(struct kept_files *k, uint64_t max_bytes)
{
	pthread_mutex_lock(&k->lock);
	k->max_bytes = max_bytes;
	while (k->count && k->bytes > k->max_bytes)
		drop_oldest_kept(k);
	pthread_mutex_unlock(&k->lock);
}

int kept_files_open(struct kept_files **ret, int data_fd, uint64_t max_bytes, struct err *err)
{
	struct kept_files *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return err_no_memory(err);
	k->max_bytes = max_bytes;
	pthread_mutex_init(&k->lock, NULL);
	k->dir_fd = -1;
	rc = data_dir_open_part(data_fd, "kept", &k->dir_fd, err);
	if (!rc)
		rc = scan_kept(k, err);
	if (rc) {
		kept_files_close(k);
		return rc;
	}
	*ret = k;
	return 0;
}

void kept_files_close(struct kept_files *k)
{
	if (!k)
		return;
	closep(&k->dir_fd);
	free(k->list);
	pthread_mutex_destroy(&k->lock);
	free(k);
}
