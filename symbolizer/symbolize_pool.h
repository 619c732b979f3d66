/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_POOL_H
#define RAWSTACK_SYMBOLIZE_POOL_H
/*
 * Replies' memory, kept warm between requests: touching fresh pages costs as much as the lookups.
 * What is idle is bounded in bytes. Safe from any thread.
 */
#include "symbolize.h"

struct symbolize_pool;

struct symbolize_pool *symbolize_pool_new(size_t max_bytes, struct err *err) _must_check_;
void symbolize_pool_free(struct symbolize_pool *p); /* all were put back */

/* One for unary requests, NULL when memory is out; given back with put. */
struct symbolize *symbolize_pool_get(struct symbolize_pool *p, struct err *err) _must_check_;
void symbolize_pool_put(struct symbolize_pool *p, struct symbolize *s); /* NULL: nothing */

#endif
