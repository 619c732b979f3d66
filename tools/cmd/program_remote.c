/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

/* Refuses `status`, and names the programs that have such a command. */
static int refuse_status(int argc _unused_, char **argv _unused_, struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "status: no such command: rawstack-sampler status DIR shows a sampler, and "
		       "rawstack "
		       "ls the binaries of a service (see rawstack --help)");
}

static const struct option_usage status_usage = {.name = "rawstack status"};
static const struct command cmd_status = {.usage = &status_usage, .run = refuse_status};

const struct command *const program_commands[] = {
	&cmd_push,  &cmd_ls,    &cmd_missing, &cmd_resolve, &cmd_top,   &cmd_tree,
	&cmd_peek,  &cmd_list,  &cmd_flame,   &cmd_diff,    &cmd_stats, &cmd_convert,
	&cmd_merge, &cmd_admin, &cmd_config,  &cmd_status,  NULL,
};

const struct resolve_service_ops *const program_resolve_service = &resolve_remote;
const struct remote_names_ops *const program_remote_names = &remote_names_service;

program_other_fn *const program_other = NULL;
