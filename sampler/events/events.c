/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <string.h>

#include "limits.h"

/* Most events between two polls, and bytes of their data; the rings hold fewer. */
#define LIMIT_EVENTS     LIMIT(1048576)
#define LIMIT_EVENTS_LEN (64 * MIB)

enum {
	KEEP_LEN = 1 << 20, /* memory for so many bytes of data is kept between polls */
	KEEP_ROWS = 4096,   /* and for so many rows */
	FETCH_AHEAD = 4,    /* so many places ahead a row is prefetched */
	CACHE_LINE = 64,
};

_Static_assert(sizeof(struct event_again) == 32, "half a line: there are many of them");

void events_init(struct events *q)
{
	*q = (struct events){
		.now.data = BUF_INIT(LIMIT_EVENTS_LEN),
		.spare.data = BUF_INIT(LIMIT_EVENTS_LEN),
	};
}

static void free_rows(struct event_rows *r)
{
	free(r->whole);
	free(r->agains);
	free(r->places);
	buf_done(&r->data);
	*r = (struct event_rows){.data = BUF_INIT(LIMIT_EVENTS_LEN)};
}

void events_done(struct events *q)
{
	free_rows(&q->now);
	free_rows(&q->spare);
	free(q->merged);
}

/* --- in -------------------------------------------------------------------------------------- */

/* Returns the slot in last[] of the sample's CPU. */
static size_t last_of(const struct event *e)
{
	return e->sample.cpu & (EVENTS_LAST - 1);
}

/* Returns whether a sample differs from `was`, the last one of its CPU, only in what struct
 * event_again holds. */
static bool is_again(const struct event *was, const struct event *e)
{
	if (was->sample.cpu != e->sample.cpu)
		return false;
	if (e->is_same_thread)
		return true;
	return was->tid == e->tid && was->pid == e->pid &&
	       was->sample.start_ns == e->sample.start_ns &&
	       was->sample.cgroup_id == e->sample.cgroup_id &&
	       was->sample.flags == e->sample.flags && was->sample.state == e->sample.state &&
	       !memcmp(was->sample.comm, e->sample.comm, sizeof(e->sample.comm));
}

/* Adds a sample as a repeat of an earlier one. Returns false, with nothing changed, if it must be
 * stored whole. */
static bool add_repeated_event(struct events *q, const struct event *e)
{
	struct event_rows *r = &q->now;
	const size_t last = q->last[last_of(e)].whole;

	if (!last || !e->is_lasting ||
	    e->data_len != (e->sample.kernel_count + e->sample.user_count) * sizeof(uint64_t) ||
	    /* The earlier event must be handed out first, because this one will overwrite it. */
	    e->time_ns < q->last[last_of(e)].time_ns || !is_again(&r->whole[last - 1], e) ||
	    !GROW(r->agains, &r->again_cap, r->again_count + 1, LIMIT_EVENTS))
		return false;
	r->agains[r->again_count++] = (struct event_again){
		.stack_id = e->sample.stack_id,
		.pcs = e->data,
		.of = (uint32_t)(last - 1),
		.syscall = e->sample.syscall,
		.kernel_err = e->sample.kernel_err,
		.user_err = e->sample.user_err,
		.kernel_count = e->sample.kernel_count,
		.user_count = e->sample.user_count,
	};
	return true;
}

/* Adds an event and a copy of its data, whose pointer becomes an offset, because the buffer moves
 * when it grows. Returns false if there is no room. */
static bool add_whole(struct event_rows *r, const struct event *e)
{
	struct event *row;

	if (!GROW(r->whole, &r->whole_cap, r->whole_count + 1, LIMIT_EVENTS))
		return false;
	row = &r->whole[r->whole_count];
	*row = *e;
	row->is_again = false;
	if (!e->is_lasting) {
		row->data = (const void *)(uintptr_t)r->data.len;
		if (r->data.max - r->data.len < e->data_len + 8 ||
		    !buf_append(&r->data, e->data, e->data_len) || !buf_align(&r->data, 8)) {
			r->data.failed = false;
			return false;
		}
	}
	r->whole_count++;
	return true;
}

bool events_add(struct events *q, const struct event *e)
{
	const bool is_sample = e->kind == EVENT_SAMPLE;
	struct event_rows *r = &q->now;
	struct event_place place = {.time_ns = e->time_ns};

	if (!GROW(r->places, &r->places_cap, r->count + 1, LIMIT_EVENTS)) {
		q->refused++;
		return false;
	}
	if (is_sample && add_repeated_event(q, e)) {
		place.is_again = true;
		place.row = (uint32_t)r->again_count - 1;
	} else if (add_whole(r, e)) {
		place.row = (uint32_t)r->whole_count - 1;
		if (is_sample)
			q->last[last_of(e)].whole = r->whole_count;
	} else {
		q->refused++;
		return false;
	}
	if (is_sample)
		q->last[last_of(e)].time_ns = e->time_ns;
	r->places[r->count++] = place;
	q->is_sorted = false;
	return true;
}

/* --- in order -------------------------------------------------------------------------------- */

/* Returns how many places, from the first on, are in order. */
static size_t run_of(const struct event_place *p, size_t count)
{
	size_t n = count < 1 ? count : 1;

	while (n < count && p[n - 1].time_ns <= p[n].time_ns)
		n++;
	return n;
}

/* Merges two adjacent runs. The merge is stable: events of one instant stay in the order added. */
static void merge_runs(const struct event_place *a, size_t a_count, size_t b_count,
		       struct event_place *to)
{
	const struct event_place *b = a + a_count, *const a_end = b, *const b_end = b + b_count;

	while (a < a_end && b < b_end)
		*to++ = b->time_ns < a->time_ns ? *b++ : *a++;
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

/* Merges adjacent runs in pairs and returns how many runs are left. */
static size_t merge_pairs(const struct event_place *from, size_t count, struct event_place *to)
{
	size_t runs = 0;

	for (size_t at = 0; at < count; runs++) {
		const size_t a = run_of(from + at, count - at);
		const size_t b = run_of(from + at + a, count - at - a);

		merge_runs(from + at, a, b, to + at);
		at += a + b;
	}
	return runs;
}

/* Sorts the places by merging runs. Each ring is in order, except for hints after their samples, so
 * there are few runs. Returns false if memory is short. */
static bool sort_events(struct events *q)
{
	struct event_rows *r = &q->now;
	size_t runs = run_of(r->places, r->count) < r->count ? r->count : 1;

	if (runs > 1 && !GROW(q->merged, &q->merged_cap, r->count, LIMIT_EVENTS))
		return false;
	while (runs > 1) {
		struct event_place *places = r->places;
		size_t cap = r->places_cap;

		runs = merge_pairs(places, r->count, q->merged);
		r->places = q->merged;
		r->places_cap = q->merged_cap;
		q->merged = places;
		q->merged_cap = cap;
	}
	q->is_sorted = true;
	return true;
}

/* --- out ------------------------------------------------------------------------------------- */

/* Prefetches a row. Rows are in order of arrival, so the processor cannot predict the next one. */
static void prefetch_row(const struct event_rows *r, size_t at)
{
	const struct event_place *p = &r->places[at];
	const char *row;

	if (at >= r->count || p->is_again) /* repeats are adjacent in memory */
		return;
	row = (const char *)&r->whole[p->row];
	for (size_t off = 0; off < sizeof(struct event); off += CACHE_LINE)
		__builtin_prefetch(row + off);
}

/* Returns the event of a place and turns its offset back into a pointer; call it once for each
 * place. */
static const struct event *open_row(struct event_rows *r, const struct event_place *p)
{
	const struct event_again *a;
	struct event *e;

	if (!p->is_again) {
		e = &r->whole[p->row];
		if (!e->is_lasting)
			e->data = r->data.p + (uintptr_t)e->data;
		return e;
	}
	a = &r->agains[p->row];
	e = &r->whole[a->of];
	e->time_ns = p->time_ns;
	e->sample.syscall = a->syscall;
	e->sample.kernel_err = a->kernel_err;
	e->sample.user_err = a->user_err;
	e->sample.kernel_count = a->kernel_count;
	e->sample.user_count = a->user_count;
	e->sample.stack_id = a->stack_id;
	e->data = a->pcs;
	e->data_len = (a->kernel_count + a->user_count) * sizeof(uint64_t);
	e->is_lasting = e->is_again = true;
	return e;
}

const struct event *events_next(struct events *q, uint64_t horizon_ns)
{
	struct event_rows *r = &q->now;

	if (!q->is_sorted && !sort_events(q))
		return NULL;
	if (q->at >= r->count || r->places[q->at].time_ns >= horizon_ns)
		return NULL;
	prefetch_row(r, q->at + FETCH_AHEAD);
	return open_row(r, &r->places[q->at++]);
}

bool events_has_new_image(const struct events *q, uint32_t pid, uint64_t after_ns)
{
	for (size_t i = 0; i < q->now.whole_count; i++) {
		const struct event *e = &q->now.whole[i];

		if (e->pid == pid && e->time_ns > after_ns &&
		    ((e->kind == EVENT_COMM && e->comm.is_exec) ||
		     (e->kind == EVENT_FORK && e->fork.parent_pid != pid)))
			return true;
	}
	return false;
}

const struct event *events_find_mapping(const struct events *q, uint32_t pid, uint64_t after_ns,
					size_t *at)
{
	while (*at < q->now.whole_count) {
		const struct event *e = &q->now.whole[(*at)++];

		if (e->pid == pid && e->time_ns > after_ns && e->kind == EVENT_MAP)
			return e;
	}
	return NULL;
}

/* Gives back memory that a burst took. */
static void shrink_events(struct events *q)
{
	if (q->spare.data.cap <= KEEP_LEN && q->spare.places_cap <= KEEP_ROWS)
		return;
	free_rows(&q->spare);
	free(q->merged);
	q->merged = NULL;
	q->merged_cap = 0;
}

/* Adds the remaining events to the other rows, in order of time. */
void events_compact(struct events *q)
{
	struct event_rows from = q->now;

	if (!q->at)
		return;
	q->now = q->spare;
	memset(q->last, 0, sizeof(q->last));
	for (size_t i = q->at; i < from.count; i++) {
		/* After a failed add, is_same_thread of the next event would refer to a sample that
		 * is lost. */
		if (!events_add(q, open_row(&from, &from.places[i])))
			memset(q->last, 0, sizeof(q->last));
	}
	from.count = from.whole_count = from.again_count = 0;
	buf_reset(&from.data);
	q->spare = from;
	q->at = 0;
	shrink_events(q);
}
