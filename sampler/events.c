/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include "limits.h"

/* data is an offset until it is handed out: the buffer moves when it grows. */
void events_init(struct events *q)
{
	*q = (struct events){.data = BUF_INIT(LIMIT_EVENTS_LEN)};
}

void events_done(struct events *q)
{
	free(q->rows);
	free(q->order);
	buf_done(&q->data);
}

bool events_add(struct events *q, const struct event *e)
{
	struct event row = *e;

	row.data = (const void *)(uintptr_t)q->data.len;
	if (q->data.max - q->data.len < e->data_len + 8 ||
	    !grow_array((void **)&q->rows, &q->cap, q->count + 1, sizeof(*q->rows), LIMIT_EVENTS) ||
	    !buf_append(&q->data, e->data, e->data_len) || !buf_align(&q->data, 8)) {
		q->data.failed = false;
		q->refused++;
		return false;
	}
	q->rows[q->count++] = row;
	return true;
}

/* By time, and as they were added within one instant. */
static int compare(const void *a, const void *b, void *arg)
{
	const struct events *q = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	uint64_t x = q->rows[i].time_ns, y = q->rows[j].time_ns;

	return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static bool sort(struct events *q)
{
	if (!grow_array((void **)&q->order, &q->order_cap, q->count, sizeof(*q->order),
			LIMIT_EVENTS))
		return false;
	for (uint32_t i = 0; i < q->count; i++)
		q->order[i] = i;
	if (q->count)
		qsort_r(q->order, q->count, sizeof(*q->order), compare, q);
	q->order_count = q->count;
	q->order_at = 0;
	return true;
}

const struct event *events_next(struct events *q, uint64_t horizon_ns)
{
	struct event *e;

	if (q->order_count != q->count && !sort(q))
		return NULL;
	if (q->order_at >= q->order_count)
		return NULL;
	e = &q->rows[q->order[q->order_at]];
	if (e->time_ns >= horizon_ns)
		return NULL;
	q->order_at++;
	e->data = q->data.p + (uintptr_t)e->data;
	return e;
}

void events_compact(struct events *q)
{
	struct buf kept = BUF_INIT(q->data.max);
	struct event *rows;
	size_t count = q->order_count - q->order_at;

	if (!q->order_at)
		return;
	rows = count ? calloc(count, sizeof(*rows)) : NULL;
	if (count && !rows)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		struct event *e = &rows[i];

		*e = q->rows[q->order[q->order_at + i]];
		e->data = q->data.p + (uintptr_t)e->data;
		buf_append(&kept, e->data, e->data_len);
		e->data = (const void *)(uintptr_t)(kept.len - e->data_len);
		buf_align(&kept, 8);
	}
	if (kept.failed)
		count = 0;
	q->refused += q->order_count - q->order_at - count;
	free(q->rows);
	q->rows = rows;
	q->count = q->cap = count;
	buf_done(&q->data);
	q->data = kept;
	q->order_count = q->order_at = 0;
}
