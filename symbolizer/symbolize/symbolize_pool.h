/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_POOL_H
#define RAWSTACK_SYMBOLIZE_POOL_H
/*
 * Replies' memory, kept warm between requests: touching fresh pages costs as much as the lookups.
 * What is idle is bounded in bytes, and given back when it was not needed for a while. Safe from
 * any thread.
 */
#include "symbolize.h"

struct symbolize_pool;

struct symbolize_pool *symbolize_pool_new(size_t max_bytes, struct err *err) _must_check_;
void symbolize_pool_free(struct symbolize_pool *p); /* all were put back */

/* One for unary requests, NULL when memory is out; given back with put. */
struct symbolize *symbolize_pool_get(struct symbolize_pool *p, struct err *err) _must_check_;
void symbolize_pool_put(struct symbolize_pool *p, struct symbolize *s); /* NULL: nothing */

/* Frees what no request needed since the last call. */
void symbolize_pool_age(struct symbolize_pool *p);

size_t symbolize_pool_memory(struct symbolize_pool *p); /* bytes of what is idle */
uint64_t symbolize_pool_uses(struct symbolize_pool *p); /* gets so far */

#endif
