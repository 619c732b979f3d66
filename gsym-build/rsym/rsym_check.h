/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RSYM_CHECK_H
#define RAWSTACK_RSYM_CHECK_H
/* Validation of a table whose sections are found; rsym.c calls it. ERR_DATA, ERR_MEMORY. */
#include "rsym.h"

/* What every lookup relies on: that spans stay inside the index, and segments inside 64 bits. */
int rsym_check_heads(const struct rsym *t, struct err *err) _must_check_;

/* All the rest: that the table could have come from the writer. */
int rsym_check(const struct rsym *t, struct err *err) _must_check_;

#endif
