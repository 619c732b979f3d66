/* SPDX-License-Identifier: Apache-2.0 */
#include "child_ship.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "capabilities.h"
#include "libexec.h"
#include "unit_notify.h"

#define PAUSE_MIN_NS UINT64_C(1000000000)
#define PAUSE_MAX_NS UINT64_C(60000000000)
/* After a child that lived this long, the next pause is the shortest again. */
#define GOOD_RUN_NS  UINT64_C(60000000000)

int child_ship_init(struct child_ship *c, const char *spool, const char *server, const char *out,
		    const char *const *args, struct err *err)
{
	*c = (struct child_ship){
		.spool = spool,
		.server = server,
		.out = out,
		.args = args,
		.pause_ns = PAUSE_MIN_NS,
		.spool_fd = -1,
		.out_fd = -1,
	};
	if (libexec_find(CHILD_SHIP_PROGRAM, c->program, err))
		return err->code;
	c->spool_fd = open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC);
	c->out_fd = open(out, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->spool_fd >= 0 && c->out_fd >= 0)
		return 0;
	err_sys(err, errno, "%s", c->spool_fd < 0 ? spool : out);
	child_ship_done(c);
	return err->code;
}

void child_ship_done(struct child_ship *c)
{
	closep(&c->spool_fd);
	closep(&c->out_fd);
	c->spool_fd = c->out_fd = -1;
}

/* Returns a path by which the child reaches a directory. A parent of it may be closed to a process
 * without capabilities although the directory itself is its own; then the path is that of the
 * inherited descriptor. */
static const char *reachable_path(const char *path, int fd, char text[static 32])
{
	if (fd < 0 || faccessat(AT_FDCWD, path, R_OK | X_OK, AT_EACCESS) == 0)
		return path;
	fcntl(fd, F_SETFD, 0);
	snprintf(text, 32, "/proc/self/fd/%d", fd);
	return text;
}

static void run_child(const struct child_ship *c, pid_t parent, bool once)
	__attribute__((noreturn));

static void run_child(const struct child_ship *c, pid_t parent, bool once)
{
	const char *argv[48] = {c->program, "--spool", c->spool, "--server",
				c->server,  "--out",   c->out};
	size_t count = 7;
	char spool[32], out[32];
	sigset_t none;

	for (const char *const *arg = c->args; *arg && count + 2 < ARRAY_LEN(argv); arg++)
		argv[count++] = *arg;
	argv[count] = once ? "--once" : NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN); /* the terminal sends it, but the parent decides when to end */
	/* If the capturer is killed, its shipper ends too: the next capturer starts its own. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent || capabilities_drop_all())
		_exit(127);
	unit_notify_forget();
	argv[2] = reachable_path(c->spool, c->spool_fd, spool);
	argv[6] = reachable_path(c->out, c->out_fd, out);
	/* execv(3) does not write to the arguments; its prototype is older than const. */
	execv(c->program, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int start_shipper(struct child_ship *c, uint64_t now_ns, bool once, struct err *err)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		run_child(c, parent, once);
	c->next_ns = now_ns + c->pause_ns;
	if (pid < 0) {
		if (c->failed_told)
			return 0;
		c->failed_told = true;
		return err_sys(err, errno, "starting " CHILD_SHIP_PROGRAM);
	}
	c->pid = pid;
	c->start_ns = now_ns;
	c->failed_told = false;
	return 0;
}

int child_ship_poll(struct child_ship *c, uint64_t now_ns, int *ret_status, struct err *err)
{
	if (!c->pid)
		return now_ns >= c->next_ns ? start_shipper(c, now_ns, false, err) : 0;
	if (waitpid(c->pid, ret_status, WNOHANG) != c->pid)
		return 0;
	c->pid = 0;
	if (now_ns - c->start_ns >= GOOD_RUN_NS)
		c->pause_ns = PAUSE_MIN_NS;
	c->next_ns = now_ns + c->pause_ns;
	c->pause_ns = c->pause_ns * 2 < PAUSE_MAX_NS ? c->pause_ns * 2 : PAUSE_MAX_NS;
	return 1;
}

/* Waits for the child to end, and kills it when *left_ns is used up. Returns the status as of
 * waitpid(2). */
static int wait_for_end(struct child_ship *c, uint64_t *left_ns)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	int status = 0;

	while (waitpid(c->pid, &status, WNOHANG) == 0) {
		if (*left_ns < (uint64_t)pause.tv_nsec) {
			kill(c->pid, SIGKILL);
			waitpid(c->pid, &status, 0);
			break;
		}
		nanosleep(&pause, NULL);
		*left_ns -= (uint64_t)pause.tv_nsec;
	}
	c->pid = 0;
	return status;
}

int child_ship_finish(struct child_ship *c, uint64_t timeout_ns, struct err *err)
{
	uint64_t left = timeout_ns;
	int status = -1;

	if (c->pid) {
		kill(c->pid, SIGTERM);
		status = wait_for_end(c, &left);
	}
	/* The child was in a pause, or so young that the signal killed it: another one ships what
	 * is left. */
	if (status == -1 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)) {
		c->failed_told = false;
		if (start_shipper(c, 0, true, err))
			return err->code;
		status = wait_for_end(c, &left);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return err_set(err, ERR_CANCELLED,
			       CHILD_SHIP_PROGRAM " did not end in %" PRIu64
						  " s: what is not shipped stays in "
						  "the spool",
			       timeout_ns / 1000000000);
	return err_set(err, ERR_UNAVAILABLE,
		       CHILD_SHIP_PROGRAM
		       " ended with %s %d: what is not shipped stays in the spool",
		       WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}
