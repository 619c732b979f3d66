/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sanitizer.h"

/* The system calls of glibc 2.36 to 2.41 for allocating, for reading and writing at an offset, and
 * for ending. Those of abort() are allowed so that a failed assertion is not reported as a
 * forbidden call. */
static const int allowed[] = {
	SCMP_SYS(pread64),         SCMP_SYS(write),
	SCMP_SYS(pwrite64),        SCMP_SYS(mmap),
	SCMP_SYS(munmap),          SCMP_SYS(mremap),
	SCMP_SYS(madvise),         SCMP_SYS(brk),
	SCMP_SYS(getrandom), /* the first malloc() */
	SCMP_SYS(sysinfo),   /* qsort() asks for the size of memory */
	SCMP_SYS(clock_gettime),   SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),  SCMP_SYS(rt_sigaction),
	SCMP_SYS(gettid),          SCMP_SYS(getpid),
	SCMP_SYS(tgkill),          SCMP_SYS(exit_group),
	SCMP_SYS(restart_syscall),
};

/* Libraries try these calls and handle a refusal. */
static const int refused[] = {
	SCMP_SYS(openat), SCMP_SYS(readlink), SCMP_SYS(ioctl), SCMP_SYS(prlimit64), SCMP_SYS(fcntl),
};

static int set_limit(int what, uint64_t soft, uint64_t hard, const char *name, struct err *err)
{
	struct rlimit l = {.rlim_cur = soft, .rlim_max = hard}, own;

	/* The inherited hard limit may be lower, and cannot be raised. */
	if (!getrlimit((__rlimit_resource_t)what, &own) && own.rlim_max < l.rlim_max)
		l.rlim_max = own.rlim_max;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	return setrlimit((__rlimit_resource_t)what, &l) ? err_sys(err, errno, "%s", name) : 0;
}

int sandbox_limit(const struct sandbox_limits *l, struct err *err)
{
	TRY(set_limit(RLIMIT_CORE, 0, 0, "RLIMIT_CORE", err));
	TRY(set_limit(RLIMIT_CPU, l->cpu_seconds, l->cpu_seconds + 2, "RLIMIT_CPU", err));
	TRY(set_limit(RLIMIT_FSIZE, l->file_len, l->file_len, "RLIMIT_FSIZE", err));
	if (!UNDER_SANITIZER)
		TRY(set_limit(RLIMIT_AS, l->memory, l->memory, "RLIMIT_AS", err));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(err, errno, "PR_SET_NO_NEW_PRIVS");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return err_sys(err, errno, "PR_SET_PDEATHSIG");
	worker_class_take(l->class);
	return 0;
}

static int allow_call(scmp_filter_ctx ctx, int call)
{
	/* Memory may be mapped, but never as executable. */
	if (call == SCMP_SYS(mmap) || call == SCMP_SYS(mprotect))
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
					SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* The process may signal only itself, as abort() does. */
	if (call == SCMP_SYS(tgkill))
		return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1,
					SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 0);
}

static int add_rules(scmp_filter_ctx ctx, const struct sandbox_calls *more)
{
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		TRY(allow_call(ctx, allowed[i]));
	for (size_t i = 0; i < more->count; i++)
		TRY(allow_call(ctx, more->list[i]));
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		TRY(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0));
	return 0;
}

int sandbox_enter(const struct sandbox_calls *more, struct err *err)
{
	scmp_filter_ctx ctx;
	int rc;

	if (UNDER_SANITIZER)
		return 0;
	ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	rc = ctx ? add_rules(ctx, more) : -ENOMEM;
	/* The filter also applies to threads that exist already. New ones cannot be created. */
	if (!rc)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc ? err_sys(err, -rc, "seccomp") : 0;
}
