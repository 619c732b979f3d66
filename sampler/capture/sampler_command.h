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

/* What --maps takes, by enum procscan_way. */
extern const char *const maps_words[];

/* Prints the error after the program's name and gives its exit status. */
int sampler_complain(const struct err *err);

#endif
