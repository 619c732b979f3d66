/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DESCRIPTORS_H
#define RAWSTACK_DESCRIPTORS_H
/* Raises and checks how many files this process may have open (RLIMIT_NOFILE), because each CPU
 * that is sampled takes some. */
#include <stddef.h>

#include "err.h"

/* Raises the limit to the hard limit, and beyond it if that is low and this process has
 * CAP_SYS_RESOURCE. */
void descriptors_raise(void);

/* Returns 0 if the limit permits `each` descriptors for each CPU and `rest` others, or ERR_LIMIT
 * with a message that says what to do. */
int descriptors_check(size_t each, size_t rest, struct err *err);

#endif
