/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

const struct command *const program_commands[] = {
	&cmd_push,  &cmd_ls,    &cmd_missing, &cmd_resolve,        &cmd_top,   &cmd_tree,
	&cmd_peek,  &cmd_list,  &cmd_flame,   &cmd_diff,           &cmd_stats, &cmd_convert,
	&cmd_merge, &cmd_admin, &cmd_config,  &cmd_service_status, NULL,
};

const struct resolve_service_ops *const program_resolve_service = &resolve_remote;
const struct remote_names_ops *const program_remote_names = &remote_names_service;

program_other_fn *const program_other = NULL;
