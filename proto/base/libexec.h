/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LIBEXEC_H
#define RAWSTACK_LIBEXEC_H
/* Finds the programs that only other programs of Rawstack start. */
#include <limits.h> /* ours, by the include path: beside it, clang does not like its #include_next */

#include "err.h"

/*
 * Finds a program beside the running one, as in a build tree, else in the libexec directory of the
 * same installation, by a path relative to the running program. No absolute path is compiled in,
 * because the same files may be installed under another prefix, and nothing is ever started from
 * another installation. Returns ERR_NOT_FOUND.
 */
int libexec_find(const char *name, char path[static LIMIT_PATH_LEN], struct err *err) _must_check_;

#endif
