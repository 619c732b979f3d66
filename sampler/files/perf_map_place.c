/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_map_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "file_open.h"
#include "io.h"
#include "number.h"

#define DIR_PATH "/tmp"

/* Reads the number at `index` of a line of /proc/PID/status, or the last one if index is negative.
 * Returns whether there is one. */
static bool status_number(const char *status, const char *key, int index, uint32_t *ret)
{
	const char *at = strstr(status, key), *end;
	bool found = false;

	if (!at)
		return false;
	at += strlen(key);
	end = at + strcspn(at, "\n");
	for (int i = 0; at < end && (index < 0 || i <= index); i++) {
		uint64_t n;

		if (!number_take_next(&at, 10, &n))
			break;
		*ret = (uint32_t)n;
		found = index < 0 || i == index;
	}
	return found;
}

/* Returns when a process began, or 0 when that is unknown. */
static double start_of(uint32_t pid)
{
	_cleanup_(freep) uint8_t *text = NULL;
	struct timespec real, boot;
	uint64_t ticks = 0;
	char path[64];
	const char *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, 4096, &text, &len, NULL))
		return 0;
	/* Field 22 (proc_pid_stat(5)), counted behind the name, which may hold anything. */
	at = strrchr((const char *)text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || !number_take_next(&at, 10, &ticks) || !ticks ||
	    clock_gettime(CLOCK_REALTIME, &real) || clock_gettime(CLOCK_BOOTTIME, &boot))
		return 0;
	return (double)(real.tv_sec - boot.tv_sec) + (double)(real.tv_nsec - boot.tv_nsec) / 1e9 +
	       (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

int perf_map_place_find(struct perf_map_place *ret, uint32_t tid)
{
	_cleanup_(freep) uint8_t *status = NULL;
	uint32_t inner_pid;
	char path[64];
	size_t len;

	*ret = (struct perf_map_place){.pid = 0};
	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	if (io_read_file(path, 65536, &status, &len, NULL) ||
	    !status_number((const char *)status, "\nTgid:", 0, &ret->pid) ||
	    !status_number((const char *)status, "\nNStgid:", -1, &inner_pid) ||
	    !status_number((const char *)status, "\nUid:", 1, &ret->uid))
		return -ESRCH;
	ret->start = start_of(ret->pid);
	snprintf(ret->name, sizeof(ret->name), "perf-%u.map", inner_pid);
	return ret->start > 0 ? 0 : -ESRCH;
}

int perf_map_place_dir(uint32_t tid, bool is_cached)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", tid);
	return file_find_in_root(root, DIR_PATH, is_cached ? FILE_OPEN_CACHED : 0);
}

int perf_map_place_file(const struct perf_map_place *p, int dir_fd, bool is_cached)
{
	return file_find_below(dir_fd, p->name,
			       FILE_OPEN_NO_LINK | (is_cached ? FILE_OPEN_CACHED : 0));
}

/* Returns whether a file was last written to while the process lived; otherwise it is of another
 * process that had this pid. At worst, a clock that was set meanwhile makes this wrongly false,
 * which costs names. A second of grace allows for file systems that round. */
static bool is_of_its_time(const struct perf_map_place *p, const struct stat *st)
{
	const double written = (double)st->st_mtim.tv_sec + (double)st->st_mtim.tv_nsec / 1e9;

	return written + 1 >= p->start && (p->end <= 0 || written <= p->end + 1);
}

int perf_map_place_open(const struct perf_map_place *p, int file_fd)
{
	struct stat st;

	if (fstat(file_fd, &st) || st.st_uid != p->uid || st.st_mode & (S_IWGRP | S_IWOTH) ||
	    !is_of_its_time(p, &st)) {
		close(file_fd);
		return -EPERM;
	}
	return file_reopen(file_fd);
}
