/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SAMPLER_COMMAND_H
#define RAWSTACK_SAMPLER_COMMAND_H
/* The subcommands of rawstack-sampler, each in its cmd_<name>.c. main() prints the message of *err
 * and turns its code into the exit status. */
#include "buf.h"
#include "commands.h"
#include "procscan.h"
#include "spool.h"

extern const struct command cmd_run, cmd_ship, cmd_doctor, cmd_spool, cmd_status;

/* The arguments of --maps, by enum procscan_way. */
extern const char *const maps_words[];

/* Writes a member of a JSON object: how often each loss occurred, by its name. */
void losses_put_json(struct buf *out, const char *key,
		     const uint64_t losses[static SPOOL_LOSS_COUNT]);

#endif
