/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler ship: becomes rawstack-ship, without capabilities. */
#include <errno.h>

#include "capabilities.h"
#include "child_ship.h"
#include "libexec.h"
#include "log.h"
#include "sampler_command.h"

int cmd_ship(int argc _unused_, char **argv)
{
	char program[LIMIT_PATH_LEN];
	struct err err;
	int rc;

	if (libexec_find(CHILD_SHIP_PROGRAM, program, &err))
		return sampler_complain(&err);
	rc = capabilities_drop_all();
	if (rc) {
		err_sys(&err, -rc, "giving up capabilities");
		return sampler_complain(&err);
	}
	argv[0] = program;
	execv(program, argv);
	err_sys(&err, errno, "%s", program);
	return sampler_complain(&err);
}
