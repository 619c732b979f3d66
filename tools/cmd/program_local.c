/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "libexec.h"
#include "program.h"

const struct command *const program_commands[] = {
	&cmd_resolve, &cmd_top,     &cmd_tree,  &cmd_peek,  &cmd_list,   &cmd_flame, &cmd_diff,
	&cmd_stats,   &cmd_convert, &cmd_merge, &cmd_admin, &cmd_config, NULL,
};

const struct resolve_service_ops *const program_resolve_service = NULL;
const struct remote_names_ops *const program_remote_names = NULL;

static int become_remote(struct err *err)
{
	char path[LIMIT_PATH_LEN];

	TRY(libexec_find("rawstack-remote", path, err));
	execv(path, program_arguments);
	return err_sys(err, errno, "%s", path);
}

program_other_fn *const program_other = become_remote;
