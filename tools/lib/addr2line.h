/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ADDR2LINE_H
#define RAWSTACK_ADDR2LINE_H
/* Handles what the command line of addr2line has beyond that of `resolve`, when the program is
 * called through a link of that name. */
#include "err.h"

bool addr2line_is_name(const char *path);

/* Handles arguments that ask for no address, like --version, and returns true. Otherwise it turns
 * argc and argv into those of `resolve`, reads @FILE arguments, and returns false. The new
 * arguments are never freed. */
bool addr2line_begin(int *argc, char ***argv, const char *version);

#endif
