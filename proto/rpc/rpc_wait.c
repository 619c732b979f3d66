/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_wait.h"

void rpc_wait_end(struct rpc_wait *w)
{
	if (!w->list)
		return;
	*(w->previous ? &w->previous->next : &w->list->first) = w->next;
	*(w->next ? &w->next->previous : &w->list->last) = w->previous;
	w->list = NULL;
}

void rpc_wait_begin(struct rpc_waits *list, struct rpc_wait *w, uint64_t now_ns)
{
	rpc_wait_end(w);
	*w = (struct rpc_wait){.previous = list->last, .list = list, .since_ns = now_ns};
	*(list->last ? &list->last->next : &list->first) = w;
	list->last = w;
}

struct rpc_wait *rpc_wait_longest(const struct rpc_waits *list, uint64_t patience_ns,
				  uint64_t now_ns)
{
	struct rpc_wait *w = list->first;

	return w && now_ns - w->since_ns >= patience_ns ? w : NULL;
}
