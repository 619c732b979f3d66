/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_H
#define RAWSTACK_SYMBOLIZE_H
/*
 * One batch of locations answered from the store: request struct in, columnar reply struct out.
 * Knows nothing of connections. A struct symbolize holds the memory of one reply at a time, bounded
 * by limits, and keeps it for the next; it belongs to one thread.
 *
 *	struct symbolize *s = symbolize_new(false, &err);
 *
 *	if (!symbolize_run(s, &env, batch, &err))
 *		send(symbolize_reply(s));
 *	symbolize_free(s);
 *
 * For a stream it holds the stream's dictionaries as well: modules and strings of its requests,
 * functions and strings of its replies.
 */
#include "name_cache.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "store.h"
#include "tables.h"

struct symbolize_env {
	struct store *store;
	struct tables *tables;
	struct name_cache *names; /* may be NULL */
	/* Whether a table of the id is being made right now. */
	bool (*is_building)(void *ctx, const struct build_id *id);
	/* Asked for a table that was taken away: whether it is now made again. May be NULL. */
	bool (*remake)(void *ctx, const struct build_id *id);
	/* Told of a table that was found damaged, and has been taken away. May be NULL. */
	void (*damaged)(void *ctx, const struct build_id *id);
	void *ctx;
	uint64_t now_ns; /* unix */
	bool uncounted;  /* leave Missing as it is */
	uint32_t client; /* who asks, for Missing; 0: nobody in particular */
	/* Asked now and then: true stops the work with ERR_CANCELLED. May be NULL. */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;
};

struct symbolize;

struct symbolize *symbolize_new(bool is_stream, struct err *err) _must_check_;
void symbolize_free(struct symbolize *s);
DEFINE_FREEP(struct symbolize, symbolize_free);

/* Bytes held for what may come. */
size_t symbolize_memory(const struct symbolize *s);

/*
 * Fills the reply: one status per location, one per module. ERR_DATA when the batch is malformed
 * (batch_check.h), ERR_CANCELLED, ERR_MEMORY, ERR_LIMIT when a stream's dictionaries are full, or
 * what the store says. Modules that are not there are counted in Missing, those that answered are
 * noted as used. May be called again; after an error a stream's cannot.
 */
int symbolize_run(struct symbolize *s, const struct symbolize_env *env,
		  const Rawstack__V1__StackBatch *batch, struct err *err) _must_check_;

/* Valid until the next run. It borrows from the batch. */
const Rawstack__V1__SymbolizedBatch *symbolize_reply(const struct symbolize *s);

#endif
