/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_POOL_H
#define RAWSTACK_SYMBOLIZE_POOL_H
/*
 * Keeps the memory of replies between requests, because touching fresh pages costs as much as the
 * lookups. The idle memory is bounded in bytes and freed when no request needed it for a while.
 * Safe from any thread.
 */
#include "symbolize.h"

struct symbolize_pool;

struct symbolize_pool *symbolize_pool_new(size_t max_bytes, struct err *err) _must_check_;
void symbolize_pool_free(struct symbolize_pool *p); /* every one must have been put back */

/* Returns a struct symbolize for unary requests, to be put back, or NULL if memory is out. */
struct symbolize *symbolize_pool_get(struct symbolize_pool *p, struct err *err) _must_check_;
void symbolize_pool_put(struct symbolize_pool *p, struct symbolize *s); /* NULL is allowed */

/* Frees the memory that no request needed since the last call. */
void symbolize_pool_age(struct symbolize_pool *p);

size_t symbolize_pool_memory(struct symbolize_pool *p); /* bytes of idle memory */
uint64_t symbolize_pool_uses(struct symbolize_pool *p); /* number of gets since the start */

#endif
