/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

/* ENOUGH is the limit that a process has on most systems, which is enough for the reader of files.
 * ENOUGH_EACH is more than a CPU takes. */
enum {
	ENOUGH = 1024,
	ENOUGH_EACH = 8,
};

void descriptors_raise(void)
{
	const rlim_t enough = ENOUGH + ENOUGH_EACH * (rlim_t)get_nprocs_conf();
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_max < enough) {
		const struct rlimit more = {enough, enough};

		if (!setrlimit(RLIMIT_NOFILE, &more))
			return;
	}
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int descriptors_check(size_t each, size_t rest, struct err *err)
{
	const size_t cpus = (size_t)get_nprocs_conf(), need = cpus * each + rest;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"%zu descriptors are needed on %zu CPUs, and RLIMIT_NOFILE allows %llu: raise "
		"it (LimitNOFILE= of the unit, ulimit -n)",
		need, cpus, (unsigned long long)limit.rlim_cur);
}
