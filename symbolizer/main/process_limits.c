/* SPDX-License-Identifier: Apache-2.0 */
#include "process_limits.h"

#include <malloc.h>
#include <sys/resource.h>

#include "limits.h"
#include "rpc_accept.h"
#include "service.h"

enum {
	WORKERS_PER_ARENA = 2,
	ARENAS_MIN = 2,
	/* The fewest descriptors with which a start is useful. A build uses the numbers from
	 * LIMIT_COMPANIONS on for a moment, because its worker finds its files below them. */
	DESCRIPTORS_OWN = 64,   /* the store, gRPC, and a few connections and uploads */
	DESCRIPTORS_BUILD = 24, /* pipes, files and what a worker is given */
};

int process_limits_raise(unsigned int builders, struct err *err)
{
	const uint64_t builds = builders ? builders : SERVICE_BUILDERS;
	const uint64_t least =
		LIMIT_COMPANIONS + DESCRIPTORS_OWN + DESCRIPTORS_BUILD * (builds + 1);
	struct rlimit l;

	if (!getrlimit(RLIMIT_NOFILE, &l)) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < least)
		return err_set(err, ERR_LIMIT,
			       "%llu descriptors are needed for %llu builds at once, and "
			       "RLIMIT_NOFILE allows %llu: raise it (LimitNOFILE= of the unit, "
			       "ulimit -n)",
			       (unsigned long long)least, (unsigned long long)builds,
			       (unsigned long long)l.rlim_cur);
	return rpc_accept_bound(err);
}

void process_share_memory(unsigned int workers)
{
	int arenas = (int)(workers / WORKERS_PER_ARENA);

	(void)mallopt(M_ARENA_MAX, arenas < ARENAS_MIN ? ARENAS_MIN : arenas);
}
