/* SPDX-License-Identifier: Apache-2.0 */
/* The program rawstack-sampler: its table of subcommands. */
#include <string.h>

#include "log.h"
#include "sampler_command.h"
#include "sighup.h"
#include "stdout_end.h"

static const struct command *const commands[] = {
	&cmd_run, &cmd_ship, &cmd_doctor, &cmd_spool, &cmd_status, NULL,
};

static const struct command_table table = {
	.name = "rawstack-sampler",
	.version = RAWSTACK_VERSION,
	.about = "Takes raw stacks on a host, keeps them on disk, ships them in batches.",
	.commands = commands,
};

const char *const maps_words[] = {
	[PROCSCAN_BEST] = "auto", [PROCSCAN_IOCTL] = "query", [PROCSCAN_TEXT] = "text", NULL};

int main(int argc, char **argv)
{
	struct err err = {0};

	/* `run` takes SIGHUP when it is ready for it; the other commands end by it. */
	sighup_block();
	if (argc < 2 || strcmp(argv[1], cmd_run.usage->name + sizeof("rawstack-sampler")) != 0)
		sighup_unblock();
	log_init("rawstack-sampler");
	/* rawstack-ship knows what completes its own words. */
	if (argc > 3 && strcmp(argv[1], "--complete") == 0 && strcmp(argv[2], "ship") == 0) {
		argv[2] = argv[1];
		return stdout_end(cmd_ship.run(argc - 1, argv + 1, &err), &err);
	}
	return stdout_end(commands_run(&table, argc, argv, &err), &err);
}
