/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alone SECONDS COMMAND [ARGUMENT...]: runs a test; when it has ended, however it did, all that it
 * started and left behind is killed, and named. So nothing of a test that failed goes on running
 * beside the next one, or holds the pipe that ctest reads to its end. One that takes longer than
 * SECONDS is killed with all it started. Exits as the command does, 128 + N when signal N ended it,
 * 124 when its time was over.
 *
 * Who loses its parent becomes our child (PR_SET_CHILD_SUBREAPER), whatever group or session it
 * made itself; so does what that one started, as soon as it is dead.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

static const int watched[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP};

/* Field 4 of /proc/PID/stat, behind the name, which may hold anything; -1 of one that is gone. */
static long parent_of(const char *pid, char name[static 64])
{
	char path[64], text[512];
	_cleanup_(closep) int fd = -1;
	ssize_t len;
	char *end;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[len > 0 ? len : 0] = 0;
	end = strrchr(text, ')');
	if (!end || strlen(end) < 4)
		return -1;
	*end = 0;
	snprintf(name, 64, "%s", strchr(text, '(') ? strchr(text, '(') + 1 : "");
	return strtol(end + 4, NULL, 10);
}

/* Kills the children there are; says which, unless they had ended by themselves. */
static void kill_children(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	while (proc && (e = readdir(proc))) {
		long pid = strtol(e->d_name, NULL, 10);
		char name[64];

		if (pid <= 1 || parent_of(e->d_name, name) != getpid())
			continue;
		if (waitpid((pid_t)pid, NULL, WNOHANG) == pid)
			continue;
		fprintf(stderr, "alone: killed %s (%ld), which was left\n", name, pid);
		kill((pid_t)pid, SIGKILL);
	}
	if (proc)
		closedir(proc);
}

/* Until there are none: those of one that was killed become ours. */
static void end_all(void)
{
	do {
		kill_children();
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

static pid_t start(char **command, const sigset_t *mask)
{
	const pid_t ours = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != ours)
		_exit(127);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "alone: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

static int status_of(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "alone: ended by signal %d, %s\n", WTERMSIG(status),
		strsignal(WTERMSIG(status)));
	return 128 + WTERMSIG(status);
}

/* The status to exit with, when `test` has ended, the time is over, or a signal came. */
static int wait_for(pid_t test, long seconds, const sigset_t *set)
{
	struct timespec now, left = {.tv_sec = seconds};
	time_t until;

	clock_gettime(CLOCK_MONOTONIC, &now);
	until = now.tv_sec + seconds;
	for (;;) {
		int signum = sigtimedwait(set, NULL, &left), status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == test)
				return status_of(status);
		if (signum > 0 && signum != SIGCHLD)
			return 128 + signum;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec >= until) {
			fprintf(stderr, "alone: not done after %ld s\n", seconds);
			return 124;
		}
		left = (struct timespec){.tv_sec = until - now.tv_sec};
	}
}

int main(int argc, char **argv)
{
	long seconds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	sigset_t set, before;
	pid_t test;
	int status;

	if (seconds <= 0) {
		fprintf(stderr, "usage: alone SECONDS COMMAND [ARGUMENT...]\n");
		return 2;
	}
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		sigaddset(&set, watched[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1)) {
		fprintf(stderr, "alone: %s\n", strerror(errno));
		return 1;
	}
	test = start(argv + 2, &before);
	if (test < 0) {
		fprintf(stderr, "alone: %s\n", strerror(errno));
		return 1;
	}
	status = wait_for(test, seconds, &set);
	end_all();
	return status;
}
