/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file_open.h"
#include "io.h"

enum {
	READ_LEN = 64 << 10, /* a line is shorter, or is passed over */
};

/* The last number of a line of /proc/PID/status, or the one at `index`. */
static bool status_number(const char *status, const char *key, int index, uint32_t *ret)
{
	const char *at = strstr(status, key), *end;
	bool found = false;

	if (!at)
		return false;
	at += strlen(key);
	end = at + strcspn(at, "\n");
	for (int i = 0; at < end && (index < 0 || i <= index); i++) {
		char *next;
		unsigned long v = strtoul(at, &next, 10);

		if (next == at || next > end)
			break;
		*ret = (uint32_t)v;
		found = index < 0 || i == index;
		at = next;
	}
	return found;
}

/* Whether the file was last written to before the process began: then it is of another one that
 * had this pid. Clocks that were set meanwhile make it say so wrongly at worst: no name then. */
static bool is_stale(uint32_t pid, const struct stat *st)
{
	_cleanup_(freep) uint8_t *text = NULL;
	struct timespec real, boot;
	uint64_t ticks = 0;
	double start;
	char path[64];
	char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, 4096, &text, &len, NULL))
		return true;
	/* Field 22 (proc_pid_stat(5)), counted behind the name, which may hold anything. */
	at = strrchr((char *)text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		ticks = strtoull(at, NULL, 10);
	if (!ticks || clock_gettime(CLOCK_REALTIME, &real) || clock_gettime(CLOCK_BOOTTIME, &boot))
		return true;
	start = (double)(real.tv_sec - boot.tv_sec) + (double)(real.tv_nsec - boot.tv_nsec) / 1e9 +
		(double)ticks / (double)sysconf(_SC_CLK_TCK);
	/* A second of grace: file systems round. */
	return (double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec / 1e9 + 1 < start;
}

/* A thread's process, and where its map would be. */
struct place {
	uint32_t pid, uid;
	char root[32], path[48];
};

static bool find_place(struct place *ret, uint32_t tid)
{
	_cleanup_(freep) uint8_t *status = NULL;
	uint32_t inner_pid;
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	if (io_read_file(path, 65536, &status, &len, NULL) ||
	    !status_number((const char *)status, "\nTgid:", 0, &ret->pid) ||
	    !status_number((const char *)status, "\nNStgid:", -1, &inner_pid) ||
	    !status_number((const char *)status, "\nUid:", 1, &ret->uid))
		return false;
	snprintf(ret->root, sizeof(ret->root), "/proc/%u/root", tid);
	snprintf(ret->path, sizeof(ret->path), "/tmp/perf-%u.map", inner_pid);
	return true;
}

bool perf_map_is_absent(uint32_t tid)
{
	_cleanup_(closep) int fd = -1;
	struct place at;

	if (!find_place(&at, tid))
		return false;
	fd = file_find_in_root(at.root, at.path, FILE_OPEN_NO_LINK | FILE_OPEN_CACHED);
	return fd == -ENOENT;
}

int perf_map_open(uint32_t tid)
{
	struct place at;
	struct stat st;
	int fd;

	if (!find_place(&at, tid))
		return -ESRCH;
	fd = file_find_in_root(at.root, at.path, FILE_OPEN_NO_LINK);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || st.st_uid != at.uid || st.st_mode & (S_IWGRP | S_IWOTH) ||
	    is_stale(at.pid, &st)) {
		close(fd);
		return -EPERM;
	}
	return file_reopen(fd);
}

/* "<hex> <hex> <name>" */
static void take_line(char *line, const uint64_t *pcs, size_t count, struct perf_map_row *rows)
{
	char *at;
	uint64_t start = strtoull(line, &at, 16), len = at > line ? strtoull(at, &at, 16) : 0;

	while (*at == ' ' || *at == '\t')
		at++;
	if (!len || !*at)
		return;
	for (size_t i = 0; i < count; i++) {
		if (pcs[i] < start || pcs[i] - start >= len)
			continue;
		rows[i].start = start;
		rows[i].len = len;
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", at);
	}
}

int perf_map_find(int fd, const uint64_t *pcs, size_t count, struct perf_map_row *ret)
{
	_cleanup_(freep) char *buf = malloc(READ_LEN + 1);
	size_t have = 0, total = 0;
	bool skip = false;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	memset(ret, 0, count * sizeof(*ret));
	while (total < LIMIT_PERF_MAP_LEN && (n = read(fd, buf + have, READ_LEN - have)) > 0) {
		char *line = buf, *end;

		total += (size_t)n;
		have += (size_t)n;
		buf[have] = 0;
		while ((end = memchr(line, '\n', (size_t)(buf + have - line)))) {
			*end = 0;
			if (!skip)
				take_line(line, pcs, count, ret);
			skip = false;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == READ_LEN) {
			skip = true;
			have = 0;
		}
	}
	/* What has no end of line is being written. */
	return 0;
}
