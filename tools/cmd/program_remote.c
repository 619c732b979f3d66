/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "program.h"

const struct command *const program_commands[] = {
	&cmd_push,  &cmd_ls,      &cmd_missing, &cmd_resolve, &cmd_top,
	&cmd_tree,  &cmd_peek,    &cmd_list,    &cmd_flame,   &cmd_diff,
	&cmd_stats, &cmd_convert, &cmd_merge,   &cmd_admin,   NULL,
};

const struct resolve_service_ops *const program_resolve_service = &resolve_remote;
const struct remote_names_ops *const program_remote_names = &remote_names_service;

static const char *asked;

void program_init(char **argv)
{
	asked = argv[0] ? argv[1] : NULL;
}

int program_other(struct err *err)
{
	/* A command of another program that is asked for by its word alone. */
	if (asked && strcmp(asked, "status") == 0)
		return err_set(
			err, ERR_USAGE,
			"status: no such command: of a sampler it is rawstack-sampler status "
			"DIR, of the binaries of a service rawstack ls (see rawstack --help)");
	return err_set(err, ERR_USAGE, "%s: no such command (see rawstack --help)",
		       asked ? asked : "rawstack");
}
