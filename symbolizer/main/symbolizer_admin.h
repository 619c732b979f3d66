/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZER_ADMIN_H
#define RAWSTACK_SYMBOLIZER_ADMIN_H
/* The commands with which an operator looks after a data directory: backup, compact, verify,
 * salvage. */

/* Returns whether `word` is the name of such a command. */
int symbolizer_admin_knows(const char *word);

/* Runs the command and returns its exit status. argv[0] is the command's name. */
int symbolizer_admin(int argc, char **argv);

#endif
