/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROGRAM_H
#define RAWSTACK_PROGRAM_H
/*
 * Says which commands this program has. Two programs are built from the same sources. `rawstack`
 * (program_local.c) reads files and links no RPC, which alone takes longer to load than most
 * answers take. For whatever needs the service it executes `rawstack-remote` (program_remote.c),
 * which has every command, with the same arguments.
 */
#include "command.h"
#include "remote_names.h"
#include "resolve_service.h"

extern const struct command *const program_commands[]; /* ends in NULL */
extern const struct resolve_service_ops
	*const program_resolve_service; /* NULL: only the other program has it */

extern const struct remote_names_ops *const program_remote_names; /* likewise */

extern char **program_arguments; /* the arguments of main() */

/*
 * Executes the program that has every command, with the same arguments, and returns only on
 * failure. Call it before anything was read from standard input or printed. Returns ERR_NOT_FOUND
 * if that program is not installed. It is NULL in the program that has every command.
 */
typedef int program_other_fn(struct err *err) _must_check_;
extern program_other_fn *const program_other;

#endif
