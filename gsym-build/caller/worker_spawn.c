/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

void worker_files_init(struct worker_files *p)
{
	memset(p->fds, 0xff, sizeof(p->fds)); /* -1 each */
}

void worker_files_done(struct worker_files *p)
{
	for (int i = WORKER_FD_REQUEST; i < WORKER_FD_COUNT; i++)
		closep(&p->fds[i]);
}

int worker_files_pass(struct worker_files *p, int number, int fd, struct err *err)
{
	p->fds[number] = fcntl(fd, F_DUPFD_CLOEXEC, WORKER_FD_COUNT);
	if (p->fds[number] >= 0)
		return 0;
	/* EINVAL means that the number is above the limit of the process. */
	return err_sys(err, errno == EINVAL ? EMFILE : errno, "descriptor for the worker");
}

int worker_files_pass_read_only(struct worker_files *p, int number, int fd, struct err *err)
{
	_cleanup_(closep) int again = -1;
	char path[32];
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return err_sys(err, errno, "descriptor for the worker");
	if ((flags & O_ACCMODE) == O_RDONLY)
		return worker_files_pass(p, number, fd, err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (again < 0)
		return err_sys(err, errno, "opening %s read-only", path);
	return worker_files_pass(p, number, again, err);
}

/* Returns the descriptor number after the last companion's. */
static int companions_end(const struct worker_files *p)
{
	int end = WORKER_FD_COMPANIONS;

	while (end < WORKER_FD_COUNT && p->fds[end] >= 0)
		end++;
	return end;
}

/* Lists what happens to each descriptor in the worker. */
static int list_file_actions(const struct worker_files *p, posix_spawn_file_actions_t *ret)
{
	for (int fd = 0; fd < 3; fd++)
		TRY(posix_spawn_file_actions_addopen(ret, fd, "/dev/null", O_RDWR, 0));
	for (int fd = WORKER_FD_REQUEST; fd < WORKER_FD_COUNT; fd++)
		if (p->fds[fd] >= 0)
			TRY(posix_spawn_file_actions_adddup2(ret, p->fds[fd], fd));
	/* Closing a descriptor that is not open is no error here (POSIX,
	 * posix_spawn_file_actions_addclose()). */
	for (int fd = WORKER_FD_OUTPUT; fd < WORKER_FD_COMPANIONS; fd++)
		if (p->fds[fd] < 0)
			TRY(posix_spawn_file_actions_addclose(ret, fd));
	return posix_spawn_file_actions_addclosefrom_np(ret, companions_end(p));
}

static int set_worker_signals(posix_spawnattr_t *ret)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	TRY(posix_spawnattr_setflags(ret, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
	TRY(posix_spawnattr_setsigmask(ret, &none));
	return posix_spawnattr_setsigdefault(ret, &all);
}

static int spawn_program(const char *path, const char *name, const struct worker_files *p,
			 posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
			 pid_t *ret_pid)
{
	char *const argv[] = {(char *)(uintptr_t)name, NULL};
	char *const envp[] = {NULL};

	TRY(set_worker_signals(attributes));
	TRY(list_file_actions(p, actions));
	return posix_spawn(ret_pid, path, actions, attributes, argv, envp);
}

int worker_spawn(const char *path, const char *name, const struct worker_files *p, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int rc;

	TRY(posix_spawn_file_actions_init(&actions));
	rc = posix_spawnattr_init(&attributes);
	if (!rc) {
		rc = spawn_program(path, name, p, &actions, &attributes, ret_pid);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}
