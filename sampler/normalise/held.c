/* SPDX-License-Identifier: Apache-2.0 */
#include "held.h"

#include <string.h>

#include "limits.h"

void held_init(struct held_list *l)
{
	*l = (struct held_list){.end = &l->first};
}

void held_done(struct held_list *l)
{
	while (l->first)
		held_remove(l, &l->first);
}

bool held_add(struct held_list *l, const struct event *sample, const struct proc *p,
	      uint64_t until_ns)
{
	struct held *h;

	if (l->count >= LIMIT_HELD)
		return false;
	h = calloc(1, sizeof(*h) + sample->data_len);
	if (!h)
		return false;
	h->until_ns = until_ns;
	h->sample = *sample;
	h->sample.data = h->pcs;
	memcpy(h->pcs, sample->data, sample->data_len);
	if (p) {
		h->has_proc = true;
		h->proc = *p;
		h->proc.next = NULL;
		h->proc.maps = mappings_ref(p->maps);
		if (p->exe)
			module_ref(p->exe);
		if (p->jit)
			jit_ref(p->jit);
	}
	*l->end = h;
	l->end = &h->next;
	l->count++;
	return true;
}

void held_remove(struct held_list *l, struct held **at)
{
	struct held *h = *at;

	*at = h->next;
	if (l->end == &h->next)
		l->end = at;
	if (h->has_proc) {
		mappings_unref(h->proc.maps);
		module_unref(h->proc.exe);
		jit_unref(h->proc.jit);
	}
	free(h);
	l->count--;
}
