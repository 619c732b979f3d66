/* SPDX-License-Identifier: Apache-2.0 */
#include "table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "digest.h"
#include "io.h"
#include "limits.h"
#include "sort.h"

/* Older temporary files were left by processes that were killed while they wrote. */
#define ASIDE_SECONDS 3600
#define FILES_MAX     65536
/* No part takes longer than the worker may live. */
#define PART_MS_MAX   LIMIT_WORKER_WALL_MS

/* Opens or makes the directory, with access for this user only, because it tells which files the
 * user looked at. Returns -1 if that fails. */
static int open_cache_dir(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[LIMIT_PATH_LEN];
	struct stat st;
	int fd, n;

	/* The XDG base directory specification says to ignore a path that is not absolute. */
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

static void file_stamp(const struct stat *st, uint64_t out[static 3])
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

	*c = (struct table_cache){.dir_fd = open_cache_dir()};
	if (c->dir_fd < 0)
		return;
	/* Another build of this program may make other tables, in another format. */
	if (!stat("/proc/self/exe", &st))
		file_stamp(&st, key);
	for (size_t i = 0; i < count && i < 3; i++)
		if (fds[i] >= 0 && !fstat(fds[i], &st))
			file_stamp(&st, key + 3 * (i + 1));
	digest_sha256(key, sizeof(key), sum);
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

/* Drops the least recently used tables, and files that killed processes left. */
static void trim_cache(const struct table_cache *c)
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
		if (!GROW(list, &cap, count + 1, FILES_MAX))
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

/* Opens a file without a name if the file system supports that, so that nothing stays when this
 * process is killed. Otherwise the file gets a temporary name, which trim_cache() drops later. */
static int open_aside(const struct table_cache *c, const char *aside)
{
	int fd = openat(c->dir_fd, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

	return fd >= 0 ? fd
		       : openat(c->dir_fd, aside,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
}

struct piece {
	const void *p;
	size_t len;
	uint64_t off; /* in the file */
};

/* Writes a temporary file. Returns false if that fails, and may leave a part of it. */
static bool write_aside(const struct table_cache *c, const char *aside, const struct piece *pieces,
			size_t count)
{
	_cleanup_(closep) int fd = open_aside(c, aside);
	struct err ignored;
	struct stat st;
	char path[32];

	if (fd < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (io_write_all(io_system(), fd, pieces[i].p, pieces[i].len, pieces[i].off,
				 &ignored))
			return false;
	if (fstat(fd, &st))
		return false;
	if (st.st_nlink)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return !linkat(AT_FDCWD, path, c->dir_fd, aside, AT_SYMLINK_FOLLOW);
}

/* The length of the name of a file beside a table: the table's name and a suffix. */
#define BESIDE_MAX (sizeof(((struct table_cache *)NULL)->name) + 8)

static void path_beside(const struct table_cache *c, const char *what, char ret[static BESIDE_MAX])
{
	snprintf(ret, BESIDE_MAX, "%s.%s", c->name, what);
}

static void drop_cached(const struct table_cache *c, const char *what)
{
	char name[BESIDE_MAX];

	path_beside(c, what, name);
	unlinkat(c->dir_fd, name, 0);
}

/* Keeps a file by renaming a temporary one, so that a reader finds the old file or the whole new
 * one. Returns false if it is not kept. */
static bool keep_cached(const struct table_cache *c, const char *name, const struct piece *pieces,
			size_t count)
{
	char aside[BESIDE_MAX + 16];

	snprintf(aside, sizeof(aside), ".%s.%d", name, getpid());
	if (write_aside(c, aside, pieces, count) && !renameat(c->dir_fd, aside, c->dir_fd, name))
		return true;
	unlinkat(c->dir_fd, aside, 0);
	return false;
}

void table_cache_keep(const struct table_cache *c, const void *p, size_t len)
{
	if (c->dir_fd < 0 || len > TABLE_CACHE_MAX ||
	    !keep_cached(c, c->name, &(struct piece){.p = p, .len = len}, 1))
		return;
	drop_cached(c, "seen");
	drop_cached(c, "part");
	trim_cache(c);
}

/* The file of a part: [part_head][addresses][padding up to a multiple of PART_ALIGN][table]. */
struct part_head {
	uint64_t magic, count, table_len;
};

#define PART_MAGIC UINT64_C(0x31747261706d7372) /* "rsmpart1" */
#define PART_ALIGN 65536 /* the largest page size of the supported machines */

static size_t table_off(uint64_t count)
{
	return (sizeof(struct part_head) + count * sizeof(uint64_t) + PART_ALIGN - 1) &
	       ~(size_t)(PART_ALIGN - 1);
}

void table_cache_keep_part(const struct table_cache *c, const uint64_t *vaddrs, size_t count,
			   const void *p, size_t len)
{
	const struct part_head head = {PART_MAGIC, count, len};
	const struct piece pieces[] = {
		{&head, sizeof(head), 0},
		{vaddrs, count * sizeof(*vaddrs), sizeof(head)},
		{p, len, table_off(count)},
	};
	char name[BESIDE_MAX];

	if (c->dir_fd < 0 || count > LIMIT_WANTED || len > TABLE_CACHE_MAX)
		return;
	path_beside(c, "part", name);
	if (keep_cached(c, name, pieces, ARRAY_LEN(pieces)))
		trim_cache(c);
}

int table_cache_find_part(const struct table_cache *c, const uint64_t *vaddrs, size_t count,
			  size_t *ret_off)
{
	_cleanup_(freep) uint64_t *list = NULL;
	_cleanup_(closep) int fd = -1;
	struct part_head head;
	char name[BESIDE_MAX];
	struct stat st;
	size_t len;

	if (c->dir_fd < 0)
		return -1;
	path_beside(c, "part", name);
	fd = openat(c->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) ||
	    pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != PART_MAGIC || head.count > LIMIT_WANTED || head.count < count ||
	    (uint64_t)st.st_size != table_off(head.count) + head.table_len)
		return -1;
	len = head.count * sizeof(*list);
	list = malloc(len + 1);
	if (!list || pread(fd, list, len, sizeof(head)) != (ssize_t)len)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (!bsearch(&vaddrs[i], list, head.count, sizeof(*list), compare_u64))
			return -1;
	futimens(fd, NULL); /* used now */
	*ret_off = table_off(head.count);
	return TAKE_FD(fd);
}

/* The content of a note. A damaged one only delays a table. */
struct note {
	uint32_t parts;      /* parts read so far */
	uint32_t part_ms;    /* time of the part before the claim */
	uint64_t claimed_ms; /* CLOCK_REALTIME */
};

static int open_note(const struct table_cache *c, int flags)
{
	char name[BESIDE_MAX];

	path_beside(c, "seen", name);
	return c->dir_fd < 0
		       ? -1
		       : openat(c->dir_fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

static struct note read_note(int fd)
{
	struct note n;

	return pread(fd, &n, sizeof(n), 0) == (ssize_t)sizeof(n) ? n : (struct note){0};
}

static bool write_cache_note(int fd, const struct note *n)
{
	return pwrite(fd, n, sizeof(*n), 0) == (ssize_t)sizeof(*n);
}

unsigned int table_cache_count(const struct table_cache *c)
{
	_cleanup_(closep) int fd = open_note(c, O_RDWR | O_CREAT);
	struct note n = fd < 0 ? (struct note){0} : read_note(fd);

	n.parts += n.parts < INT32_MAX;
	return fd >= 0 && write_cache_note(fd, &n) ? n.parts : 0;
}

static uint64_t unix_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* The lock is an open file description lock (fcntl(2)), so a child inherits it, and a query does
 * not release it. */
static bool lock_note(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(fd, F_OFD_SETLK, &l);
}

static bool note_is_locked(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

int table_cache_claim(const struct table_cache *c, uint32_t part_ms)
{
	_cleanup_(closep) int fd = open_note(c, O_RDWR | O_CREAT), kept = -1;
	struct note n;
	struct stat st;

	if (fd < 0 || !lock_note(fd))
		return -1;
	n = read_note(fd);
	n.part_ms = part_ms;
	n.claimed_ms = unix_now_ms();
	kept = table_cache_find(c);
	if (kept >= 0 || fstat(fd, &st) || !st.st_nlink || !write_cache_note(fd, &n)) {
		/* The previous holder of the claim may have kept the table just now, and this note
		 * may be a new one. */
		if (kept >= 0)
			drop_cached(c, "seen");
		return -1;
	}
	return TAKE_FD(fd);
}

int table_cache_await(const struct table_cache *c, unsigned int share)
{
	static const struct timespec pause = {.tv_nsec = 2000000};
	_cleanup_(closep) int fd = open_note(c, O_RDWR);
	uint64_t start = unix_now_ms(), age, whole, answer;
	int kept = -1;
	struct note n;

	if (fd < 0 || !note_is_locked(fd))
		return -1;
	n = read_note(fd);
	if (n.part_ms > PART_MS_MAX)
		n.part_ms = PART_MS_MAX;
	/* A table takes one and a half times as long as a part that reads most of the file
	 * (tests/bench/RESULTS.md). */
	whole = n.part_ms + n.part_ms / 2;
	age = start > n.claimed_ms ? start - n.claimed_ms : 0;
	answer = share ? (uint64_t)n.part_ms * share / 100 : 2 * whole;
	if (age + answer < whole)
		return -1;
	while (unix_now_ms() - start <= answer) {
		/* The lock is checked before the table, because the maker keeps the table before it
		 * unlocks. */
		bool made = !note_is_locked(fd);

		kept = table_cache_find(c);
		if (kept >= 0 || made)
			break;
		nanosleep(&pause, NULL);
	}
	return kept;
}
