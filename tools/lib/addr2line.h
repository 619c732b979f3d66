/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_ADDR2LINE_H
#define RAWSTACK_ADDR2LINE_H
/* Called as addr2line, through a link: what its command line has that `resolve` has not. */
#include "err.h"

bool addr2line_is_name(const char *path);

/* Does what the arguments of main() say that is no question, and returns true; else they become
 * those of `resolve`, with files of arguments (@FILE) read. They are never freed. */
bool addr2line_begin(int *argc, char ***argv, const char *version);

#endif
