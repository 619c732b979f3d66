/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include "limits.h"

enum {
	KEEP_LEN = 1 << 20, /* bytes of memory kept between polls, and rows */
	KEEP_ROWS = 4096,
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
		struct event e = from[q->order[q->order_at]];

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
