/* SPDX-License-Identifier: Apache-2.0 */
#include "shipper.h"

#include <string.h>

#include "buf.h"
#include "pprof_write.h"
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
	uint64_t delivered;
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

uint64_t shipper_delivered(const struct shipper *s)
{
	return s->delivered;
}

void shipper_close(struct shipper *s)
{
	if (!s)
		return;
	spool_reader_close(s->reader);
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

static int symbolize(struct shipper *s, struct ship_profile *p, struct err *err)
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
	return rc ? rc : wait_for_tables(s, p, err);
}

static int deliver(struct shipper *s, const struct spool_batch *b, struct err *err)
{
	_cleanup_(ship_profile_done) struct ship_profile p;
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_PPROF_FILE_LEN);
	int rc = ship_profile_begin(&p, b, err);

	if (rc)
		return rc;
	rc = symbolize(s, &p, err);
	if (!rc)
		rc = ship_profile_end(&p, err);
	if (!rc)
		rc = pprof_write(&p.profile, &file, err);
	if (!rc)
		rc = sink_write(s->o.sink, b->id, sizeof(b->id), file.p, file.len, err);
	return rc;
}

static int open_spool(struct shipper *s, struct err *err)
{
	return s->reader ? 0 : spool_reader_open(&s->reader, s->spool, s->o.io, err);
}

int shipper_step(struct shipper *s, struct err *err)
{
	struct spool_batch batch;
	int rc = open_spool(s, err);

	if (rc)
		return rc;
	rc = spool_reader_next(s->reader, s->o.batch_samples, &batch, err);
	if (rc <= 0)
		return rc;
	arena_reset(&s->arena);
	rc = batch.sample_count ? deliver(s, &batch, err) : 0;
	if (!rc)
		rc = spool_reader_ack(s->reader, &batch, err);
	if (rc) {
		spool_reader_rewind(s->reader);
		return rc;
	}
	s->delivered += batch.sample_count;
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
