/* SPDX-License-Identifier: Apache-2.0 */
#include "table_build.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "image_summary.h"
#include "io.h"
#include "libexec.h"
#include "limits.h"
#include "rsym.h"
#include "table_build_priv.h"
#include "worker_class.h"
#include "worker_spawn.h"

enum {
	PROGRESS_MS = 100
};

const struct worker_program table_worker = {.file = "rawstack-table-worker",
					    .name = "table worker"};

struct worker {
	pid_t pid; /* 0 if there is no process or it was reaped */
	int pidfd;
	int reply_fd;
	int progress_fd;
	int wanted_fd;
	int missing_fd;                  /* receives the missing references of the input, or -1 */
	struct table_progress *progress; /* shared with the worker, or NULL */
	bool timed_out;
	siginfo_t end;
};

static uint64_t or_default(uint64_t v, uint64_t constant)
{
	return v ? v : constant;
}

static void close_pipe(int (*ends)[2])
{
	closep(&(*ends)[0]);
	closep(&(*ends)[1]);
}

static int start_worker(struct worker *w, const struct table_request *req,
			const struct worker_extra *extra, const struct worker_request *request,
			struct err *err)
{
	_cleanup_(worker_files_done) struct worker_files p;
	char found[LIMIT_PATH_LEN];
	const char *path = req->worker_path;
	_cleanup_(close_pipe) int to[2] = {-1, -1}, from[2] = {-1, -1};
	int rc;

	worker_files_init(&p);
	if (!path) {
		TRY(libexec_find(extra->program->file, found, err));
		path = found;
	}
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return err_sys(err, errno, "pipe");
	w->reply_fd = TAKE_FD(from[0]);
	/* The request fits into an empty pipe, so this does not wait. */
	if (write(to[1], request, sizeof(*request)) != (ssize_t)sizeof(*request))
		return err_sys(err, errno, "request to the worker");
	TRY(worker_files_pass(&p, WORKER_FD_REQUEST, to[0], err));
	TRY(worker_files_pass(&p, WORKER_FD_REPLY, from[1], err));
	TRY(worker_files_pass_read_only(&p, WORKER_FD_INPUT, req->input_fd, err));
	if (req->output_fd >= 0)
		TRY(worker_files_pass(&p, WORKER_FD_OUTPUT, req->output_fd, err));
	if (request->has_executable)
		TRY(worker_files_pass_read_only(&p, WORKER_FD_EXECUTABLE, req->executable_fd, err));
	if (extra->table_fd >= 0)
		TRY(worker_files_pass_read_only(&p, WORKER_FD_TABLE, extra->table_fd, err));
	if (request->wants_missing)
		TRY(worker_files_pass(&p, WORKER_FD_MISSING, w->missing_fd, err));
	if (request->wanted_count)
		TRY(worker_files_pass(&p, WORKER_FD_WANTED, w->wanted_fd, err));
	if (w->progress)
		TRY(worker_files_pass(&p, WORKER_FD_PROGRESS, w->progress_fd, err));
	for (size_t i = 0; i < req->companion_count; i++)
		TRY(worker_files_pass_read_only(&p, WORKER_FD_COMPANIONS + (int)i,
						req->companions[i].fd, err));
	rc = worker_spawn(path, extra->program->file, &p, &w->pid);
	if (rc) {
		w->pid = 0;
		return err_sys(err, rc, "%s", path);
	}
	/* The child is not reaped yet, so its pid was not reused. */
	w->pidfd = pidfd_open(w->pid, 0);
	return w->pidfd < 0 ? err_sys(err, errno, "pidfd_open") : 0;
}

static void tell_progress(const struct worker *w, const struct table_request *req)
{
	uint64_t done, all;
	uint32_t stage;

	if (!w->progress || !req->progress)
		return;
	stage = atomic_load_explicit(&w->progress->stage, memory_order_relaxed);
	done = atomic_load_explicit(&w->progress->done, memory_order_relaxed);
	all = atomic_load_explicit(&w->progress->all, memory_order_relaxed);
	if (stage <= TABLE_STAGE_PACK)
		req->progress(req->progress_ctx, (enum table_stage)stage, done < all ? done : all,
			      all);
}

/* Shares memory in which the worker stores its progress. A failure is harmless: no progress is
 * shown. */
static void share_progress(struct worker *w)
{
	void *p;

	w->progress_fd = memfd_create("progress", MFD_CLOEXEC);
	if (w->progress_fd < 0 || ftruncate(w->progress_fd, sizeof(*w->progress)))
		return;
	p = mmap(NULL, sizeof(*w->progress), PROT_READ, MAP_SHARED, w->progress_fd, 0);
	w->progress = p == MAP_FAILED ? NULL : p;
}

/* Passes the wanted addresses as a file, because the request has no room for them. */
static int share_wanted(struct worker *w, const struct table_request *req,
			struct worker_request *request, struct err *err)
{
	if (!req->wanted_count)
		return 0;
	if (req->wanted_count > LIMIT_WANTED)
		return err_set(err, ERR_LIMIT, "%zu addresses are wanted; the limit is %llu",
			       req->wanted_count, (unsigned long long)LIMIT_WANTED);
	w->wanted_fd = memfd_create("wanted", MFD_CLOEXEC);
	if (w->wanted_fd < 0)
		return err_sys(err, errno, "memfd_create");
	request->wanted_count = (uint32_t)req->wanted_count;
	return io_write_all(io_system(), w->wanted_fd, req->wanted,
			    req->wanted_count * sizeof(*req->wanted), 0, err);
}

/* Creates a file for the missing references of the input, because the reply has no room for
 * them. */
static int share_missing(struct worker *w, const struct table_request *req,
			 struct worker_request *request, struct err *err)
{
	if (!req->missing)
		return 0;
	w->missing_fd = memfd_create("missing", MFD_CLOEXEC);
	if (w->missing_fd < 0)
		return err_sys(err, errno, "memfd_create");
	request->wants_missing = true;
	return 0;
}

/* Waits for the worker to end, kills it at the wall clock limit, and reaps it. */
static int await_worker(struct worker *w, const struct table_request *req, enum worker_class class,
			uint64_t wall_ms, struct err *err)
{
	const struct io *io = io_system();
	uint64_t deadline = io->mono_ns(io->ctx) + wall_ms * 1000000u;
	struct pollfd pfd = {.fd = w->pidfd, .events = POLLIN};
	struct worker_watch watch;
	int rc;

	worker_watch_begin(&watch, w->pid, class,
			   or_default(req->starved_ms, LIMIT_WORKER_STARVED_MS),
			   io->mono_ns(io->ctx));
	tell_progress(w, req);
	for (;;) {
		uint64_t now = io->mono_ns(io->ctx);
		uint64_t left = now < deadline ? (deadline - now) / 1000000u + 1 : 0;
		int pause = worker_watch_look(&watch, now);

		if (w->progress && pause > PROGRESS_MS)
			pause = PROGRESS_MS;
		if (left < (uint64_t)pause)
			pause = (int)left;
		rc = left ? poll(&pfd, 1, pause) : 0;
		if (rc > 0)
			break;
		tell_progress(w, req);
		if (rc < 0 && errno != EINTR)
			return err_sys(err, errno, "poll");
		if (!left) {
			w->timed_out = true;
			pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0);
			deadline = UINT64_MAX;
		}
	}
	do
		rc = waitid(P_PIDFD, (id_t)w->pidfd, &w->end, WEXITED);
	while (rc && errno == EINTR);
	if (rc)
		return err_sys(err, errno, "waitid");
	w->pid = 0;
	return 0;
}

static void worker_done(struct worker *w)
{
	if (w->pid > 0) { /* an error occurred while it was running */
		kill(w->pid, SIGKILL);
		waitid(P_PID, (id_t)w->pid, &w->end, WEXITED);
	}
	if (w->progress)
		munmap(w->progress, sizeof(*w->progress));
	closep(&w->progress_fd);
	closep(&w->wanted_fd);
	closep(&w->missing_fd);
	closep(&w->pidfd);
	closep(&w->reply_fd);
}

/* Sets the error of a worker that ended without a valid reply. */
static int explain_end(const struct worker *w, const struct worker_program *program,
		       const struct worker_request *req, uint64_t wall_ms, struct err *err)
{
	const char *name = program->name;
	int signum = w->end.si_status;

	if (w->timed_out)
		return err_set(err, ERR_LIMIT, "the %s took longer than %llu s", name,
			       (unsigned long long)wall_ms / 1000);
	if (w->end.si_code == CLD_EXITED && signum == WORKER_EXIT_STRANGER)
		return err_set(err, ERR_INTERNAL,
			       "the %s is of another version than this program: after an upgrade, "
			       "start the program anew, or install both",
			       name);
	if (w->end.si_code == CLD_EXITED)
		return err_set(err, ERR_INTERNAL, "the %s ended with status %d", name, signum);
	switch (signum) {
	case SIGXCPU:
		return err_set(err, ERR_LIMIT, "the %s used more than %llu s of CPU", name,
			       (unsigned long long)req->cpu_seconds_max);
	case SIGXFSZ:
		return err_set(err, ERR_LIMIT, "the table is larger than %llu bytes",
			       (unsigned long long)req->table_len_max);
	case SIGSYS:
		return err_set(err, ERR_INTERNAL, "the %s made a forbidden system call (SIGSYS)",
			       name);
	case SIGKILL:
		return err_set(err, ERR_INTERNAL,
			       "the %s was killed (SIGKILL): by hand, or for memory", name);
	case SIGBUS:
		return err_set(err, ERR_INTERNAL,
			       "the %s crashed (SIGBUS): was the file truncated while it was read?",
			       name);
	default:
		return err_set(
			err, ERR_INTERNAL,
			"the %s crashed (SIG%s): the file is damaged, or triggers a bug in a "
			"library",
			name, sigabbrev_np(signum) ? sigabbrev_np(signum) : "?");
	}
}

static int read_reply(const struct worker *w, struct worker_reply *reply)
{
	ssize_t n;

	do
		n = read(w->reply_fd, reply, sizeof(*reply));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*reply) || reply->magic != WORKER_MAGIC ||
	    reply->code < ERR_INTERNAL || reply->code > 0)
		return 0;
	reply->message[sizeof(reply->message) - 1] = 0;
	reply->report.skipped[sizeof(reply->report.skipped) - 1] = 0;
	reply->report.relocation_skipped[sizeof(reply->report.relocation_skipped) - 1] = 0;
	return 1;
}

/* Checks the table that the worker wrote, because the worker is not trusted. */
static int check_written_table(int fd, const struct worker_request *req, struct err *err)
{
	struct rsym table;
	struct stat st;
	void *p;
	int rc;

	if (fstat(fd, &st))
		return err_sys(err, errno, "stat of the table");
	if (st.st_size <= 0 || (uint64_t)st.st_size > req->table_len_max)
		return err_set(err, ERR_INTERNAL, "the table worker wrote %lld bytes",
			       (long long)st.st_size);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, errno, "mapping the table");
	rc = rsym_open(&table, p, (size_t)st.st_size, err);
	if (!rc && !build_id_equal(&table.id, &req->id))
		rc = err_set(err, ERR_INTERNAL, "the table worker wrote another identity");
	munmap(p, (size_t)st.st_size);
	return rc;
}

static int identify_input(const struct table_request *req, struct worker_request *request,
			  struct err *err)
{
	struct build_id executable;
	struct stat st;
	int rc = 0;

	if (fstat(req->input_fd, &st))
		return err_sys(err, errno, "stat of the input");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_UNSUPPORTED, "not a regular file");
	if (req->id.kind != BUILD_ID_NONE)
		request->id = req->id;
	else if (request->task == WORKER_INSPECT || request->task == WORKER_CHECK)
		return 0; /* the task finds the id, or needs none */
	else if (req->input != TABLE_INPUT_KALLSYMS)
		rc = image_identify(req->input_fd, &request->id, err);
	/* The worker refuses text without an id, with a better message. */
	if (rc == ERR_UNSUPPORTED && req->input == TABLE_INPUT_AUTO)
		rc = 0;
	/* If the caller gave an id, the worker compares the executable's with it. */
	if (rc || !request->has_executable || req->id.kind != BUILD_ID_NONE)
		return rc;
	rc = image_identify(req->executable_fd, &executable, err);
	if (rc)
		return err_prefix(err, "executable"), rc;
	if (!build_id_equal(&executable, &request->id))
		return err_set(err, ERR_MISMATCH,
			       "the executable has another build id than its debug file");
	return 0;
}

static int name_companions(const struct table_request *req, struct worker_request *request,
			   struct err *err)
{
	struct stat st;

	if (req->companion_count > LIMIT_COMPANIONS)
		return err_set(err, ERR_LIMIT, "%zu companion files; the limit is %llu",
			       req->companion_count, (unsigned long long)LIMIT_COMPANIONS);
	for (size_t i = 0; i < req->companion_count; i++) {
		if (fstat(req->companions[i].fd, &st))
			return err_sys(err, errno, "stat of a companion");
		if (!S_ISREG(st.st_mode))
			return err_set(err, ERR_UNSUPPORTED, "a companion is not a regular file");
		request->companion_kinds[i] = (uint8_t)req->companions[i].kind;
	}
	request->companion_count = (uint32_t)req->companion_count;
	return 0;
}

static int read_missing(int fd, struct buf *out, struct err *err)
{
	char chunk[4096];
	ssize_t n;

	for (off_t off = 0; (n = pread(fd, chunk, sizeof(chunk), off)) > 0; off += n)
		if (off >= (off_t)LIMIT_MISSING_LEN || !buf_append(out, chunk, (size_t)n))
			break;
	return n < 0 ? err_sys(err, errno, "list of missing files") : 0;
}

static uint64_t input_file_len(int fd)
{
	struct stat st;

	return fd < 0 || fstat(fd, &st) || st.st_size < 0 ? 0 : (uint64_t)st.st_size;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Scales the limits with the length of the input, because only hostile files need much for their
 * length. */
static void limit_by_input(const struct table_request *req, struct worker_request *request)
{
	uint64_t len = input_file_len(req->input_fd) + input_file_len(req->executable_fd);

	for (size_t i = 0; i < req->companion_count; i++)
		len += input_file_len(req->companions[i].fd);
	len = min_u64(len, UINT32_MAX * MIB);
	request->memory_max = min_u64(request->memory_max,
				      LIMIT_WORKER_MEMORY_LEAST + LIMIT_WORKER_MEMORY_FACTOR * len);
	request->cpu_seconds_max =
		min_u64(request->cpu_seconds_max,
			LIMIT_WORKER_CPU_LEAST + LIMIT_WORKER_CPU_PER_MIB * (len / MIB));
}

/* Returns the address space that this process may have, which also limits its worker. */
static uint64_t own_memory(void)
{
	struct rlimit l;

	return getrlimit(RLIMIT_AS, &l) ? UINT64_MAX : l.rlim_max;
}

int table_run_worker(const struct table_request *req, const struct worker_extra *extra,
		     struct worker_request *request, struct worker_reply *reply, struct err *err)
{
	_cleanup_(worker_done) struct worker w = {
		.pidfd = -1, .reply_fd = -1, .progress_fd = -1, .wanted_fd = -1, .missing_fd = -1};
	uint64_t wall_ms = or_default(req->wall_ms_max, LIMIT_WORKER_WALL_MS);

	memset(request, 0, sizeof(*request)); /* also its padding, which is written to a pipe */
	request->magic = WORKER_MAGIC;
	request->input = req->input;
	request->memory_max =
		min_u64(or_default(req->memory_max, LIMIT_WORKER_MEMORY), own_memory());
	request->cpu_seconds_max = or_default(req->cpu_seconds_max, LIMIT_WORKER_CPU_SECONDS);
	request->table_len_max = or_default(req->table_len_max, LIMIT_TABLE_LEN);
	if (extra->task == WORKER_BUILD)
		limit_by_input(req, request);
	request->has_executable = req->executable_fd >= 0;
	request->task = extra->task;
	request->class = req->background ? worker_class_background() : WORKER_CLASS_NORMAL;
	request->columns = req->columns;
	/* Only the first thread's priority can be raised later, so a background worker has one
	 * thread. */
	request->in_two = req->jobs > 1 && !req->background;
	request->types = req->types;
	request->shown = req->shown;
	if (req->progress)
		share_progress(&w);
	request->wants_progress = w.progress != NULL;
	TRY(share_wanted(&w, req, request, err));
	TRY(share_missing(&w, req, request, err));
	TRY(identify_input(req, request, err));
	TRY(name_companions(req, request, err));
	TRY(start_worker(&w, req, extra, request, err));
	TRY(await_worker(&w, req, (enum worker_class)request->class, wall_ms, err));
	/* A reply counts only if the worker also exited with status 0. */
	if (w.timed_out || w.end.si_code != CLD_EXITED || w.end.si_status != 0 ||
	    !read_reply(&w, reply))
		return explain_end(&w, extra->program, request, wall_ms, err);
	return request->wants_missing && !reply->code
		       ? read_missing(w.missing_fd, req->missing, err)
		       : 0;
}

int table_build(const struct table_request *req, struct build_report *report, struct err *err)
{
	struct worker_request request;
	struct worker_reply reply = {0};
	const struct io *io = io_system();
	uint64_t start_ns = io->mono_ns(io->ctx);

	*report = (struct build_report){0};
	TRY(table_run_worker(req, &(struct worker_extra){&table_worker, WORKER_BUILD, -1}, &request,
			     &reply, err));
	*report = reply.report;
	report->wall_ns = io->mono_ns(io->ctx) - start_ns;
	/* Distinguish a file that needs too much memory from a limit on this process. */
	if (reply.code == ERR_MEMORY && request.memory_max == own_memory())
		return err_set(err, ERR_MEMORY,
			       "the table worker needs more than the %llu MiB of address space "
			       "that this program may have: raise RLIMIT_AS (ulimit -v)",
			       (unsigned long long)(request.memory_max / MIB));
	if (reply.code == ERR_MEMORY)
		return err_set(err, ERR_LIMIT,
			       "the table worker needs more than %llu MiB of memory, which is the "
			       "limit for files of this size",
			       (unsigned long long)(request.memory_max / MIB));
	if (reply.code)
		return err_set(err, reply.code, "%s", reply.message);
	return check_written_table(req->output_fd, &request, err);
}
