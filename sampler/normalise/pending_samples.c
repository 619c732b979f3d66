/* SPDX-License-Identifier: Apache-2.0 */
#include "pending_samples.h"

#include <string.h>

#include "limits.h"

void pending_samples_init(struct pending_samples *l)
{
	*l = (struct pending_samples){.end = &l->first};
}

void pending_samples_done(struct pending_samples *l)
{
	while (l->first)
		pending_samples_remove(l, &l->first);
}

bool pending_samples_add(struct pending_samples *l, const struct event *sample,
			 const struct proc *p, uint64_t until_ns)
{
	struct pending_sample *h;

	if (l->count >= LIMIT_PENDING_SAMPLES)
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

void pending_samples_remove(struct pending_samples *l, struct pending_sample **at)
{
	struct pending_sample *h = *at;

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
