/* SPDX-License-Identifier: Apache-2.0 */
#include "file_ids.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "file_helper.h"
#include "late_jit.h"

/* A file that could not be read may be readable by way of another process: it is tried again after
 * this time. */
#define RETRY_NS   UINT64_C(30000000000)
#define RESTART_NS UINT64_C(10000000000)

/* Starts the helper; what an earlier one told is kept. */
static int start_helper(struct file_ids *f, uint64_t now_ns, struct err *err)
{
	pid_t pid;

	f->fd = -1;
	f->pid = 0;
	f->start_ns = now_ns;
	pid = file_helper_start(&f->fd);
	if (pid < 0)
		return err_sys(err, -pid, "starting the reader of files without a build id");
	f->pid = pid;
	return 0;
}

int file_ids_init(struct file_ids *f, uint64_t now_ns, struct err *err)
{
	*f = (struct file_ids){.fd = -1};
	segment_cache_init(&f->segments);
	return start_helper(f, now_ns, err);
}

static void release_slot(struct file_ids *f, size_t slot, uint64_t now_ns)
{
	struct module *m = f->slots[slot].module;
	struct jit *j = f->slots[slot].jit;

	if (f->slots[slot].of_segments) {
		/* Notes a failure, if nothing is known yet. */
		segment_cache_put(&f->segments, &m->id, NULL, now_ns);
		f->segments_asked--;
	} else if (m && m->id_state == MODULE_ID_ASKED) {
		m->id_state = MODULE_ID_FAILED;
		m->retry_ns = now_ns + RETRY_NS;
	}
	if (j && f->slots[slot].is_late)
		late_jit_answer(j, -EIO, NULL, 0);
	else if (j && j->is_asked)
		jit_answer(j, -EIO, NULL, 0, now_ns);
	f->slots[slot].module = NULL;
	f->slots[slot].jit = NULL;
	f->slots[slot].is_late = false;
	f->slots[slot].of_segments = false;
	f->asked_count--;
	module_unref(m);
	jit_unref(j);
}

static bool is_used(const struct file_ids *f, size_t slot)
{
	return f->slots[slot].module || f->slots[slot].jit;
}

/* Drops all requests under way: none will be answered. */
static void give_up_helper(struct file_ids *f, uint64_t now_ns)
{
	for (size_t i = 0; i < ARRAY_LEN(f->slots); i++)
		if (is_used(f, i))
			release_slot(f, i, now_ns);
	closep(&f->fd);
	f->fd = -1;
}

void file_ids_done(struct file_ids *f)
{
	give_up_helper(f, 0);
	if (f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	f->pid = 0;
	segment_cache_done(&f->segments);
}

/* Sends a request and returns its slot; -1: it was not sent. A full socket is no error: a later
 * sample asks again. A helper that died is noticed in the poll. */
static int send_request(struct file_ids *f, struct file_request *req, size_t len)
{
	size_t slot = 0;

	while (slot < ARRAY_LEN(f->slots) && is_used(f, slot))
		slot++;
	if (f->fd < 0 || slot == ARRAY_LEN(f->slots))
		return -1;
	req->slot = (uint32_t)slot;
	if (send(f->fd, req, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len) {
		f->is_refused = true;
		return -1;
	}
	f->asked_count++;
	return (int)slot;
}

/* Sends a request with a path and returns its slot, or -1 when it was not sent. */
static int send_path(struct file_ids *f, struct module *m, uint32_t pid,
		     enum file_request_kind kind)
{
	struct file_request req;
	int slot;

	if (m->path_len > LIMIT_PATH_LEN)
		return -1;
	memset(&req, 0, offsetof(struct file_request, path));
	req.pid = pid;
	req.kind = kind;
	req.key = m->file;
	memcpy(req.path, m->path, m->path_len);
	slot = send_request(f, &req, offsetof(struct file_request, path) + m->path_len);
	if (slot >= 0)
		f->slots[slot].module = module_ref(m);
	return slot;
}

static bool ask_helper(struct file_ids *f, struct module *m, uint32_t pid)
{
	if (send_path(f, m, pid, FILE_REQUEST_ID) < 0)
		return false;
	m->id_state = MODULE_ID_ASKED;
	return true;
}

bool file_ids_ask_segments(struct file_ids *f, struct module *m, uint32_t tid, bool is_program)
{
	int slot;

	if (f->segments_asked == LIMIT_SEGMENTS_ASKED)
		return false;
	slot = send_path(f, m, tid,
			 is_program ? FILE_REQUEST_PROGRAM_SEGMENTS : FILE_REQUEST_SEGMENTS);
	if (slot < 0)
		return false;
	f->slots[slot].of_segments = true;
	f->segments_asked++;
	return true;
}

static bool ask_map(struct file_ids *f, struct jit *j, struct file_request *req,
		    const uint64_t *pcs, size_t count)
{
	int slot;

	req->image = j->image;
	req->seen_ns = j->seen_ns;
	req->pc_count = (uint32_t)count;
	memcpy(req->pcs, pcs, count * sizeof(*pcs));
	slot = send_request(f, req, offsetof(struct file_request, pcs) + count * sizeof(*pcs));
	if (slot < 0)
		return false;
	f->slots[slot].jit = jit_ref(j);
	f->slots[slot].is_late = req->kind == FILE_REQUEST_LATE_MAP;
	return true;
}

void file_ids_ask_jit(struct file_ids *f, struct jit *j, uint32_t tid)
{
	struct file_request req;

	if (j->is_asked || !j->pc_count)
		return;
	memset(&req, 0, offsetof(struct file_request, path));
	req.pid = tid;
	req.kind = FILE_REQUEST_PERF_MAP;
	j->is_asked = ask_map(f, j, &req, j->pcs, j->pc_count);
	if (!j->is_asked)
		j->pc_count = 0;
}

bool file_ids_ask_late(struct file_ids *f, struct jit *j, const uint64_t *pcs, size_t count)
{
	struct file_request req;

	memset(&req, 0, offsetof(struct file_request, path));
	req.kind = FILE_REQUEST_LATE_MAP;
	return ask_map(f, j, &req, pcs, count);
}

bool file_ids_want(struct file_ids *f, struct module *m, uint32_t pid, uint64_t now_ns)
{
	switch (m->id_state) {
	case MODULE_ID_ASKED:
		return true;
	case MODULE_ID_FAILED:
		return now_ns >= m->retry_ns && ask_helper(f, m, pid);
	case MODULE_ID_UNASKED:
		return ask_helper(f, m, pid);
	case MODULE_ID_KNOWN:
		break;
	}
	return false;
}

/* Takes the id and the segments from a reply. Segments are ignored when another file has taken the
 * path of one whose id is known. */
static void take_file(struct file_ids *f, struct module *m, bool of_segments,
		      const struct file_reply *reply, uint64_t now_ns)
{
	if (reply->rc || (of_segments && !build_id_equal(&m->id, &reply->id)))
		return;
	if (!of_segments)
		module_set_id(m, &reply->id);
	segment_cache_put(&f->segments, &m->id, &reply->segments, now_ns);
}

void file_ids_poll(struct file_ids *f, uint64_t now_ns)
{
	const size_t head_len = offsetof(struct file_reply, rows);
	struct file_reply reply;
	ssize_t len;

	/* A poll without requests under way makes no system call. */
	while (f->fd >= 0 && (f->asked_count || f->is_refused)) {
		f->is_refused = false;
		len = recv(f->fd, &reply, sizeof(reply), MSG_DONTWAIT);
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (len < (ssize_t)head_len || reply.row_count > ARRAY_LEN(reply.rows) ||
		    file_segments_check(reply.segments.rows, reply.segments.count, NULL) ||
		    len != (ssize_t)(head_len + reply.row_count * sizeof(*reply.rows)) ||
		    reply.slot >= ARRAY_LEN(f->slots) || !is_used(f, reply.slot)) {
			give_up_helper(f, now_ns);
			break;
		}
		if (f->slots[reply.slot].is_late)
			late_jit_answer(f->slots[reply.slot].jit, reply.rc, reply.rows,
					reply.row_count);
		else if (f->slots[reply.slot].jit)
			jit_answer(f->slots[reply.slot].jit, reply.rc, reply.rows, reply.row_count,
				   now_ns);
		else
			take_file(f, f->slots[reply.slot].module, f->slots[reply.slot].of_segments,
				  &reply, now_ns);
		release_slot(f, reply.slot, now_ns);
	}
	if (f->fd >= 0 || now_ns - f->start_ns < RESTART_NS)
		return;
	if (f->pid && waitpid(f->pid, NULL, WNOHANG) == 0)
		return;
	start_helper(f, now_ns, NULL);
}
