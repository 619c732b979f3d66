/* SPDX-License-Identifier: Apache-2.0 */
#include "shipper.h"

#include <string.h>

#include "ship_again.h"
#include "ship_profile.h"
#include "ship_request.h"

#define BATCH_SAMPLES 50000
#define TIMEOUT_MS    10000

/* Requests of one batch: far above what a segment's locations need. */
#define ARENA_MAX (1 * GIB)

struct shipper {
	struct shipper_options o;
	char *spool;
	struct spool_reader *reader; /* NULL until the spool exists */
	struct arena arena;          /* of the batch in hand */
	struct shipper_stats stats;
	bool in_hurry;
	uint64_t due_ns; /* when what was looked at last is old enough; 0: nothing was */
	struct ship_again again;
	struct spool_reader *second; /* of batches to be delivered again */
	uint64_t watched_ns;
	uint64_t building_since_ns; /* a wait for tables began, or failed, then; 0: none */
};

int shipper_open(struct shipper **ret, const struct shipper_options *options, struct err *err)
{
	_cleanup_(shipper_closep) struct shipper *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, ERR_MEMORY, "shipper: out of memory");
	s->o = *options;
	if (!s->o.io)
		s->o.io = io_system();
	if (!s->o.batch_samples)
		s->o.batch_samples = BATCH_SAMPLES;
	if (!s->o.timeout_ms)
		s->o.timeout_ms = TIMEOUT_MS;
	s->arena.max = ARENA_MAX;
	s->spool = strdup(options->spool);
	if (!s->spool)
		return err_set(err, ERR_MEMORY, "shipper: out of memory");
	*ret = TAKE_PTR(s);
	return 0;
}

void shipper_set_timeout(struct shipper *s, uint32_t timeout_ms)
{
	s->o.timeout_ms = timeout_ms;
}

void shipper_set_hurry(struct shipper *s)
{
	s->in_hurry = true;
}

uint64_t shipper_due_ns(const struct shipper *s, uint64_t most)
{
	uint64_t now = s->o.io->mono_ns(s->o.io->ctx);

	if (!s->due_ns)
		return most;
	return s->due_ns <= now ? 0 : s->due_ns - now < most ? s->due_ns - now : most;
}

uint64_t shipper_delivered(const struct shipper *s)
{
	return s->stats.samples;
}

void shipper_stats(const struct shipper *s, struct shipper_stats *ret)
{
	*ret = s->stats;
	ret->waiting = s->again.count;
}

void shipper_close(struct shipper *s)
{
	if (!s)
		return;
	spool_reader_close(s->reader);
	spool_reader_close(s->second);
	if (s->again.io)
		ship_again_close(&s->again);
	arena_done(&s->arena);
	free(s->spool);
	free(s);
}

static void free_reply(Rawstack__V1__SymbolizedBatch **reply)
{
	if (*reply)
		protobuf_c_message_free_unpacked(&(*reply)->base, NULL);
}

/* One request and its answer; what the service deferred comes first in wanted[] afterwards. */
static int ask(struct shipper *s, struct ship_profile *p, uint32_t part, uint32_t *wanted,
	       size_t *count, const uint64_t *weights, struct err *err)
{
	_cleanup_(free_reply) Rawstack__V1__SymbolizedBatch *reply = NULL;
	struct ship_request request;
	size_t taken, deferred = 0;
	int rc;

	rc = ship_request_make(&request, p->batch, part, wanted, *count, weights, &s->arena, &taken,
			       err);
	if (!rc)
		rc = s->o.call(s->o.call_ctx, request.message, s->o.timeout_ms, &reply, err);
	/* Deferred ones are written over those of this request, which is not read behind them. */
	if (!rc)
		rc = ship_profile_answer(p, &request, reply, wanted, &deferred, err);
	if (rc)
		return rc;
	if (deferred == taken)
		return err_set(err, ERR_INTERNAL, "symbolize: the service deferred all of %zu",
			       taken);
	memmove(wanted + deferred, wanted + taken, (*count - taken) * sizeof(*wanted));
	*count = *count - taken + deferred;
	return 0;
}

/* Whether a batch with these answers waits for tables: ERR_UNAVAILABLE, else 0. */
static int wait_for_tables(struct shipper *s, const struct ship_profile *p, struct err *err)
{
	uint64_t now_ns = s->o.io->mono_ns(s->o.io->ctx);
	uint64_t waited_ns = now_ns - s->building_since_ns;

	if (!p->building) {
		if (waited_ns < SHIPPER_BUILDING_NS)
			s->building_since_ns = 0;
		return 0;
	}
	if (!s->building_since_ns || waited_ns >= SHIPPER_BUILDING_NS + SHIPPER_BUILDING_REST_NS)
		s->building_since_ns = now_ns;
	else if (waited_ns >= SHIPPER_BUILDING_NS)
		return 0;
	return err_set(err, ERR_UNAVAILABLE,
		       "symbolize: the service is still making the tables of %zu locations",
		       p->building);
}

/* `may_wait`: for tables that are being made. */
static int symbolize(struct shipper *s, struct ship_profile *p, bool may_wait, struct err *err)
{
	const struct spool_batch *b = p->batch;
	_cleanup_(freep) uint32_t *wanted = malloc((b->location_count + 1) * sizeof(*wanted));
	const uint64_t *weights = ship_request_weights(b, &s->arena);
	size_t count = 0;
	int rc = 0;

	if (!wanted || !weights)
		return err_set(err, ERR_MEMORY, "symbolize: out of memory");
	for (uint32_t i = 0; i < b->location_count; i++)
		if (ship_request_wanted(b, i))
			wanted[count++] = i;
	for (uint32_t part = 0; !rc && count; part++)
		rc = ask(s, p, part, wanted, &count, weights, err);
	if (rc == ERR_DATA) {
		profile_comment(&p->profile, "not symbolized: %s", err->message);
		return 0;
	}
	return rc || !may_wait ? rc : wait_for_tables(s, p, err);
}

static int deliver(struct shipper *s, const struct spool_batch *b, bool is_first, struct err *err)
{
	_cleanup_(ship_profile_done) struct ship_profile p;
	int rc = ship_profile_begin(&p, b, err);

	if (rc)
		return rc;
	arena_reset(&s->arena);
	rc = symbolize(s, &p, is_first, err);
	if (!rc)
		rc = ship_profile_end(&p, err);
	if (!rc)
		rc = sink_write_profile(s->o.sink, b->id, sizeof(b->id), &p.profile, err);
	/* Noted before it is acknowledged; a file that cannot be written costs names, no samples.
	 */
	if (!rc && s->o.watch)
		(void)ship_again_note(&s->again, b, p.missing, NULL);
	return rc;
}

static int open_spool(struct shipper *s, struct err *err)
{
	int rc;

	if (s->reader)
		return 0;
	rc = spool_reader_open(&s->reader, s->spool, s->o.io, err);
	if (!rc && s->o.watch && !s->again.io)
		rc = ship_again_open(&s->again, s->spool, s->o.io, err);
	if (rc) {
		spool_reader_close(s->reader);
		s->reader = NULL;
	}
	return rc;
}

/* --- again ----------------------------------------------------------------------------------- */

static void on_ready(void *arg, const void *id, size_t len)
{
	ship_again_ready(arg, id, len);
}

/* Asks for the ids that batches wait for. */
static void watch(struct shipper *s)
{
	_cleanup_(freep) ProtobufCBinaryData *ids = NULL;
	uint64_t now = s->o.io->mono_ns(s->o.io->ctx);
	size_t count = 0, cap = 0;

	if (!s->again.count || (s->watched_ns && now - s->watched_ns < SHIPPER_WATCH_NS))
		return;
	s->watched_ns = now;
	for (uint32_t i = 0; i < s->again.ids.count && count < LIMIT_BATCH_MODULES; i++) {
		size_t len;
		const void *p = intern_get(&s->again.ids, i, &len);

		if (!ship_again_waits_for(&s->again, i))
			continue;
		if (!grow_array((void **)&ids, &cap, count + 1, sizeof(*ids), LIMIT_BATCH_MODULES))
			return;
		ids[count++] = (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)p};
	}
	/* Not told now: asked again next time. */
	(void)s->o.watch(s->o.call_ctx, ids, count, on_ready, &s->again, NULL);
}

/* One batch that is due: 1 it was delivered again, 0 there is none, or it is gone. */
static int step_again(struct shipper *s, struct err *err)
{
	const struct ship_again_batch *due;
	struct ship_again_batch want;
	struct spool_batch batch;
	int rc;

	if (!s->o.watch || s->in_hurry)
		return 0;
	watch(s);
	due = ship_again_due(&s->again);
	if (!due)
		return 0;
	want = *due;
	if (!s->second && spool_reader_open(&s->second, s->spool, s->o.io, err))
		return err->code;
	spool_reader_seek(s->second, want.segment, want.place);
	rc = spool_reader_next(s->second, want.samples, &batch, err);
	if (rc < 0)
		return rc;
	/* The segment may have been dropped, the file at the sink too. */
	if (rc == 0 || batch.segment != want.segment || batch.place != want.place ||
	    batch.sample_count != want.samples ||
	    !sink_has(s->o.sink, batch.id, sizeof(batch.id))) {
		rc = ship_again_forget(&s->again, want.segment, want.place, err);
		return rc < 0 ? rc : 0;
	}
	rc = deliver(s, &batch, false, err);
	if (rc)
		return rc;
	s->stats.again++;
	return 1;
}

/* --- stepping -------------------------------------------------------------------------------- */

/* Whether a batch is to be shipped, or might yet grow. */
static bool is_ripe(struct shipper *s, const struct spool_batch *b)
{
	uint64_t now = s->o.io->mono_ns(s->o.io->ctx), first = b->samples[0].time_ns;

	/* The first of a run shows whether the way is clear. Of another boot, or a clock that makes
	 * no sense: now. */
	if (!s->stats.batches || s->in_hurry || b->is_final ||
	    b->sample_count >= s->o.batch_samples || first > now ||
	    now - first >= s->o.batch_age_ns)
		return true;
	s->due_ns = first + s->o.batch_age_ns;
	return false;
}

int shipper_step(struct shipper *s, struct err *err)
{
	struct spool_batch batch;
	int rc = open_spool(s, err);

	if (rc)
		return rc;
	s->due_ns = 0;
	rc = spool_reader_next(s->reader, s->o.batch_samples, &batch, err);
	if (rc == 1 && !is_ripe(s, &batch)) {
		spool_reader_back(s->reader);
		rc = 0;
	}
	if (rc <= 0)
		return rc ? rc : step_again(s, err);
	rc = deliver(s, &batch, true, err);
	if (!rc)
		rc = spool_reader_ack(s->reader, &batch, err);
	if (rc) {
		spool_reader_rewind(s->reader);
		return rc;
	}
	s->stats.samples += batch.sample_count;
	s->stats.batches++;
	return 1;
}

int shipper_backlog(struct shipper *s, uint64_t *ret_samples, struct err *err)
{
	struct spool_batch batch;
	int rc = open_spool(s, err);

	*ret_samples = 0;
	if (rc)
		return rc;
	spool_reader_rewind(s->reader);
	while ((rc = spool_reader_next(s->reader, s->o.batch_samples, &batch, err)) > 0)
		*ret_samples += batch.sample_count;
	spool_reader_rewind(s->reader);
	return rc;
}
