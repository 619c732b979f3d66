/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ADDR2LINE_H
#define RAWSTACK_ADDR2LINE_H
/* The command line of addr2line, for a link of that name: what it has beyond `resolve`. */
#include "err.h"

bool addr2line_is_name(const char *path);

/* Answers arguments that ask no question, like --version, and returns true. Otherwise turns argc
 * and argv into those of `resolve`, with @FILE arguments read. They are never freed. */
bool addr2line_begin(int *argc, char ***argv, const char *version);

#endif
