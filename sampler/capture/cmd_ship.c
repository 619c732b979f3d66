/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler ship: gives up all capabilities and becomes rawstack-ship. */
#include <errno.h>

#include "capabilities.h"
#include "child_ship.h"
#include "libexec.h"
#include "log.h"
#include "sampler_command.h"

static int become_ship(int argc _unused_, char **argv, struct err *err)
{
	char program[LIMIT_PATH_LEN];
	int rc;

	TRY(libexec_find(CHILD_SHIP_PROGRAM, program, err));
	rc = capabilities_drop_all();
	if (rc)
		return err_sys(err, -rc, "giving up capabilities");
	argv[0] = program;
	execv(program, argv);
	return err_sys(err, errno, "%s", program);
}

/* The table has no options, because rawstack-ship parses them itself. */
static const struct option_usage usage = {.name = "rawstack-sampler ship"};

const struct command cmd_ship = {
	.usage = &usage,
	.run = become_ship,
	.summary = "ship a spool to a service, without sampling",
};
