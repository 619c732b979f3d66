/* SPDX-License-Identifier: Apache-2.0 */
#include "file_ids.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "file_helper.h"

/* What failed may work for another process that has the file: not at once, and not for ever. */
#define RETRY_NS   UINT64_C(30000000000)
#define RESTART_NS UINT64_C(10000000000)

int file_ids_init(struct file_ids *f, uint64_t now_ns, struct err *err)
{
	pid_t pid;

	*f = (struct file_ids){.fd = -1, .start_ns = now_ns};
	pid = file_helper_start(&f->fd);
	if (pid < 0)
		return err_sys(err, -pid, "starting the reader of files without a build id");
	f->pid = pid;
	return 0;
}

static void release(struct file_ids *f, size_t slot, uint64_t now_ns)
{
	struct module *m = f->slots[slot];

	if (m->id_state == MODULE_ID_ASKED) {
		m->id_state = MODULE_ID_FAILED;
		m->retry_ns = now_ns + RETRY_NS;
	}
	f->slots[slot] = NULL;
	module_unref(m);
}

/* Nothing that was asked will be answered. */
static void give_up(struct file_ids *f, uint64_t now_ns)
{
	for (size_t i = 0; i < ARRAY_LEN(f->slots); i++)
		if (f->slots[i])
			release(f, i, now_ns);
	closep(&f->fd);
	f->fd = -1;
}

void file_ids_done(struct file_ids *f)
{
	give_up(f, 0);
	if (f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	f->pid = 0;
}

static bool ask(struct file_ids *f, struct module *m, uint32_t pid)
{
	struct file_request req = {.pid = pid, .key = m->file};
	size_t len = offsetof(struct file_request, path) + m->path_len;
	size_t slot = 0;

	while (slot < ARRAY_LEN(f->slots) && f->slots[slot])
		slot++;
	if (f->fd < 0 || slot == ARRAY_LEN(f->slots) || m->path_len > LIMIT_PATH_LEN)
		return false;
	req.slot = (uint32_t)slot;
	memcpy(req.path, m->path, m->path_len);
	/* No room is no error: a later sample asks again. A helper that died shows in the poll. */
	if (send(f->fd, &req, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
		return false;
	f->slots[slot] = module_ref(m);
	m->id_state = MODULE_ID_ASKED;
	return true;
}

bool file_ids_want(struct file_ids *f, struct module *m, uint32_t pid, uint64_t now_ns)
{
	switch (m->id_state) {
	case MODULE_ID_ASKED:
		return true;
	case MODULE_ID_FAILED:
		return now_ns >= m->retry_ns && ask(f, m, pid);
	case MODULE_ID_UNASKED:
		return ask(f, m, pid);
	case MODULE_ID_KNOWN:
		break;
	}
	return false;
}

void file_ids_poll(struct file_ids *f, uint64_t now_ns)
{
	struct file_reply reply;
	ssize_t len;

	while (f->fd >= 0) {
		len = recv(f->fd, &reply, sizeof(reply), MSG_DONTWAIT);
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (len != sizeof(reply) || reply.slot >= ARRAY_LEN(f->slots) ||
		    !f->slots[reply.slot]) {
			give_up(f, now_ns);
			break;
		}
		if (!reply.rc)
			module_set_id(f->slots[reply.slot], &reply.id);
		release(f, reply.slot, now_ns);
	}
	if (f->fd >= 0 || now_ns - f->start_ns < RESTART_NS)
		return;
	if (f->pid && waitpid(f->pid, NULL, WNOHANG) == 0)
		return;
	file_ids_init(f, now_ns, NULL);
}
