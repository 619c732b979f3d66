/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that last: SymbolizeStream and Watch. */
#include <stdatomic.h>

#include "limits.h"
#include "service_priv.h"

/* SymbolizeStream calls at the same time: half of all calls. */
#define LIMIT_STREAMS        LIMIT(256)
/* The dictionaries of all streams together; LIMIT_STREAM_MEMORY is that of one. */
#define LIMIT_STREAMS_MEMORY (128 * MIB)

/* --- SymbolizeStream ------------------------------------------------------------------------- */

struct service_stream {
	struct symbolize *work;
	size_t counted; /* what it added to the sum of all streams */
};

static int open_stream(struct service *s, struct service_stream **ret, struct err *err)
{
	_cleanup_(freep) struct service_stream *st = calloc(1, sizeof(*st));

	if (!st)
		return err_no_memory(err);
	st->work = symbolize_new(true, err);
	if (!st->work)
		return ERR_MEMORY;
	if (atomic_fetch_add(&s->stream_count, 1) >= LIMIT_STREAMS) {
		atomic_fetch_sub(&s->stream_count, 1);
		symbolize_free(st->work);
		return err_set(err, ERR_LIMIT, "more than %llu streams at a time",
			       (unsigned long long)LIMIT_STREAMS);
	}
	*ret = TAKE_PTR(st);
	return 0;
}

/* Corrects the stream's part of the memory of all streams after a batch. Returns ERR_LIMIT if the
 * stream, or all streams together, have too much. */
static int count_memory(struct service *s, struct service_stream *st, struct err *err)
{
	size_t now = symbolize_memory(st->work), all;

	all = atomic_fetch_add(&s->stream_bytes, now - st->counted) + now - st->counted;
	st->counted = now;
	if (now > LIMIT_STREAM_MEMORY)
		return err_set(err, ERR_LIMIT, "the tables of this stream are full: open another");
	if (all > LIMIT_STREAMS_MEMORY)
		return err_set(err, ERR_LIMIT, "the tables of all streams are too large together");
	return 0;
}

int service_stream_batch(struct service *s, struct service_stream **stream,
			 const Rawstack__V1__StackBatch *batch, const struct service_caller *caller,
			 const Rawstack__V1__SymbolizedBatch **ret, struct err *err)
{
	struct symbolize_env env = service_env(s, caller);
	int rc;

	if (!*stream)
		TRY(open_stream(s, stream, err));
	rc = service_look_up(s, (*stream)->work, &env, batch, err);
	if (!rc)
		rc = count_memory(s, *stream, err);
	*ret = symbolize_reply((*stream)->work);
	if (!rc)
		service_count_reply(s, *ret);
	return rc;
}

void service_stream_end(struct service *s, struct service_stream *stream)
{
	if (!stream)
		return;
	atomic_fetch_sub(&s->stream_bytes, stream->counted);
	atomic_fetch_sub(&s->stream_count, 1);
	symbolize_free(stream->work);
	free(stream);
}

/* --- Watch ----------------------------------------------------------------------------------- */

static int read_ids(const Rawstack__V1__WatchRequest *request, struct build_id **ret,
		    struct err *err)
{
	size_t count = request->n_build_ids;
	_cleanup_(freep) struct build_id *ids = calloc(count + 1, sizeof(*ids));

	if (!ids)
		return err_no_memory(err);
	if (count > LIMIT_BATCH_MODULES)
		return err_set(err, ERR_DATA, "build_ids: %zu, at most %llu", count,
			       (unsigned long long)LIMIT_BATCH_MODULES);
	for (size_t i = 0; i < count; i++)
		if (build_id_set(&ids[i], BUILD_ID_GNU, request->build_ids[i].data,
				 request->build_ids[i].len, err))
			return err_set(err, ERR_DATA, "build_ids[%zu]: %zu bytes, not %d to %d", i,
				       request->build_ids[i].len, BUILD_ID_MIN, BUILD_ID_MAX);
	*ret = TAKE_PTR(ids);
	return 0;
}

/* Sends events for the ids that are ready already. The watch is open, so an id that becomes ready
 * meanwhile may be told twice but never not at all. */
static int tell_present(struct service *s, struct watch *w, const struct build_id *ids,
			size_t count, struct err *err)
{
	struct store_read *r;
	struct store_binary b;

	TRY(service_store_error(store_read_begin(s->store, &r, err), err));
	for (size_t i = 0; i < count; i++) {
		const struct build_id found = store_resolve_alias(r, &ids[i]);

		if (store_binary(r, &found, &b, NULL) == 1 && b.status == STORE_READY)
			watch_tell(w,
				   &(struct watch_event){.id = ids[i], .generation = b.generation});
	}
	store_read_end(r);
	return 0;
}

int service_watch(struct service *s, const Rawstack__V1__WatchRequest *request,
		  const struct watch_reader *reader, struct watch **ret, struct err *err)
{
	_cleanup_(freep) struct build_id *ids = NULL;

	TRY(read_ids(request, &ids, err));
	TRY(watch_open(ret, s->watches, reader, ids, request->n_build_ids, err));
	return tell_present(s, *ret, ids, request->n_build_ids, err);
}
