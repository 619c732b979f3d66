/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-gsym-build makes lookup tables of debug binaries, and looks up addresses in them. */
#include "demangle_budget.h"
#include "gsym_command.h"
#include "log.h"
#include "stdout_end.h"

static const struct command *const commands[] = {
	&gsym_command_build,
	&gsym_command_info,
	&gsym_command_lookup,
	&gsym_command_verify,
	&gsym_command_export,
	&gsym_command_bench,
	NULL,
};

static const struct command_table table = {
	.name = "rawstack-gsym-build",
	.version = RAWSTACK_VERSION,
	.about = "Makes a lookup table of a binary with debug information, and reads such tables.",
	.commands = commands,
};

int main(int argc, char **argv)
{
	struct err err = {0};
	int rc;

	log_init("rawstack-gsym-build");
	rc = commands_run(&table, argc, argv, &err);
	demangle_budget_tell();
	return stdout_end(rc, &err);
}
