/* SPDX-License-Identifier: Apache-2.0 */
/* no_threads PROGRAM [ARGUMENT...]: runs it where no thread can be started, as under a limit of
 * memory or of tasks: creating one fails with EAGAIN. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (argc < 2 || !filter ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAGAIN), SCMP_SYS(clone3), 0) ||
	    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAGAIN), SCMP_SYS(clone), 0) ||
	    seccomp_load(filter)) {
		fprintf(stderr, "no_threads: the filter cannot be made\n");
		return 1;
	}
	seccomp_release(filter);
	execv(argv[1], argv + 1);
	perror(argv[1]);
	return 1;
}
