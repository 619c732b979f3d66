/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LIBEXEC_H
#define RAWSTACK_LIBEXEC_H
/* Where the programs are that only other programs of Rawstack start. */
#include <limits.h> /* ours, by the include path: beside it, clang does not like its #include_next */

#include "err.h"

/*
 * Beside the running program, as in a build tree; else where it is installed, seen from the
 * program. No absolute path is compiled in: what was configured for one prefix may be installed or
 * packaged for another, and nothing is ever started from a directory that is not this
 * installation's. ERR_NOT_FOUND.
 */
int libexec_find(const char *name, char path[static LIMIT_PATH_LEN], struct err *err) _must_check_;

#endif
