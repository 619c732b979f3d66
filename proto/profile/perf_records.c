/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the records of perf.data in order of time. Each CPU has its own buffer, and perf writes
 * one after the other, in rounds. The end of a round promises that later records are not older than
 * the newest of the round before. So only the records of two rounds wait to be sorted. If a file
 * breaks that promise, or has no rounds, all of them wait. */
#include <linux/perf_event.h>

#include "limits.h"
#include "perf_data_priv.h"

/* The most records of one perf.data file: two CPUs at 999 Hz have some seven million samples in an
 * hour. */
#define LIMIT_PERF_RECORDS LIMIT(134217728)

static int perf_record_damaged(struct perf_reader *r, const char *what)
{
	return err_set(r->err, ERR_DATA, "perf.data: damaged %s", what);
}

struct record_head {
	uint32_t type;
	uint16_t misc, len; /* with the header */
};

static bool record_at(struct bytes file, uint64_t off, struct record_head *h, struct bytes *body)
{
	struct bytes in;

	if (!perf_part(file, off, PERF_HEADER_LEN, &in))
		return false;
	h->type = bytes_u32(&in);
	h->misc = bytes_u16(&in);
	h->len = bytes_u16(&in);
	if (h->len < PERF_HEADER_LEN || !perf_part(file, off, h->len, body))
		return false;
	bytes_skip(body, PERF_HEADER_LEN);
	return true;
}

/* Counts the fields in front of the time in a sample. In other records the time is at the end
 * (struct sample_id). */
static unsigned int words_before_time(uint64_t t)
{
	return !!(t & PERF_SAMPLE_IDENTIFIER) + !!(t & PERF_SAMPLE_IP) + !!(t & PERF_SAMPLE_TID);
}

static unsigned int words_from_time(uint64_t t)
{
	return 1 + !!(t & PERF_SAMPLE_ID) + !!(t & PERF_SAMPLE_STREAM_ID) +
	       !!(t & PERF_SAMPLE_CPU) + !!(t & PERF_SAMPLE_IDENTIFIER);
}

static uint64_t word_at(struct bytes body, size_t off)
{
	if (off > body.left)
		return 0;
	bytes_skip(&body, off);
	return bytes_u64(&body);
}

/* Returns the attribute of a sample. The sample's id, which comes first or at a place that is the
 * same for all, tells which. */
static const struct perf_attr *attr_of_sample(const struct perf_reader *r, struct bytes body)
{
	const struct perf_attr *a = &r->attrs[0];
	uint64_t t = a->sample_type, id;
	size_t at = 0;
	uint32_t row;

	if (r->attr_count == 1)
		return a;
	if (!(t & PERF_SAMPLE_IDENTIFIER)) {
		if (!(t & PERF_SAMPLE_ID))
			return a;
		at = 8 *
		     (words_before_time(t) + !!(t & PERF_SAMPLE_TIME) + !!(t & PERF_SAMPLE_ADDR));
	}
	id = word_at(body, at);
	row = intern_find(&r->ids, &id, sizeof(id));
	return row == INTERN_FULL ? a : &r->attrs[r->id_attrs[row]];
}

static uint64_t record_time(const struct perf_reader *r, uint32_t type, struct bytes body)
{
	const struct perf_attr *a = &r->attrs[0];
	uint64_t time = 0;
	size_t tail;

	if (type == PERF_RECORD_SAMPLE) {
		a = attr_of_sample(r, body);
		if (a->sample_type & PERF_SAMPLE_TIME)
			time = word_at(body, (size_t)8 * words_before_time(a->sample_type));
	} else if (a->sample_id_all && (a->sample_type & PERF_SAMPLE_TIME)) {
		tail = (size_t)8 * words_from_time(a->sample_type);
		if (tail <= body.left)
			time = word_at(body, body.left - tail);
	}
	return time == UINT64_MAX ? 0 : time;
}

/* --- rounds ---------------------------------------------------------------------------------- */

/* The times up to which every record has been read. */
struct rounds {
	uint64_t newest; /* of all records so far */
	uint64_t limit;  /* no further record is older */
	uint64_t next;   /* the limit once this round ends */
};

static void round_end(struct rounds *r)
{
	r->limit = r->next;
	r->next = r->newest;
}

static void round_note(struct rounds *r, uint64_t time)
{
	if (time > r->newest)
		r->newest = time;
}

/* --- the first walk -------------------------------------------------------------------------- */

static int note_record(struct perf_reader *r, const struct record_head *h, struct bytes body,
		       struct rounds *rounds)
{
	uint64_t time;

	switch (h->type) {
	case RECORD_HEADER_ATTR:
		return perf_reader_attr(r, body);
	case RECORD_HEADER_BUILD_ID:
		return perf_reader_build_id_record(r, h->misc, body);
	case RECORD_FINISHED_ROUND:
		round_end(rounds);
		return 0;
	case RECORD_COMPRESSED:
	case RECORD_COMPRESSED2:
		return err_set(r->err, ERR_UNSUPPORTED,
			       "perf.data: compressed records behind plain samples");
	case RECORD_AUXTRACE:
		return err_set(r->err, ERR_UNSUPPORTED, "perf.data: a hardware trace, not samples");
	}
	if (h->type >= RECORD_HEADER_ATTR)
		return 0;
	if (!r->attr_count)
		return perf_record_damaged(r, "file: events before their description");
	time = record_time(r, h->type, body);
	r->in_rounds &= time >= rounds->limit;
	round_note(rounds, time);
	return 0;
}

int perf_records_note(struct perf_reader *r, struct bytes data)
{
	struct rounds rounds = {0};
	struct record_head h;
	struct bytes body;
	uint64_t off = 0;

	r->in_rounds = true;
	while (off < data.left) {
		/* If perf was killed, the data may end within a record; the whole records count. */
		if (!record_at(data, off, &h, &body)) {
			profile_comment(r->p, "damaged: the last %zu bytes of the recording",
					(size_t)(data.left - off));
			return 0;
		}
		TRY(note_record(r, &h, body, &rounds));
		off += h.len + perf_record_behind(h.type, body);
		file_view_pass(r->file, h.len);
	}
	return 0;
}

/* --- the second walk ------------------------------------------------------------------------- */

/* A record that waits for its turn. */
struct record {
	uint64_t time; /* 0: it has no time and comes first */
	uint64_t off;  /* offset of its header in the data */
};

struct queue {
	struct record *v;
	size_t count, cap;
};

static void queue_done(struct queue *q)
{
	free(q->v);
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Applies the records that are not newer than `limit`. */
static int apply_until(struct perf_reader *r, struct bytes data, struct queue *q, uint64_t limit)
{
	struct record_head h;
	struct bytes body;
	size_t done;

	if (q->count)
		qsort(q->v, q->count, sizeof(*q->v), by_time);
	for (done = 0; done < q->count && q->v[done].time <= limit; done++) {
		if (!record_at(data, q->v[done].off, &h, &body))
			return perf_record_damaged(r, "record");
		TRY(perf_event_apply(r, h.type, h.misc, body,
				     h.type == PERF_RECORD_SAMPLE ? attr_of_sample(r, body)
								  : NULL));
		file_view_pass(r->file, h.len);
	}
	q->count -= done;
	if (q->count && done)
		memmove(q->v, q->v + done, q->count * sizeof(*q->v));
	return 0;
}

int perf_records_apply(struct perf_reader *r, struct bytes data)
{
	_cleanup_(queue_done) struct queue q = {0};
	struct rounds rounds = {0};
	struct record_head h;
	struct bytes body;

	for (uint64_t off = 0; record_at(data, off, &h, &body);
	     off += h.len + perf_record_behind(h.type, body)) {
		uint64_t time;
		int rc = 0;

		if (h.type == RECORD_FINISHED_ROUND && r->in_rounds) {
			round_end(&rounds);
			rc = apply_until(r, data, &q, rounds.limit);
		}
		if (rc)
			return rc;
		if (h.type >= RECORD_HEADER_ATTR)
			continue;
		if (!GROW(q.v, &q.cap, q.count + 1, LIMIT_PERF_RECORDS))
			return perf_reader_full(r);
		time = record_time(r, h.type, body);
		round_note(&rounds, time);
		q.v[q.count++] = (struct record){time, off};
		file_view_pass(r->file, h.len);
	}
	return apply_until(r, data, &q, UINT64_MAX);
}
