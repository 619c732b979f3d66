/* SPDX-License-Identifier: Apache-2.0 */
/* Frees what a storm of requests leaves behind: the memory of replies and the names that are kept
 * for the next request, and freed memory that malloc keeps, the transport's messages among it. */
#include <malloc.h>

#include "name_cache.h"
#include "service_priv.h"

/* After more requests than this in one interval, malloc's memory would be needed again at once. */
#define REST_REQUESTS 100

size_t service_kept_memory(struct service *s)
{
	return symbolize_pool_memory(s->pool) + name_cache_memory(s->names);
}

void service_rest(struct service *s, bool is_long)
{
	const uint64_t requests = symbolize_pool_uses(s->pool) - s->rest.requests;

	symbolize_pool_age(s->pool);
	if (is_long)
		name_cache_age(s->names);
	s->rest.requests += requests;
	/* Uploads and lists leave memory behind, too, but are not counted here. */
	s->rest.is_due |= requests || is_long;
	if (!s->rest.is_due || requests > REST_REQUESTS)
		return;
	malloc_trim(0);
	s->rest.is_due = false;
}
