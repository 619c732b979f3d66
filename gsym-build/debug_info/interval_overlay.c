/* SPDX-License-Identifier: Apache-2.0 */
#include "interval_overlay.h"

#include "bisect.h"
#include "sort.h"

bool interval_overlay_add(struct interval_overlay *p, uint64_t start, uint64_t end, uint64_t rank,
			  uint32_t value)
{
	if (start >= end)
		return true;
	if (!GROW(p->spans, &p->cap, p->count + 1, p->max))
		return false;
	p->spans[p->count++] =
		(struct interval_span){.start = start, .end = end, .rank = rank, .value = value};
	return true;
}

void interval_overlay_done(struct interval_overlay *p)
{
	free(p->spans);
	*p = (struct interval_overlay)INTERVAL_OVERLAY_INIT(p->max);
}

/* Orders by start, then the better span first. The heap prefers the first of equals, so a covered
 * span never reaches its top. */
static inline bool span_is_before(const struct interval_span *a, const struct interval_span *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	if (a->end != b->end)
		return a->end < b->end;
	return a->value > b->value;
}

DEFINE_SORT(sort_spans, struct interval_span, span_is_before)

/* A binary heap of indexes of spans that have begun, highest rank on top. */
struct heap {
	const struct interval_span *spans;
	uint32_t *items;
	size_t count;
};

static bool span_is_above(const struct heap *h, uint32_t a, uint32_t b)
{
	return h->spans[a].rank != h->spans[b].rank ? h->spans[a].rank > h->spans[b].rank : a < b;
}

static void heap_push(struct heap *h, uint32_t item)
{
	size_t i = h->count++;

	while (i && span_is_above(h, item, h->items[(i - 1) / 2])) {
		h->items[i] = h->items[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->items[i] = item;
}

static void heap_pop(struct heap *h)
{
	uint32_t item = h->items[--h->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && span_is_above(h, h->items[child + 1], h->items[child]))
			child++;
		if (!span_is_above(h, h->items[child], item))
			break;
		h->items[i] = h->items[child];
		i = child;
	}
	h->items[i] = item;
}

static bool add_seen(struct interval_overlay *out, const struct interval_span *span, uint64_t start,
		     uint64_t end)
{
	struct interval_span *last = out->count ? &out->spans[out->count - 1] : NULL;

	if (last && last->end == start && last->rank == span->rank && last->value == span->value) {
		last->end = end;
		return true;
	}
	return interval_overlay_add(out, start, end, span->rank, span->value);
}

static bool sweep_spans(struct heap *h, const struct interval_overlay *in,
			struct interval_overlay *out)
{
	const struct interval_span *spans = in->spans;
	size_t next = 0;
	uint64_t at = 0;

	while (next < in->count || h->count) {
		const struct interval_span *top;
		uint64_t end;

		if (!h->count)
			at = spans[next].start;
		while (next < in->count && spans[next].start <= at)
			heap_push(h, (uint32_t)next++);
		while (h->count && spans[h->items[0]].end <= at)
			heap_pop(h);
		if (!h->count)
			continue;
		top = &spans[h->items[0]];
		end = top->end;
		if (next < in->count && spans[next].start < end)
			end = spans[next].start;
		if (!add_seen(out, top, at, end))
			return false;
		at = end;
	}
	return true;
}

int interval_overlay_flatten(struct interval_overlay *p, struct err *err)
{
	_cleanup_(freep) struct interval_span *tmp = NULL;
	struct interval_overlay out = INTERVAL_OVERLAY_INIT(SIZE_MAX);
	struct heap heap;
	bool ok;

	if (!p->count)
		return 0;
	if (p->count > UINT32_MAX)
		return err_set(err, ERR_LIMIT, "more than 2^32 address ranges");
	tmp = malloc((p->count / 2 + 1) * sizeof(*tmp));
	if (!tmp)
		return err_no_memory(err);
	sort_spans(p->spans, tmp, p->count);
	heap = (struct heap){.spans = p->spans, .items = malloc(p->count * sizeof(uint32_t))};
	ok = heap.items && sweep_spans(&heap, p, &out);
	free(heap.items);
	if (!ok) {
		interval_overlay_done(&out);
		return err_no_memory(err);
	}
	free(p->spans);
	p->spans = out.spans;
	p->count = out.count;
	p->cap = out.cap;
	return 0;
}

size_t interval_overlay_find(const struct interval_overlay *p, uint64_t vaddr)
{
	return BISECT(p->count, i, p->spans[i].end <= vaddr);
}
