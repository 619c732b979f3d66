/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DESCRIPTORS_H
#define RAWSTACK_DESCRIPTORS_H
/* How many files this process may have open (RLIMIT_NOFILE): a CPU that is sampled takes some. */
#include <stddef.h>

#include "err.h"

/* Allows as many as the process may have; more where it has CAP_SYS_RESOURCE and those are few. */
void descriptors_raise(void);

/* Whether there can be `each` for each CPU and `rest` beside: 0, or ERR_LIMIT and a line that says
 * what to do. */
int descriptors_check(size_t each, size_t rest, struct err *err);

#endif
