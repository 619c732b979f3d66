/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>

#include "sanitizer.h"

/* What malloc, mmap, reading, writing and ending take on glibc 2.36 to 2.41; the calls behind
 * abort() are there so that a failed assertion is seen as one and not as a forbidden call. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(pwrite64),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(close),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(tgkill),
	SCMP_SYS(exit_group),
	SCMP_SYS(exit),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sysinfo), /* qsort() asks for the size of memory */
};

/* Libraries probe these and live with a refusal. */
static const int refused[] = {
	SCMP_SYS(openat), SCMP_SYS(readlink), SCMP_SYS(ioctl), SCMP_SYS(prlimit64), SCMP_SYS(fcntl),
};

static int add_rules(scmp_filter_ctx ctx)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(allowed) && !rc; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(refused) && !rc; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	/* Memory, but never to be executed. */
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!rc)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				      SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return rc;
}

int sandbox_enter(struct err *err)
{
	scmp_filter_ctx ctx;
	int rc;

	if (UNDER_SANITIZER)
		return 0;
	ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	rc = ctx ? add_rules(ctx) : -ENOMEM;
	if (!rc)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	return rc ? err_sys(err, -rc, "seccomp") : 0;
}
