/* SPDX-License-Identifier: Apache-2.0 */
#include "shipper_priv.h"

static void on_ready(void *arg, const void *id, size_t len)
{
	redeliver_ready(arg, id, len);
}

/* Asks the service which of the ids that batches wait for have a table by now. */
static void watch_ids(struct shipper *s)
{
	_cleanup_(freep) ProtobufCBinaryData *ids = NULL;
	uint64_t now = s->o.io->mono_ns(s->o.io->ctx);
	const uint32_t all = (uint32_t)s->redeliver.ids.count;
	size_t count = 0, cap = 0;
	uint32_t at = s->watch_next, seen;

	if (!s->redeliver.count || (s->watched_ns && now - s->watched_ns < SHIPPER_WATCH_NS))
		return;
	s->watched_ns = now;
	for (seen = 0; seen < all && count < LIMIT_BATCH_MODULES; seen++, at++) {
		const void *p;
		size_t len;

		at = at < all ? at : 0;
		if (!redeliver_waits_for(&s->redeliver, at))
			continue;
		p = intern_get(&s->redeliver.ids, at, &len);
		if (!GROW(ids, &cap, count + 1, LIMIT_BATCH_MODULES))
			return;
		ids[count++] = (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)p};
	}
	s->watch_next = seen < all ? at : 0;
	/* After a failure the ids are asked for again later. */
	(void)s->o.watch(s->o.call_ctx, ids, count, on_ready, &s->redeliver, NULL);
}

int shipper_redeliver(struct shipper *s, struct err *err)
{
	const struct redeliver_batch *due;
	struct redeliver_batch want;
	struct spool_batch batch;
	int rc;

	if (!s->o.watch || s->in_hurry)
		return 0;
	watch_ids(s);
	due = redeliver_due(&s->redeliver);
	if (!due)
		return 0;
	want = *due;
	rc = s->second ? 0 : spool_reader_open(&s->second, s->spool, s->o.io, err);
	if (rc)
		return rc;
	spool_reader_name_late(s->second);
	spool_reader_seek(s->second, want.segment, want.place);
	rc = spool_reader_next(s->second, want.samples, &batch, err);
	if (rc < 0)
		return rc;
	/* The segment may have been dropped, and the file at the sink removed. */
	if (rc == 0 || batch.segment != want.segment || batch.place != want.place ||
	    batch.sample_count != want.samples ||
	    !sink_has(s->o.sink, batch.id, sizeof(batch.id))) {
		rc = redeliver_forget(&s->redeliver, want.segment, want.place, err);
		return rc < 0 ? rc : 0;
	}
	rc = shipper_deliver(s, &batch, &want, err);
	if (rc == SHIPPER_KEPT) {
		redeliver_put_off(&s->redeliver, want.segment, want.place, SHIPPER_PUT_OFF_NS);
		return 0;
	}
	if (rc)
		return rc;
	s->stats.again++;
	return 1;
}
