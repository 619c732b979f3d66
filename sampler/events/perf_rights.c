/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>

#include "capabilities.h"
#include "io.h"
#include "number.h"

enum {
	PARANOID_MAX = 2, /* highest level for which CAP_PERFMON is enough */
};

int perf_rights_paranoid(int *ret)
{
	_cleanup_(freep) uint8_t *text = NULL;
	const char *at;
	bool is_negative;
	uint64_t n;
	size_t len;

	if (io_read_file("/proc/sys/kernel/perf_event_paranoid", 64, &text, &len, NULL))
		return 0;
	at = (const char *)text;
	is_negative = *at == '-';
	at += is_negative;
	if (!number_take(&at, 10, &n) || n > (is_negative ? 1 : 1000))
		return 0;
	*ret = is_negative ? -(int)n : (int)n;
	return 1;
}

const char *perf_rights_paranoid_advice(char *text, size_t len)
{
	int level;

	*text = 0;
	if (!capabilities_have(CAP_SYS_ADMIN) && perf_rights_paranoid(&level) &&
	    level > PARANOID_MAX)
		snprintf(text, len,
			 "kernel.perf_event_paranoid is %d, and above %d kernels of Debian and "
			 "Ubuntu ask for CAP_SYS_ADMIN: set it to %d with sysctl, or grant that",
			 level, PARANOID_MAX, PARANOID_MAX);
	return text;
}

int perf_rights_refused(struct err *err, int errnum, enum perf_rights_need need, const char *what)
{
	char missing[64], advice[192];

	if (errnum != EPERM && errnum != EACCES)
		return err_sys(err, errnum, "%s", what);
	if (!capabilities_have(CAP_PERFMON) && !capabilities_have(CAP_SYS_ADMIN) &&
	    need == PERF_RIGHTS_PERF)
		return err_set(err, ERR_DENIED, "%s is not permitted: CAP_PERFMON is missing",
			       what);
	capabilities_missing(missing, sizeof(missing));
	perf_rights_paranoid_advice(advice, sizeof(advice));
	return err_set(err, ERR_DENIED, "%s is not permitted: %s", what,
		       need == PERF_RIGHTS_PERF && *advice ? advice : missing);
}
