/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <string.h>

#include "limits.h"

enum {
	KEEP_LEN = 1 << 20, /* bytes of memory kept between polls, and rows */
	KEEP_ROWS = 4096,
	FETCH_AHEAD = 4,
	CACHE_LINE = 64,
};

/* data is an offset until it is handed out: the buffer moves when it grows. */
void events_init(struct events *q)
{
	*q = (struct events){
		.data = BUF_INIT(LIMIT_EVENTS_LEN),
		.spare_data = BUF_INIT(LIMIT_EVENTS_LEN),
	};
}

void events_done(struct events *q)
{
	free(q->rows);
	free(q->spare_rows);
	free(q->order);
	free(q->merged);
	buf_done(&q->data);
	buf_done(&q->spare_data);
}

/* Copies the data of a row, whose pointer becomes an offset. */
static bool keep_data(struct buf *to, struct event *row)
{
	const void *data = row->data;

	if (row->is_lasting)
		return true;
	row->data = (const void *)(uintptr_t)to->len;
	return to->max - to->len >= row->data_len + 8 && buf_append(to, data, row->data_len) &&
	       buf_align(to, 8);
}

bool events_add(struct events *q, const struct event *e)
{
	struct event row = *e;

	if (!grow_array((void **)&q->rows, &q->cap, q->count + 1, sizeof(*q->rows), LIMIT_EVENTS) ||
	    !keep_data(&q->data, &row)) {
		q->data.failed = false;
		q->refused++;
		return false;
	}
	q->rows[q->count++] = row;
	return true;
}

/* How many places from the first on are in order. */
static size_t run_of(const struct event_place *p, size_t count)
{
	size_t n = count < 1 ? count : 1;

	while (n < count && p[n - 1].time_ns <= p[n].time_ns)
		n++;
	return n;
}

/* Of two runs, one behind the other; what was added first stays first within one instant. */
static void merge(const struct event_place *a, size_t a_count, size_t b_count,
		  struct event_place *to)
{
	const struct event_place *b = a + a_count, *const a_end = b, *const b_end = b + b_count;

	while (a < a_end && b < b_end)
		*to++ = b->time_ns < a->time_ns ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

/* Neighbouring runs in pairs; how many runs are left. */
static size_t merge_pairs(const struct event_place *from, size_t count, struct event_place *to)
{
	size_t runs = 0;

	for (size_t at = 0; at < count; runs++) {
		const size_t a = run_of(from + at, count - at);
		const size_t b = run_of(from + at + a, count - at - a);

		merge(from + at, a, b, to + at);
		at += a + b;
	}
	return runs;
}

/* Each ring is in order, but for a hint behind its sample: so there are few runs. */
static bool sort(struct events *q)
{
	size_t runs;

	if (!grow_array((void **)&q->order, &q->order_cap, q->count, sizeof(*q->order),
			LIMIT_EVENTS))
		return false;
	for (size_t i = 0; i < q->count; i++)
		q->order[i] = (struct event_place){q->rows[i].time_ns, (uint32_t)i};
	runs = run_of(q->order, q->count) < q->count ? q->count : 1;
	if (runs > 1 && !grow_array((void **)&q->merged, &q->merged_cap, q->count,
				    sizeof(*q->merged), LIMIT_EVENTS))
		return false;
	while (runs > 1) {
		struct event_place *order = q->order;
		size_t cap = q->order_cap;

		runs = merge_pairs(order, q->count, q->merged);
		q->order = q->merged;
		q->order_cap = q->merged_cap;
		q->merged = order;
		q->merged_cap = cap;
	}
	q->order_count = q->count;
	q->order_at = 0;
	return true;
}

static void fetch(const struct event *e)
{
	for (size_t at = 0; at < sizeof(*e); at += CACHE_LINE)
		__builtin_prefetch((const char *)e + at);
}

const struct event *events_next(struct events *q, uint64_t horizon_ns)
{
	struct event *e;

	/* Rows lie in the order they came, so nothing else sees which is next. */
	if (q->order_at + FETCH_AHEAD < q->order_count)
		fetch(&q->rows[q->order[q->order_at + FETCH_AHEAD].row]);
	if (q->order_count != q->count && !sort(q))
		return NULL;
	if (q->order_at >= q->order_count)
		return NULL;
	e = &q->rows[q->order[q->order_at].row];
	if (e->time_ns >= horizon_ns)
		return NULL;
	q->order_at++;
	if (!e->is_lasting)
		e->data = q->data.p + (uintptr_t)e->data;
	return e;
}

bool events_has_new_image(const struct events *q, uint32_t pid, uint64_t after_ns)
{
	for (size_t i = 0; i < q->count; i++) {
		const struct event *e = &q->rows[i];

		if (e->pid == pid && e->time_ns > after_ns &&
		    ((e->kind == EVENT_COMM && e->comm.is_exec) ||
		     (e->kind == EVENT_FORK && e->fork.parent_pid != pid)))
			return true;
	}
	return false;
}

/* What a burst needed is not kept for ever. */
static void swap_spare(struct events *q)
{
	struct buf data = q->data;
	struct event *rows = q->rows;
	size_t cap = q->cap;

	q->data = q->spare_data;
	q->rows = q->spare_rows;
	q->cap = q->spare_cap;
	q->spare_data = data;
	q->spare_rows = rows;
	q->spare_cap = cap;
	if (data.cap <= KEEP_LEN && cap <= KEEP_ROWS)
		return;
	free(q->order);
	free(q->merged);
	q->order = q->merged = NULL;
	q->order_cap = q->merged_cap = 0;
	buf_done(&q->spare_data);
	free(q->spare_rows);
	q->spare_rows = NULL;
	q->spare_cap = 0;
}

void events_compact(struct events *q)
{
	const size_t count = q->order_count - q->order_at;
	const struct event *from = q->rows;
	size_t kept = 0;

	if (!q->order_at)
		return;
	buf_reset(&q->spare_data);
	if (!grow_array((void **)&q->spare_rows, &q->spare_cap, count, sizeof(*q->rows),
			LIMIT_EVENTS)) {
		q->refused += count;
		q->order_at = q->order_count;
	}
	for (; q->order_at < q->order_count; q->order_at++) {
		struct event e = from[q->order[q->order_at].row];

		if (!e.is_lasting)
			e.data = q->data.p + (uintptr_t)e.data;
		if (keep_data(&q->spare_data, &e))
			q->spare_rows[kept++] = e;
		else
			q->refused++;
	}
	q->spare_data.failed = false;
	q->count = kept;
	q->order_count = q->order_at = 0;
	swap_spare(q);
}
