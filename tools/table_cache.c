/* SPDX-License-Identifier: Apache-2.0 */
#include "table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "digest.h"
#include "io.h"
#include "limits.h"

/* Left by a process that was killed while it wrote. */
#define ASIDE_SECONDS 3600
#define FILES_MAX     65536

/* The directory, made when it is not there; nobody else may look at what was looked at. */
static int open_dir(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[LIMIT_PATH_LEN];
	struct stat st;
	int fd, n;

	/* The XDG base directory specification: a path that is not absolute is ignored. */
	if (cache && *cache == '/')
		n = snprintf(path, sizeof(path), "%s", cache);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.cache", home);
	else
		return -1;
	if (n < 0 || (size_t)n + sizeof("/rawstack") > sizeof(path))
		return -1;
	mkdir(path, 0700);
	memcpy(path + n, "/rawstack", sizeof("/rawstack"));
	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 022)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void stamp(const struct stat *st, uint64_t out[static 3])
{
	out[0] = (uint64_t)st->st_size;
	out[1] = (uint64_t)st->st_mtim.tv_sec;
	out[2] = (uint64_t)st->st_mtim.tv_nsec;
}

void table_cache_open(struct table_cache *c, const struct build_id *id, const int *fds,
		      size_t count)
{
	uint64_t key[3 * 4] = {0};
	char hex[BUILD_ID_HEX_MAX];
	uint8_t sum[DIGEST_LEN];
	struct stat st;

	*c = (struct table_cache){.dir_fd = open_dir()};
	if (c->dir_fd < 0)
		return;
	/* Another build of this program may make other tables, in another format. */
	if (!stat("/proc/self/exe", &st))
		stamp(&st, key);
	for (size_t i = 0; i < count && i < 3; i++)
		if (fds[i] >= 0 && !fstat(fds[i], &st))
			stamp(&st, key + 3 * (i + 1));
	if (digest_sha256(key, sizeof(key), sum, NULL)) {
		table_cache_close(c);
		return;
	}
	snprintf(c->name, sizeof(c->name), "%s-%02x%02x%02x%02x%02x%02x%02x%02x.rsym",
		 build_id_hex(id, hex), sum[0], sum[1], sum[2], sum[3], sum[4], sum[5], sum[6],
		 sum[7]);
}

void table_cache_close(struct table_cache *c)
{
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	c->dir_fd = -1;
}

int table_cache_find(const struct table_cache *c)
{
	int fd = c->dir_fd < 0 ? -1 : openat(c->dir_fd, c->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0)
		futimens(fd, NULL); /* used now */
	return fd;
}

struct kept {
	struct timespec used;
	uint64_t len;
	char name[256];
};

static int by_use(const void *va, const void *vb)
{
	const struct kept *a = va, *b = vb;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* Drops what was not used for longest, and what the killed left behind. */
static void trim(const struct table_cache *c)
{
	_cleanup_(freep) struct kept *list = NULL;
	size_t count = 0, cap = 0;
	uint64_t sum = 0;
	int fd = openat(c->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	struct stat st;

	while (dir && (e = readdir(dir))) {
		if (fstatat(c->dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (e->d_name[0] == '.' && st.st_mtime > time(NULL) - ASIDE_SECONDS)
			continue;
		if (!grow_array((void **)&list, &cap, count + 1, sizeof(*list), FILES_MAX))
			break;
		if (e->d_name[0] == '.')
			st.st_mtim.tv_sec = 0;
		list[count] = (struct kept){.used = st.st_mtim, .len = (uint64_t)st.st_size};
		snprintf(list[count].name, sizeof(list[count].name), "%s", e->d_name);
		sum += list[count++].len;
	}
	if (dir)
		closedir(dir);
	else
		closep(&fd);
	if (count)
		qsort(list, count, sizeof(*list), by_use);
	for (size_t i = 0; i < count; i++) {
		if (sum <= TABLE_CACHE_MAX && list[i].name[0] != '.' && count - i <= FILES_MAX / 2)
			break;
		if (strcmp(list[i].name, c->name) == 0)
			continue;
		unlinkat(c->dir_fd, list[i].name, 0);
		sum -= list[i].len;
	}
}

/* Beside its place, and whole: what reads it meanwhile finds the old one or none. */
static bool write_aside(const struct table_cache *c, const char *aside, const void *p, size_t len)
{
	_cleanup_(closep) int fd = openat(
		c->dir_fd, aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct err ignored;

	return fd >= 0 && !io_write_all(io_system(), fd, p, len, 0, &ignored);
}

void table_cache_keep(const struct table_cache *c, const void *p, size_t len)
{
	char other[sizeof(c->name) + 16];

	if (c->dir_fd < 0 || len > TABLE_CACHE_MAX)
		return;
	snprintf(other, sizeof(other), ".%s.%d", c->name, getpid());
	if (!write_aside(c, other, p, len) || renameat(c->dir_fd, other, c->dir_fd, c->name)) {
		unlinkat(c->dir_fd, other, 0);
		return;
	}
	snprintf(other, sizeof(other), "%s.seen", c->name);
	unlinkat(c->dir_fd, other, 0);
	trim(c);
}

unsigned int table_cache_count(const struct table_cache *c)
{
	_cleanup_(closep) int fd = -1;
	char seen[sizeof(c->name) + 8];
	struct stat st;

	if (c->dir_fd < 0)
		return 0;
	snprintf(seen, sizeof(seen), "%s.seen", c->name);
	fd = openat(c->dir_fd, seen, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, ".", 1) != 1 || fstat(fd, &st))
		return 0;
	return st.st_size > INT32_MAX ? INT32_MAX : (unsigned int)st.st_size;
}
