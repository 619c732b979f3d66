/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells since when an id is being uploaded. One sender has the id to itself for at most
 * LIMIT_UPLOAD_ALONE_NS, counted from the first upload of a series over all connections, so that
 * senders who take turns have it no longer than one.
 */
#include "uploads_priv.h"

/* An upload that follows sooner belongs to the same series. */
#define GAP_NS INT64_C(60000000000)

static void join_series(struct upload_series *s, const struct upload_series *other)
{
	if (other->since_ns < s->since_ns)
		s->since_ns = other->since_ns;
	if (other->asked_ns > s->asked_ns)
		s->asked_ns = other->asked_ns;
	s->spoiled |= other->spoiled;
}

static bool goes_on(const struct upload *up, int64_t now)
{
	return up->streaming || up->state != UPLOAD_RECEIVING || now - up->touched_ns <= GAP_NS ||
	       now - up->brought_ns <= GAP_NS;
}

struct upload_series uploads_series(const struct uploads *u, const struct build_id *id, int64_t now)
{
	struct upload_series s = {now, INT64_MIN, false};

	for (const struct upload *up = u->list; up; up = up->next)
		if (build_id_equal(&up->id, id) && goes_on(up, now))
			join_series(&s, &up->series);
	for (size_t i = 0; i < ARRAY_LEN(u->ended_ones); i++)
		if (build_id_equal(&u->ended_ones[i].id, id) &&
		    now - u->ended_ones[i].at_ns <= GAP_NS)
			join_series(&s, &u->ended_ones[i].series);
	return s;
}

void uploads_end_series(struct uploads *u, const struct upload *up)
{
	const int64_t now = uploads_mono_ns(u);

	if (!goes_on(up, now))
		return;
	u->ended_ones[u->next_ended] = (struct upload_ended){up->id, up->series, now};
	u->next_ended = (u->next_ended + 1) % ARRAY_LEN(u->ended_ones);
}
