/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZER_ADMIN_H
#define RAWSTACK_SYMBOLIZER_ADMIN_H
/* The commands with which an operator looks after a data directory: backup, compact, verify,
 * salvage. */
#include "commands.h"

extern const struct command *const symbolizer_admin_commands[]; /* a NULL ends them */

#endif
