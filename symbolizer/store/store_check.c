/* SPDX-License-Identifier: Apache-2.0 */
#include "store_check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base.h"
#include "io.h"
#include "limits.h"
#include "store_birth.h"
#include "store_pages.h"

enum {
	EXIT_DAMAGED = 3,
	TICK_MS = 50,
};

/* Returns the CPU limit of the child, where each page is read once by us and once by LMDB. */
static rlim_t check_cpu_seconds(uint64_t file_len)
{
	return 30 + file_len / (64 * MIB);
}

static uint64_t wall_ms(uint64_t file_len)
{
	return 120000 + file_len / (4 * MIB) * 1000;
}

static uint64_t file_len(const char *dir)
{
	char path[LIMIT_PATH_LEN];
	struct stat st;

	snprintf(path, sizeof(path), "%s/store.mdb", dir);
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

/* --- the child ------------------------------------------------------------------------------- */

int store_check_main(const char *dir)
{
	uint64_t len = file_len(dir);
	const struct rlimit cpu = {check_cpu_seconds(len), check_cpu_seconds(len)}, core = {0, 0};
	struct err err = {0};
	int rc;

	setrlimit(RLIMIT_CORE, &core);
	setrlimit(RLIMIT_CPU, &cpu);
#ifndef __SANITIZE_ADDRESS__
	/* The list of free pages is one long value, which is read whole. RLIMIT_DATA does not
	 * count the map of the file. */
	const struct rlimit data = {64 * MIB + len / 64, 64 * MIB + len / 64};

	setrlimit(RLIMIT_DATA, &data);
#endif
	rc = store_check(dir, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.message);
	return rc == ERR_DATA ? EXIT_DAMAGED : rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* --- its parent ------------------------------------------------------------------------------ */

struct child {
	pid_t pid;
	int out;
	char line[ERR_MESSAGE_MAX];
	size_t len;
};

static int start_check(struct child *c, const char *dir, struct err *err)
{
	char name[] = "rawstack-symbolizer", word[] = STORE_CHECK_WORD, path[LIMIT_PATH_LEN];
	char *argv[] = {name, word, path, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int pipe_fds[2], rc;

	snprintf(path, sizeof(path), "%s", dir);
	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_sys(err, errno, "pipe");
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], STDERR_FILENO);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawn(&c->pid, "/proc/self/exe", &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fds[1]);
	c->out = pipe_fds[0];
	return rc ? err_sys(err, rc, "checking the store") : 0;
}

static bool is_told_to_end(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* Waits for the child to end. Returns 0 and its status, or kills it and returns ERR_CANCELLED after
 * a signal or ERR_LIMIT when its time is over. */
static int wait_for_check(struct child *c, uint64_t until_ns, int *ret_status, struct err *err)
{
	struct pollfd p = {.fd = c->out, .events = POLLIN};
	int why = 0;

	while (!why) {
		char rest[256];
		bool full = c->len + 1 >= sizeof(c->line);
		ssize_t n = 1;

		if (poll(&p, 1, TICK_MS) > 0)
			n = read(c->out, full ? rest : c->line + c->len,
				 full ? sizeof(rest) : sizeof(c->line) - 1 - c->len);
		else if (is_told_to_end())
			why = err_set(err, ERR_CANCELLED,
				      "a signal came before the store was checked");
		else if (io_mono_ns() > until_ns)
			why = ERR_LIMIT;
		else
			continue;
		if (!why && n <= 0)
			break;
		c->len += !why && !full ? (size_t)n : 0;
	}
	if (why)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, ret_status, 0) < 0 && errno == EINTR)
		;
	return why;
}

static void child_done(struct child *c)
{
	closep(&c->out);
}

int store_check_by_child(const char *dir, struct err *err)
{
	_cleanup_(child_done) struct child c = {.out = -1};
	uint64_t len = file_len(dir);
	int status = 0, rc;

	if (!len)
		return store_birth_check(dir, err);
	TRY(start_check(&c, dir, err));
	rc = wait_for_check(&c, io_mono_ns() + wall_ms(len) * 1000000, &status, err);
	if (rc == ERR_CANCELLED)
		return rc;
	c.line[c.len] = 0;
	c.line[strcspn(c.line, "\n")] = 0;
	if (!rc && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return 0;
	if (!rc && WIFEXITED(status) && c.len)
		return err_set(err, WEXITSTATUS(status) == EXIT_DAMAGED ? ERR_DATA : ERR_IO, "%s",
			       c.line);
	return err_set(err, ERR_DATA,
		       "%s/store.mdb: damaged: reading it %s%s; " STORE_DAMAGED_ADVICE, dir,
		       rc ? "does not end" : "ended the process that did: ",
		       rc                    ? ""
		       : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
					     : "it failed without a word");
}
