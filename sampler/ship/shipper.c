/* SPDX-License-Identifier: Apache-2.0 */
#include "shipper_priv.h"

#include <string.h>

#include "ship_profile.h"
#include "ship_request.h"

#define BATCH_SAMPLES 12500 /* three such batches at a time take 40 MB */
#define TIMEOUT_MS    10000

/* Most memory for the requests of one batch: far more than a segment's locations need. */
#define LIMIT_BATCH_REQUESTS_LEN GIB

static ship_lane_fn deliver_in_lane;

int shipper_open(struct shipper **ret, const struct shipper_options *options, struct err *err)
{
	_cleanup_(shipper_closep) struct shipper *s = calloc(1, sizeof(*s));

	if (!s)
		return err_no_memory(err);
	s->o = *options;
	if (!s->o.io)
		s->o.io = io_system();
	if (!s->o.batch_samples)
		s->o.batch_samples = BATCH_SAMPLES;
	if (!s->o.timeout_ms)
		s->o.timeout_ms = TIMEOUT_MS;
	pthread_mutex_init(&s->lock, NULL);
	s->own = (struct work){s->o.call_ctx, ARENA_INIT(LIMIT_BATCH_REQUESTS_LEN)};
	for (unsigned int i = 0; i < s->o.lane_count && i < SHIP_LANES_MAX; i++)
		s->works[i] =
			(struct work){s->o.lane_ctxs[i], ARENA_INIT(LIMIT_BATCH_REQUESTS_LEN)};
	s->spool = strdup(options->spool);
	if (!s->spool)
		return err_no_memory(err);
	if (s->o.lane_count > 1) {
		TRY(ship_lanes_open(&s->lanes, s->o.lane_count, deliver_in_lane, s, err));
	}
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
	ret->waiting = s->redeliver.count;
	ret->forgotten = s->redeliver.forgotten;
}

void shipper_skipped(const struct shipper *s, struct spool_skipped *ret)
{
	*ret = (struct spool_skipped){.count = 0};
	if (s->reader)
		spool_reader_skipped(s->reader, ret);
}

static void close_spool(struct shipper *s)
{
	spool_reader_close(s->reader);
	spool_reader_close(s->second);
	s->reader = s->second = NULL;
	if (s->redeliver.io)
		redeliver_close(&s->redeliver);
	s->redeliver.io = NULL;
}

void shipper_close(struct shipper *s)
{
	if (!s)
		return;
	ship_lanes_close(s->lanes);
	close_spool(s);
	arena_done(&s->own.arena);
	for (unsigned int i = 0; i < SHIP_LANES_MAX; i++)
		arena_done(&s->works[i].arena);
	pthread_mutex_destroy(&s->lock);
	free(s->spool);
	free(s);
}

static void free_reply(Rawstack__V1__SymbolizedBatch **reply)
{
	if (*reply)
		protobuf_c_message_free_unpacked(&(*reply)->base, NULL);
}

/* Sends one request and takes its answer. Locations that the service deferred come first among
 * those wanted afterwards, before those that are not asked for yet. */
static int ask_service(struct shipper *s, struct work *w, struct ship_profile *p, uint32_t part,
		       struct ship_wanted *wanted, struct err *err)
{
	_cleanup_(free_reply) Rawstack__V1__SymbolizedBatch *reply = NULL;
	uint32_t *const locations = wanted->locations;
	struct ship_request request;
	size_t deferred = 0;

	TRY(ship_request_make(&request, p->of.batch, part, wanted, &w->arena, err));
	TRY(s->o.call(w->call_ctx, request.message, s->o.timeout_ms, &reply, err));
	/* The deferred locations overwrite those of this request, but only ones already read. */
	TRY(ship_profile_answer(p, &request, reply, locations, &deferred, err));
	if (deferred == request.count)
		return err_set(err, ERR_INTERNAL, "symbolize: the service deferred all of %zu",
			       request.count);
	wanted->count -= request.count;
	memmove(locations + deferred, locations + request.count,
		wanted->count * sizeof(*locations));
	wanted->count += deferred;
	return 0;
}

/* Returns ERR_UNAVAILABLE if a batch with these answers is to wait for tables, else 0. */
static int wait_for_tables_locked(struct shipper *s, const struct ship_profile *p, struct err *err)
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

static int wait_for_tables(struct shipper *s, const struct ship_profile *p, struct err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = wait_for_tables_locked(s, p, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Asks the service for the names of a batch. The first delivery may have to wait for tables that
 * are being made, and goes without names if the service calls the batch malformed. */
static int symbolize_profile(struct shipper *s, struct work *w, struct ship_profile *p,
			     bool is_first, struct err *err)
{
	struct ship_wanted wanted;
	int rc = 0;

	TRY(ship_wanted_list(&wanted, p->of.batch, &w->arena, err));
	for (uint32_t part = 0; !rc && wanted.count; part++)
		rc = ask_service(s, w, p, part, &wanted, err);
	if (rc == ERR_DATA && is_first) {
		profile_comment(&p->of.profile, "not symbolized: %s", err->message);
		return 0;
	}
	return rc || !is_first ? rc : wait_for_tables(s, p, err);
}

/* Writes a batch to the sink without acknowledging it, and marks the modules without a table in
 * missing[]. `noted` describes the batch that is at the sink already and the ids that it lacks;
 * NULL: there is none. Returns 0, SHIPPER_KEPT or an error. */
static int deliver_batch(struct shipper *s, struct work *w, const struct spool_batch *b,
			 const struct redeliver_batch *noted, bool *missing, struct err *err)
{
	_cleanup_(ship_profile_done) struct ship_profile p;
	int rc;

	TRY(ship_profile_begin(&p, b, err));
	arena_reset(&w->arena);
	rc = symbolize_profile(s, w, &p, !noted, err);
	if (noted && rc == ERR_DATA)
		return SHIPPER_KEPT;
	TRY(rc);
	if (noted && redeliver_is_worse(&s->redeliver, noted, b, p.missing))
		return SHIPPER_KEPT;
	TRY(ship_profile_end(&p, err));
	TRY(sink_write_profile(s->o.sink, b->id, sizeof(b->id), &p.of.profile, err));
	memcpy(missing, p.missing, b->module_count * sizeof(*missing));
	return 0;
}

static int deliver_in_lane(void *ctx, unsigned int lane, const struct spool_batch *batch,
			   bool *missing, struct err *err)
{
	struct shipper *s = ctx;

	return deliver_batch(s, &s->works[lane], batch, NULL, missing, err);
}

int shipper_deliver(struct shipper *s, const struct spool_batch *b,
		    const struct redeliver_batch *noted, struct err *err)
{
	_cleanup_(freep) bool *missing = calloc(b->module_count + 1, sizeof(*missing));
	int rc = missing ? deliver_batch(s, &s->own, b, noted, missing, err) : err_no_memory(err);

	/* The batch is noted before it is acknowledged. If that fails, names are lost, not samples.
	 */
	if (!rc && s->o.watch)
		(void)redeliver_note(&s->redeliver, b, missing, NULL);
	return rc;
}

/* Returns whether the spool's path leads to another directory now, because the one that the reader
 * has open was removed or mounted over. */
static bool is_another_spool(const struct shipper *s)
{
	struct stat st;

	return !stat(s->spool, &st) && (st.st_dev != s->spool_dev || st.st_ino != s->spool_inode);
}

static int open_ship_spool(struct shipper *s, struct err *err)
{
	struct stat st = {.st_ino = 0};
	int rc;

	if (s->reader)
		return 0;
	/* If it is replaced before it is opened, is_another_spool() sees that later. */
	(void)stat(s->spool, &st);
	s->spool_dev = st.st_dev;
	s->spool_inode = st.st_ino;
	rc = spool_reader_open(&s->reader, s->spool, s->o.io, err);
	if (!rc)
		spool_reader_name_late(s->reader);
	if (!rc && s->o.watch && !s->redeliver.io)
		rc = redeliver_open(&s->redeliver, s->spool, s->o.io, err);
	if (rc) {
		spool_reader_close(s->reader);
		s->reader = NULL;
	}
	return rc;
}

/* --- stepping -------------------------------------------------------------------------------- */

/* Returns whether a batch is to be shipped now; if it should rather grow, sets s->due_ns. */
static bool is_batch_due(struct shipper *s, const struct spool_batch *b)
{
	uint64_t now = s->o.io->mono_ns(s->o.io->ctx), first = b->samples[0].time_ns;

	/* The first batch of a run goes at once, to show whether it gets through. A batch whose
	 * time is in the future is of another boot or a wrong clock and has no age to wait for. */
	if (!s->stats.batches || s->in_hurry || b->is_stable || first > now ||
	    now - first >= s->o.batch_age_ns)
		return true;
	s->due_ns = first + s->o.batch_age_ns;
	return false;
}

/* Reads the next batch that is to be shipped. Returns 1, or 0 if there is none, or an error. */
static int next_batch(struct shipper *s, struct spool_batch *ret, struct err *err)
{
	int rc = spool_reader_next(s->reader, s->o.batch_samples, ret, err);

	if (rc != 1 || is_batch_due(s, ret))
		return rc;
	spool_reader_back(s->reader);
	return 0;
}

static int acknowledge_batch(struct shipper *s, const struct spool_batch *b, struct err *err)
{
	TRY(spool_reader_ack(s->reader, b, err));
	s->stats.samples += b->sample_count;
	s->stats.batches++;
	return 0;
}

static int step_alone(struct shipper *s, struct err *err)
{
	struct spool_batch batch;
	int rc = next_batch(s, &batch, err);

	if (rc <= 0)
		return rc;
	rc = shipper_deliver(s, &batch, NULL, err);
	if (!rc)
		rc = acknowledge_batch(s, &batch, err);
	return rc ? rc : 1;
}

/*
 * Fills the lanes, then takes the oldest batch. After a failure or a kill the sink may hold batches
 * that are not acknowledged; they are delivered again and replaced under the same ids. So no batch
 * may follow one that would hold more samples when it is read again, as the two would overlap.
 */
static int step_lanes(struct shipper *s, struct err *err)
{
	const unsigned int most = s->is_careful ? 1 : s->o.lane_count;
	const struct ship_lane_done *done;
	struct spool_batch batch = {.is_stable = false};
	int rc = 1;

	while (rc == 1 && ship_lanes_busy(s->lanes) < most &&
	       (s->may_follow || !ship_lanes_busy(s->lanes))) {
		rc = next_batch(s, &batch, err);
		if (rc == 1 && ship_lanes_put(s->lanes, &batch, err))
			rc = err->code;
		s->may_follow = batch.is_stable;
	}
	done = rc < 0 ? NULL : ship_lanes_take(s->lanes);
	if (!done)
		return rc;
	if (done->rc) {
		*err = done->err;
		return done->rc;
	}
	if (s->o.watch)
		(void)redeliver_note(&s->redeliver, &done->batch, done->missing, NULL);
	rc = acknowledge_batch(s, &done->batch, err);
	return rc ? rc : 1;
}

/* Drops the batches that are under way. They are not acknowledged, and so come again under the same
 * ids. */
static void drop_lanes(struct shipper *s)
{
	while (s->lanes && ship_lanes_take(s->lanes))
		;
}

int shipper_step(struct shipper *s, struct err *err)
{
	struct err unused;
	int rc;

	TRY(open_ship_spool(s, err));
	s->due_ns = 0;
	rc = s->lanes ? step_lanes(s, err ? err : &unused) : step_alone(s, err);
	s->is_careful = rc < 0;
	if (rc < 0) {
		drop_lanes(s);
		spool_reader_rewind(s->reader);
	}
	if (rc <= 0 && is_another_spool(s)) {
		close_spool(s);
		return rc;
	}
	return rc ? rc : shipper_redeliver(s, err);
}

int shipper_backlog(struct shipper *s, uint64_t *ret_samples, struct err *err)
{
	struct spool_batch batch;
	int rc = open_ship_spool(s, err);

	*ret_samples = 0;
	if (rc)
		return rc;
	drop_lanes(s);
	spool_reader_rewind(s->reader);
	while ((rc = spool_reader_next(s->reader, s->o.batch_samples, &batch, err)) > 0)
		*ret_samples += batch.sample_count;
	spool_reader_rewind(s->reader);
	return rc;
}
