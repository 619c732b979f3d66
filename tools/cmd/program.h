/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROGRAM_H
#define RAWSTACK_PROGRAM_H
/*
 * What the program can do by itself. There are two, of the same sources: `rawstack`
 * (program_local.c) reads files and links no RPC, which alone takes longer to load than most
 * answers; whatever needs the service it leaves to `rawstack-remote` (program_remote.c), which
 * knows every command and takes its place, with the same arguments.
 */
#include "command.h"
#include "remote_names.h"
#include "resolve_service.h"

extern const struct command *const program_commands[];                  /* a NULL ends them */
extern const struct resolve_service_ops *const program_resolve_service; /* NULL: see the other */

extern const struct remote_names_ops *const program_remote_names; /* likewise */

extern char **program_arguments; /* of main() */

/*
 * Goes on, with the arguments of main(), as the program that has every command: does not return
 * then. Before anything was read from standard input or printed. ERR_NOT_FOUND: it is not
 * installed. NULL: this is the one that has them.
 */
typedef int program_other_fn(struct err *err) _must_check_;
extern program_other_fn *const program_other;

#endif
