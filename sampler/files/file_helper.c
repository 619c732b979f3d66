/* SPDX-License-Identifier: Apache-2.0 */
#include "file_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "capabilities.h"
#include "cpu_budget.h"
#include "file_headers.h"
#include "io.h"
#include "limits.h"
#include "perf_map_keep.h"

/* The time in which one file is opened and read before it is given up. */
#define LIMIT_FILE_MS            1000
/* Ids that the helper remembers. */
#define LIMIT_FILE_CACHE         LIMIT(1024)
/* Workers that hang in the kernel although they were killed; at this number no more files are read.
 */
#define LIMIT_FILE_WORKERS_STUCK LIMIT(8)

/* Identifies the content of a file without reading it. */
struct version {
	uint64_t dev, inode, size;
	struct timespec mtime, ctime;
};

/* A worker sends this to the helper, up to the last row used. */
struct answer {
	int32_t rc;
	bool is_version_known;
	struct version version;
	struct build_id id;
	uint32_t row_count;
	struct file_segments segments; /* of a file */
	struct perf_map_row rows[LIMIT_PERF_MAP_LATE_ROWS];
};

struct known {
	struct version version;
	int32_t rc;
	struct build_id id;
	struct file_segments segments;
};

struct helper {
	int fd;
	struct known cache[LIMIT_FILE_CACHE]; /* the oldest makes room */
	size_t cache_count, cache_next;
	size_t stuck_count; /* workers that did not die when told to */
	struct cpu_budget budget;
	struct perf_map_keep maps;
};

/* The CPU time to fork and end a worker, besides its own. */
#define WORKER_NS UINT64_C(300000)

/* Returns the CPU time that this process has used. */
static uint64_t process_cpu_ns(void)
{
	struct timespec used;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

/* --- the worker ------------------------------------------------------------------------------ */

/* Returns whether a request is for a mapped file; the others are for a perf map. */
static bool is_of_mapped_file(const struct file_request *req)
{
	return req->kind == FILE_REQUEST_ID || req->kind == FILE_REQUEST_SEGMENTS ||
	       req->kind == FILE_REQUEST_PROGRAM_SEGMENTS;
}

static const struct known *cache_find(const struct helper *h, const struct version *v)
{
	for (size_t i = 0; i < h->cache_count; i++)
		if (!memcmp(&h->cache[i].version, v, sizeof(*v)))
			return &h->cache[i];
	return NULL;
}

static void answer_one(const struct helper *h, const struct file_request *req, struct answer *ret)
{
	_cleanup_(closep) int fd =
		req->kind == FILE_REQUEST_ID
			? file_id_open(req->pid, req->path, &req->key)
			: file_id_open_any(req->pid, req->path,
					   req->kind == FILE_REQUEST_PROGRAM_SEGMENTS);
	const struct known *known;
	struct stat st;
	int rc = capabilities_drop_all();

	ret->rc = fd < 0 ? fd : rc;
	if (ret->rc)
		return;
	if (fstat(fd, &st)) {
		ret->rc = -errno;
		return;
	}
	ret->is_version_known = true;
	ret->version = (struct version){st.st_dev, st.st_ino, (uint64_t)st.st_size, st.st_mtim,
					st.st_ctim};
	known = cache_find(h, &ret->version);
	if (known) {
		ret->rc = known->rc;
		ret->id = known->id;
		ret->segments = known->segments;
		return;
	}
	if (file_id_of(fd, &ret->id))
		ret->rc = -ENOEXEC;
	else if (file_headers_code_segments(fd, &ret->segments))
		ret->segments.count = 0;
}

static size_t answer_len(const struct answer *a)
{
	return offsetof(struct answer, rows) + a->row_count * sizeof(*a->rows);
}

static int open_perf_map(uint32_t tid)
{
	_cleanup_(closep) int dir_fd = -1;
	struct perf_map_place place;
	int fd, rc = perf_map_place_find(&place, tid);

	if (rc)
		return rc;
	dir_fd = perf_map_place_dir(tid, false);
	fd = dir_fd < 0 ? dir_fd : perf_map_place_file(&place, dir_fd, false);
	return fd < 0 ? fd : perf_map_place_open(&place, fd);
}

static int open_late_map(const struct helper *h, uint64_t image)
{
	const struct perf_map_kept *kept = perf_map_keep_find(&h->maps, image);

	return kept ? perf_map_kept_open(kept) : -ENOENT;
}

static int compare_pcs(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void answer_perf_map(const struct helper *h, struct file_request *req, struct answer *ret)
{
	_cleanup_(closep) int fd = req->kind == FILE_REQUEST_LATE_MAP ? open_late_map(h, req->image)
								      : open_perf_map(req->pid);
	int rc = capabilities_drop_all();

	ret->rc = fd < 0 ? fd : rc;
	if (ret->rc)
		return;
	qsort(req->pcs, req->pc_count, sizeof(*req->pcs), compare_pcs);
	ret->rc = perf_map_find(fd, req->pcs, req->pc_count, ret->rows);
	ret->row_count = ret->rc ? 0 : req->pc_count;
}

static void run_worker(const struct helper *h, struct file_request *req, int fd)
	__attribute__((noreturn));

static void run_worker(const struct helper *h, struct file_request *req, int fd)
{
	static struct answer a;
	size_t at = 0;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_of_mapped_file(req))
		answer_one(h, req, &a);
	else
		answer_perf_map(h, req, &a);
	while (at < answer_len(&a) &&
	       (n = write(fd, (const char *)&a + at, answer_len(&a) - at)) > 0)
		at += (size_t)n;
	_exit(at == answer_len(&a) ? 0 : 1);
}

/* --- the helper ------------------------------------------------------------------------------ */

static void reap_worker(struct helper *h)
{
	while (h->stuck_count && waitpid(-1, NULL, WNOHANG) > 0)
		h->stuck_count--;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

/* Kills a worker that answered or ran out of time. One that is stuck in the kernel dies when it
 * returns. */
static void end_worker(struct helper *h, pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct rusage usage;

	kill(pid, SIGKILL);
	cpu_budget_spend(&h->budget, WORKER_NS);
	for (int i = 0; i < 20; i++) {
		if (wait4(pid, NULL, WNOHANG, &usage) == pid) {
			cpu_budget_spend(&h->budget,
					 timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime));
			return;
		}
		nanosleep(&pause, NULL);
	}
	h->stuck_count++;
}

/* Reads an answer. Returns 0, -ETIMEDOUT, or -EIO when it is incomplete. */
static int read_answer(int fd, struct answer *ret)
{
	const uint64_t until_ns = io_mono_ns() + LIMIT_FILE_MS * UINT64_C(1000000);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t at = 0;

	for (;;) {
		const uint64_t now_ns = io_mono_ns();
		const int ms = now_ns < until_ns ? (int)((until_ns - now_ns) / 1000000) : 0;
		ssize_t n;

		if (poll(&p, 1, ms) <= 0)
			return -ETIMEDOUT;
		n = read(fd, (char *)ret + at, sizeof(*ret) - at);
		if (n <= 0)
			break;
		at += (size_t)n;
		if (at >= offsetof(struct answer, rows) && at == answer_len(ret))
			return 0;
	}
	return -EIO;
}

static void ask_file_worker(struct helper *h, struct file_request *req, struct answer *ret)
{
	int pipe_fds[2], rc;
	pid_t pid;

	memset(ret, 0, offsetof(struct answer, rows));
	ret->rc = -EAGAIN;
	reap_worker(h);
	if (h->stuck_count >= LIMIT_FILE_WORKERS_STUCK ||
	    !cpu_budget_allows(&h->budget, io_mono_ns()) || pipe2(pipe_fds, O_CLOEXEC))
		return;
	pid = fork();
	if (pid == 0)
		run_worker(h, req, pipe_fds[1]);
	close(pipe_fds[1]);
	if (pid > 0) {
		rc = read_answer(pipe_fds[0], ret);
		if (rc) {
			memset(ret, 0, offsetof(struct answer, rows));
			ret->rc = rc;
		}
		end_worker(h, pid);
	}
	close(pipe_fds[0]);
}

/* Returns whether the kernel knows, without asking a file system, that a process has no map. This
 * takes microseconds and cannot hang, and most processes never write a map. */
static bool is_absent(const struct helper *h, const struct file_request *req)
{
	_cleanup_(closep) int dir_fd = -1;
	_cleanup_(closep) int fd = -1;
	struct perf_map_place place;

	if (req->kind == FILE_REQUEST_LATE_MAP)
		return !perf_map_keep_find(&h->maps, req->image);
	if (req->kind != FILE_REQUEST_PERF_MAP || perf_map_place_find(&place, req->pid))
		return false;
	dir_fd = perf_map_place_dir(req->pid, true);
	fd = dir_fd < 0 ? dir_fd : perf_map_place_file(&place, dir_fd, true);
	return fd == -ENOENT;
}

static bool is_complete(const struct answer *a)
{
	for (uint32_t i = 0; i < a->row_count; i++)
		if (!a->rows[i].len)
			return false;
	return !a->rc;
}

/* Asks a worker, unless there evidently is no such file. */
static void ask_somebody(struct helper *h, struct file_request *req, struct answer *ret)
{
	const uint64_t began_ns = process_cpu_ns();

	if (is_of_mapped_file(req) || !cpu_budget_allows(&h->budget, io_mono_ns()) ||
	    !is_absent(h, req)) {
		ask_file_worker(h, req, ret);
	} else {
		memset(ret, 0, offsetof(struct answer, rows));
		ret->rc = -ENOENT;
	}
	if (req->kind == FILE_REQUEST_PERF_MAP && !is_complete(ret))
		perf_map_keep_add(&h->maps, req->image, req->pid, req->seen_ns, io_mono_ns());
	if (!is_of_mapped_file(req))
		cpu_budget_spend(&h->budget, process_cpu_ns() - began_ns);
}

static void remember_answer(struct helper *h, const struct answer *a)
{
	if (!a->is_version_known || cache_find(h, &a->version))
		return;
	h->cache[h->cache_next] = (struct known){a->version, a->rc, a->id, a->segments};
	h->cache_next = (h->cache_next + 1) % ARRAY_LEN(h->cache);
	if (h->cache_count < ARRAY_LEN(h->cache))
		h->cache_count++;
}

static void run_helper(int fd, pid_t parent) __attribute__((noreturn));

static bool is_request(const struct file_request *req, size_t len)
{
	const uint32_t most =
		req->kind == FILE_REQUEST_LATE_MAP ? LIMIT_PERF_MAP_LATE_ROWS : LIMIT_PERF_MAP_ROWS;

	return len > offsetof(struct file_request, path) &&
	       (is_of_mapped_file(req) ||
		(req->pc_count <= most &&
		 len == offsetof(struct file_request, pcs) + 8 * req->pc_count));
}

/* Waits for a request, and meanwhile handles the ends of processes whose maps are kept. */
static void wait_for_request(struct helper *h)
{
	struct pollfd fds[1 + LIMIT_PERF_MAPS_KEPT];
	size_t count;
	int ms;

	do {
		fds[0] = (struct pollfd){.fd = h->fd, .events = POLLIN};
		count = perf_map_keep_wait(&h->maps, fds + 1, &ms, io_mono_ns());
		if (poll(fds, 1 + count, ms) >= 0)
			perf_map_keep_poll(&h->maps, fds + 1, count, io_mono_ns());
		else
			fds[0].revents = 0;
	} while (!fds[0].revents);
}

static void run_helper(int fd, pid_t parent)
{
	static struct helper h;
	static struct file_request req;

	/* The helper needs no descriptor of the capturer but fd, and no capability but ptrace. */
	if (dup2(fd, STDIN_FILENO) < 0 || close_range(STDERR_FILENO + 1, ~0u, 0) ||
	    capabilities_keep_ptrace())
		_exit(1);
	signal(SIGINT, SIG_IGN); /* from the terminal; the helper ends with the capturer */
	prctl(PR_SET_NAME, "rawstack-files");
	h.budget = cpu_budget_full(io_mono_ns());
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	h.fd = STDIN_FILENO;
	for (;;) {
		static struct file_reply reply;
		static struct answer a;
		ssize_t len;

		wait_for_request(&h);
		len = recv(h.fd, &req, sizeof(req) - 1, 0);
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 || !is_request(&req, (size_t)len))
			_exit(0);
		((char *)&req)[len] = 0;
		reply.slot = req.slot;
		ask_somebody(&h, &req, &a);
		remember_answer(&h, &a);
		reply.rc = a.rc;
		reply.id = a.id;
		reply.segments.count = 0;
		if (a.is_version_known)
			reply.segments = a.segments;
		reply.row_count = a.row_count;
		memcpy(reply.rows, a.rows, a.row_count * sizeof(*a.rows));
		if (send(h.fd, &reply,
			 offsetof(struct file_reply, rows) + a.row_count * sizeof(*a.rows),
			 MSG_NOSIGNAL) < 0)
			_exit(0);
	}
}

pid_t file_helper_start(int *ret_fd)
{
	pid_t parent = getpid(), pid;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid = fork();
	if (pid == 0)
		run_helper(fds[1], parent);
	close(fds[1]);
	if (pid < 0) {
		int errnum = errno;

		close(fds[0]);
		return -errnum;
	}
	*ret_fd = fds[0];
	return pid;
}
