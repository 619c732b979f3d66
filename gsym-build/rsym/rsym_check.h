/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_CHECK_H
#define RAWSTACK_RSYM_CHECK_H
/* Validates a table whose sections rsym_open.c has found. ERR_DATA, ERR_MEMORY. */
#include "rsym.h"

/* Checks what every lookup relies on: that spans stay inside the index, and segments inside 64
 * bits. */
int rsym_check_heads(const struct rsym *t, struct err *err) _must_check_;

/* Checks everything else, so that the table is one the writer could have made. */
int rsym_check(const struct rsym *t, struct err *err) _must_check_;

#endif
