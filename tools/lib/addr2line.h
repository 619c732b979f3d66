/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ADDR2LINE_H
#define RAWSTACK_ADDR2LINE_H
/* Handles the command line of addr2line, when the program is called through a link of that name:
 * what it has beyond `resolve`. */
#include "err.h"

bool addr2line_is_name(const char *path);

/* Handles arguments that ask for no address, like --version, and returns true. Otherwise it turns
 * argc and argv into those of `resolve`, reads @FILE arguments, and returns false. The new
 * arguments are never freed. */
bool addr2line_begin(int *argc, char ***argv, const char *version);

#endif
