/* SPDX-License-Identifier: Apache-2.0 */
/* rawstack-sampler: the subcommand table. */
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "sampler_command.h"
#include "stdout_end.h"

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"run", "sample this machine into a spool, and ship it", cmd_run},
	{"ship", "ship a spool to a service, without sampling", cmd_ship},
	{"doctor", "what can be sampled here, and which binaries have no frame pointers",
	 cmd_doctor},
	{"spool", "look into a spool: ls, cat, verify, stats", cmd_spool},
	{"status", "how capture, spool and shipping are", cmd_status},
};

static void print_sampler_help(FILE *f)
{
	fprintf(f, "usage: rawstack-sampler COMMAND [ARGUMENT...]\n\n"
		   "Takes raw stacks on a host, keeps them on disk, ships them in batches.\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].what);
	fprintf(f, "\n`rawstack-sampler COMMAND --help` tells more. Also: --help, --version.\n"
		   "Exit status: 0 done, 1 failed, 2 usage.\n");
}

int sampler_complain(const struct err *err)
{
	log_error("%s", err->message);
	return err_exit_status(err->code);
}

const char *const maps_words[] = {
	[PROCSCAN_BEST] = "auto", [PROCSCAN_IOCTL] = "query", [PROCSCAN_TEXT] = "text", NULL};

static int run_sampler_command(int argc, char **argv)
{
	if (argc < 2) {
		print_sampler_help(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_sampler_help(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("rawstack-sampler " RAWSTACK_VERSION "\n");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	log_error("'%.40s' is no command; see rawstack-sampler --help", argv[1]);
	return 2;
}

int main(int argc, char **argv)
{
	struct err err;
	int status;

	log_init("rawstack-sampler");
	status = run_sampler_command(argc, argv);
	return status ? status : stdout_end(0, &err);
}
