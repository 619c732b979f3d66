/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_map_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* By how much, in seconds, a process may seem to start after the sample that it had: two ticks of
 * 10 ms, because /proc tells the start in ticks. */
#define TICK_S 0.02

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	return clock_gettime(clock, &t) ? 0 : (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int open_process_fd(uint32_t pid)
{
	return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
}

/* A descriptor of a process becomes readable when the process ends. */
static bool has_ended(int pid_fd)
{
	struct pollfd p = {.fd = pid_fd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

static void close_row(struct perf_map_kept *m)
{
	closep(&m->pid_fd);
	closep(&m->dir_fd);
	closep(&m->map_fd);
}

static void remove_row(struct perf_map_keep *k, size_t i)
{
	close_row(&k->all[i]);
	k->all[i] = k->all[--k->count];
}

static struct perf_map_kept *find_kept_map(struct perf_map_keep *k, uint64_t image)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->all[i].image == image)
			return &k->all[i];
	return NULL;
}

const struct perf_map_kept *perf_map_keep_find(const struct perf_map_keep *k, uint64_t image)
{
	return find_kept_map((struct perf_map_keep *)(uintptr_t)k, image);
}

/* Returns a new row. A full table drops the row that was used longest ago. */
static struct perf_map_kept *new_row(struct perf_map_keep *k)
{
	size_t oldest = 0;

	if (k->count == ARRAY_LEN(k->all)) {
		for (size_t i = 1; i < k->count; i++)
			if (k->all[i].used_ns < k->all[oldest].used_ns)
				oldest = i;
		remove_row(k, oldest);
	}
	return &k->all[k->count++];
}

void perf_map_keep_add(struct perf_map_keep *k, uint64_t image, uint32_t tid, uint64_t seen_ns,
		       uint64_t now_ns)
{
	struct perf_map_kept *known = find_kept_map(k, image),
			     found = {image, now_ns, {0}, -1, -1, -1};
	const double seen =
		seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_MONOTONIC) + (double)seen_ns / 1e9;

	if (known && perf_map_kept_ended(known))
		return;
	if (perf_map_place_find(&found.place, tid))
		return;
	found.pid_fd = known ? known->pid_fd : open_process_fd(found.place.pid);
	if (found.pid_fd < 0)
		return;
	/* The tid still leads to this process if the process has not ended meanwhile. For a new row
	 * that is checked below. */
	found.dir_fd = perf_map_place_dir(tid, true);
	if (found.dir_fd < 0 && known) {
		found.dir_fd = known->dir_fd;
		known->dir_fd = -1;
	}
	if (known) {
		closep(&known->dir_fd);
		*known = found;
		return;
	}
	if (found.dir_fd < 0 || found.place.start > seen + TICK_S || has_ended(found.pid_fd))
		close_row(&found);
	else
		*new_row(k) = found;
}

int perf_map_kept_open(const struct perf_map_kept *m)
{
	int fd = m->map_fd >= 0   ? fcntl(m->map_fd, F_DUPFD_CLOEXEC, 0)
		 : m->dir_fd >= 0 ? perf_map_place_file(&m->place, m->dir_fd, false)
				  : -ENOENT;

	if (fd == -ENOENT && !perf_map_kept_ended(m))
		return -EBUSY;
	return fd < 0 ? fd : perf_map_place_open(&m->place, fd);
}

/* --- ends ------------------------------------------------------------------------------------ */

size_t perf_map_keep_wait(const struct perf_map_keep *k, struct pollfd *ret, int *ret_ms,
			  uint64_t now_ns)
{
	*ret_ms = -1;
	for (size_t i = 0; i < k->count; i++) {
		const struct perf_map_kept *m = &k->all[i];
		const uint64_t passed = now_ns - m->used_ns;
		int ms;

		ret[i] = (struct pollfd){.fd = m->pid_fd, .events = POLLIN};
		if (!perf_map_kept_ended(m))
			continue;
		ms = passed < PERF_MAP_KEEP_NS ? 1 + (int)((PERF_MAP_KEEP_NS - passed) / 1000000)
					       : 0;
		*ret_ms = *ret_ms < 0 || ms < *ret_ms ? ms : *ret_ms;
	}
	return k->count;
}

/* Holds the map of a process that ended. Returns whether there is anything to keep. If the kernel
 * would have to ask the file system for the map (-EAGAIN), the directory stays open instead, and a
 * worker, which may wait for a file system, finds the map (perf_map_kept_open()). */
static bool take_map(struct perf_map_kept *m, uint64_t now_ns)
{
	m->place.end = seconds_of(CLOCK_REALTIME);
	m->used_ns = now_ns;
	closep(&m->pid_fd);
	m->pid_fd = -1;
	m->map_fd = perf_map_place_file(&m->place, m->dir_fd, true);
	if (m->map_fd == -EAGAIN)
		return true;
	closep(&m->dir_fd);
	m->dir_fd = -1;
	return m->map_fd >= 0;
}

void perf_map_keep_poll(struct perf_map_keep *k, const struct pollfd *fds, size_t count,
			uint64_t now_ns)
{
	/* The loop runs backwards, because the last row moves into the place of a removed one. */
	for (size_t i = count; i-- > 0;) {
		struct perf_map_kept *m = &k->all[i];

		if (perf_map_kept_ended(m) ? now_ns - m->used_ns >= PERF_MAP_KEEP_NS
					   : fds[i].revents && !take_map(m, now_ns))
			remove_row(k, i);
	}
}
