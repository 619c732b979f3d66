/* SPDX-License-Identifier: Apache-2.0 */
#include "demangle_budget.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "log.h"
#include "thread_clock.h"

static _Atomic uint64_t spent_ns, refused;

/* Returns whether demangle_append() looks at the name at all. Names of C do not read the clock. */
static bool is_mangled(const uint8_t *p, size_t len)
{
	return len > 2 && p[0] == '_' && (p[1] == 'Z' || p[1] == 'R' || p[1] == 'D');
}

bool demangle_budget_append(enum demangle_style style, const void *name, size_t len,
			    struct buf *out)
{
	uint64_t begin;
	bool ok;

	if (style == DEMANGLE_NONE || !is_mangled(name, len))
		return demangle_append(style, name, len, out);
	if (atomic_load(&spent_ns) >= DEMANGLE_BUDGET_SECONDS * UINT64_C(1000000000)) {
		atomic_fetch_add(&refused, 1);
		return demangle_append(DEMANGLE_NONE, name, len, out);
	}
	begin = thread_cpu_ns();
	ok = demangle_append(style, name, len, out);
	atomic_fetch_add(&spent_ns, thread_cpu_ns() - begin);
	return ok;
}

void demangle_budget_tell(void)
{
	const uint64_t count = atomic_load(&refused);

	if (count)
		log_warn("%" PRIu64
			 " names are shown as the linker knows them: those before them took the "
			 "%d s of CPU time that one run spends on names",
			 count, DEMANGLE_BUDGET_SECONDS);
}
