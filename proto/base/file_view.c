/* SPDX-License-Identifier: Apache-2.0 */
#include "file_view.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "io.h"

/* Below this length a mapping costs more than it saves. */
#define MAP_MIN ((size_t)1 << 20)

/* The most files that are mapped at a time; any further file is read. */
#define VIEWS_MAX 16

/* The table that the signal handler reads. A row is free while end is 0; begin is written before
 * end. */
static struct row {
	uintptr_t begin, end;
	bool is_lost;
} rows[VIEWS_MAX];

static struct sigaction before;
static uintptr_t page_len;

/* Maps a page of zeros where the file was truncated. mmap() is a mere system call, so a signal
 * handler may call it. */
static void on_bus(int signal, siginfo_t *info, void *context _unused_)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	int saved = errno;

	for (size_t i = 0; i < VIEWS_MAX; i++) {
		uintptr_t end = __atomic_load_n(&rows[i].end, __ATOMIC_ACQUIRE);

		if (at >= end || at < __atomic_load_n(&rows[i].begin, __ATOMIC_RELAXED))
			continue;
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		if (mmap((void *)(at & ~(page_len - 1)), page_len, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		__atomic_store_n(&rows[i].is_lost, true, __ATOMIC_RELAXED);
		errno = saved;
		return;
	}
	/* The fault is not ours: it happens again, and goes to the handler that was there before.
	 */
	sigaction(signal, &before, NULL);
	errno = saved;
}

static void install_handler(void)
{
	struct sigaction act = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	page_len = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&act.sa_mask);
	sigaction(SIGBUS, &act, &before);
}

static bool take_row(struct file_view *v)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	bool taken = false;

	pthread_once(&once, install_handler);
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; !taken && i < VIEWS_MAX; i++) {
		if (__atomic_load_n(&rows[i].end, __ATOMIC_RELAXED))
			continue;
		rows[i].is_lost = false;
		__atomic_store_n(&rows[i].begin, (uintptr_t)v->map, __ATOMIC_RELAXED);
		__atomic_store_n(&rows[i].end, (uintptr_t)v->map + v->len, __ATOMIC_RELEASE);
		v->at = i;
		taken = true;
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

static void unmap_file(struct file_view *v)
{
	if (v->map)
		munmap(v->map, v->len);
	v->map = NULL;
}

/* Maps the file. Returns false where that is not possible or not worth it. */
static bool map_file(struct file_view *v, int fd, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_size < (off_t)MAP_MIN)
		return false;
	v->len = (size_t)st->st_size;
	v->map = mmap(NULL, v->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (v->map == MAP_FAILED) {
		v->map = NULL;
		return false;
	}
	if (!take_row(v)) {
		unmap_file(v);
		return false;
	}
	v->p = v->map;
	return true;
}

int file_view_open(struct file_view *v, const char *path, size_t max, struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc;

	*v = (struct file_view){0};
	if (fd < 0 || fstat(fd, &st))
		return err_sys(err, errno, "%s", path);
	if (st.st_size > 0 && (uint64_t)st.st_size > max)
		return err_set(err, ERR_LIMIT, "%s: larger than %zu bytes", path, max);
	if (map_file(v, fd, &st))
		return 0;
	rc = io_read_file(path, max, &v->copy, &v->len, err);
	v->p = v->copy;
	return rc;
}

static void (*watcher)(const struct file_view *v);

void file_view_watch(void (*moved)(const struct file_view *v))
{
	__atomic_store_n(&watcher, moved, __ATOMIC_RELAXED);
}

void file_view_release(struct file_view *v)
{
	void (*moved)(const struct file_view *v) = __atomic_load_n(&watcher, __ATOMIC_RELAXED);

	v->before += v->passed;
	v->passed = 0;
	if (moved)
		moved(v);
	if (v->map)
		madvise(v->map, v->len, MADV_DONTNEED);
}

int file_view_check(const struct file_view *v, struct err *err)
{
	if (v->map && __atomic_load_n(&rows[v->at].is_lost, __ATOMIC_RELAXED))
		return err_set(err, ERR_IO, "was truncated while it was read");
	return 0;
}

void file_view_done(struct file_view *v)
{
	if (v->map)
		__atomic_store_n(&rows[v->at].end, 0, __ATOMIC_RELEASE);
	unmap_file(v);
	free(v->copy);
	*v = (struct file_view){0};
}
