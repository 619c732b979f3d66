/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for the table worker: the same process around it, but it does the one forbidden thing
 * that its input names. When that is merely refused, it says so in its reply.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox_program.h"

/* Only the worker has these: it looks at its input's headers, and waits for a second thread. */
static long try_fstat(void)
{
	struct stat st;

	return fstat(WORKER_FD_INPUT, &st);
}

static long try_read(void)
{
	char byte;

	return read(WORKER_FD_REQUEST, &byte, sizeof(byte));
}

static long try_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static long try_create(void)
{
	return open("/tmp/sandbox_probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static long try_open_by_number(void)
{
#ifdef SYS_open
	return syscall(SYS_open, "/etc/passwd", O_RDONLY);
#else /* newer machines have only this one */
	return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
#endif
}

static long try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long try_unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long try_execve(void)
{
	return execl("/bin/true", "true", NULL);
}

static long try_fork(void)
{
	return fork();
}

static long try_vfork(void)
{
#ifdef SYS_vfork
	return syscall(SYS_vfork);
#else
	return syscall(SYS_clone, CLONE_VFORK | CLONE_VM | SIGCHLD, 0, 0, 0, 0);
#endif
}

static long try_clone(void)
{
	return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static long try_clone3(void)
{
	return syscall(SYS_clone3, NULL, 0);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_kill_parent(void)
{
	return kill(getppid(), 0);
}

static long try_tgkill_parent(void)
{
	return syscall(SYS_tgkill, 1, 1, 0);
}

static long try_executable_mmap(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return p == MAP_FAILED ? -1 : 0;
}

static long try_executable_mprotect(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -1 : mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static long try_memfd(void)
{
	return memfd_create("probe", 0);
}

static long try_unlink(void)
{
	return unlink("/tmp/sandbox_probe");
}

static long try_raise_limit(void)
{
	const struct rlimit l = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_CPU, &l);
}

static long try_read_memory_of_others(void)
{
	return syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0);
}

static long try_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static long try_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long try_unshare(void)
{
	return unshare(CLONE_NEWUSER);
}

static long try_ten_gigabytes(void)
{
	const size_t part = 64 << 20;

	for (uint64_t all = 0; all < UINT64_C(10) << 30; all += part) {
		char *p = malloc(part);

		if (!p)
			return -1;
		memset(p, 1, part);
	}
	return 0;
}

static long try_ten_minutes(void)
{
	for (volatile uint64_t n = 1; n; n = n + 1)
		;
	return 0;
}

static long try_sleep(void)
{
	static int forever;

	return syscall(SYS_futex, &forever, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static long try_large_file(void)
{
	static char page[1 << 16];
	off_t at = 0;

	while (pwrite(WORKER_FD_OUTPUT, page, sizeof(page), at) == (ssize_t)sizeof(page))
		at += (off_t)sizeof(page);
	return -1;
}

static long try_write_to_input(void)
{
	return pwrite(WORKER_FD_INPUT, "x", 1, 0);
}

static long try_map_input(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, WORKER_FD_INPUT, 0);

	return p == MAP_FAILED ? -1 : 0;
}

static long try_cut_input(void)
{
	return ftruncate(WORKER_FD_INPUT, 0);
}

static long try_abort(void)
{
	abort();
}

static long try_work(void)
{
	char *volatile p = malloc(100 << 20);

	if (!p)
		return -1;
	memset(p, 1, 100 << 20);
	p = realloc(p, 200 << 20);
	free(p);
	errno = 0;
	return -1; /* nothing is forbidden in that: "refused" without an error */
}

static const struct {
	const char *name;
	long (*act)(void);
} acts[] = {
	{"work", try_work},
	{"abort", try_abort},
	{"fstat", try_fstat},
	{"read", try_read},
	{"open", try_open},
	{"create", try_create},
	{"open by number", try_open_by_number},
	{"socket", try_socket},
	{"unix socket", try_unix_socket},
	{"execve", try_execve},
	{"fork", try_fork},
	{"vfork", try_vfork},
	{"clone", try_clone},
	{"clone3", try_clone3},
	{"ptrace", try_ptrace},
	{"kill", try_kill_parent},
	{"tgkill", try_tgkill_parent},
	{"executable mmap", try_executable_mmap},
	{"executable mprotect", try_executable_mprotect},
	{"memfd", try_memfd},
	{"unlink", try_unlink},
	{"raise a limit", try_raise_limit},
	{"memory of others", try_read_memory_of_others},
	{"bpf", try_bpf},
	{"io_uring", try_io_uring},
	{"unshare", try_unshare},
	{"10 GB", try_ten_gigabytes},
	{"10 minutes of CPU", try_ten_minutes},
	{"sleep", try_sleep},
	{"large file", try_large_file},
	{"write to the input", try_write_to_input},
	{"map the input", try_map_input},
	{"cut the input", try_cut_input},
};

static int act(const char *name, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		long rc;

		if (strcmp(acts[i].name, name) != 0)
			continue;
		rc = acts[i].act();
		if (rc >= 0)
			return err_set(err, ERR_INTERNAL, "%s: ALLOWED", name);
		return err_set(err, ERR_DENIED, "%s: refused (%s)", name, strerrorname_np(errno));
	}
	return err_set(err, ERR_INTERNAL, "no such thing: '%s'", name);
}

static int answer(struct sandbox_job *job, struct worker_reply *reply _unused_, struct err *err)
{
	char name[64] = {0};
	int rc;

	if (pread(WORKER_FD_INPUT, name, sizeof(name) - 1, 0) <= 0)
		exit(9);
	rc = sandbox_job_enter(job, err);
	return rc ? rc : act(name, err);
}

int main(void)
{
	static const int calls[] = {SYS_futex, SYS_mprotect};
	static const struct sandbox_program program = {
		.name = "sandbox_probe", .calls = {calls, ARRAY_LEN(calls)}, .answer = answer};

	return sandbox_program_main(&program);
}
