/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLER_COMMAND_H
#define RAWSTACK_SAMPLER_COMMAND_H
/* The subcommands of rawstack-sampler. argv[0] is the subcommand's name; they return an exit
 * status (err_exit_status()) and print what is wrong themselves. */
#include "err.h"
#include "procscan.h"

int cmd_run(int argc, char **argv);
int cmd_ship(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_spool(int argc, char **argv);
int cmd_status(int argc, char **argv);

/* A whole decimal number of min to max: 0, or ERR_USAGE naming the option. */
int parse_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		 struct err *err);

/* Of --maps; ERR_USAGE. */
int parse_maps(const char *text, enum procscan_way *ret, struct err *err);

/* Prints the error after the program's name and gives its exit status. */
int complain(const struct err *err);

#endif
