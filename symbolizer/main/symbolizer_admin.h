/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZER_ADMIN_H
#define RAWSTACK_SYMBOLIZER_ADMIN_H
/* What an operator does to a data directory: backup, compact, verify, salvage. */

/* Whether argv[1] names one of them. */
int symbolizer_admin_knows(const char *word);

/* Runs it; the exit status. argv[0] is its name. */
int symbolizer_admin(int argc, char **argv);

#endif
