/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SYMBOLIZE_H
#define RAWSTACK_SYMBOLIZE_H
/*
 * Answers one batch of locations from the store: request struct in, columnar reply struct out. It
 * knows nothing of connections. A struct symbolize belongs to one thread. It holds the memory of
 * one reply at a time, within limits, and keeps it for the next.
 *
 *	struct symbolize *s = symbolize_new(false, &err);
 *
 *	if (!symbolize_run(s, &env, batch, &err))
 *		send(symbolize_reply(s));
 *	symbolize_free(s);
 *
 * For a stream it also holds the dictionaries of the stream: modules and strings of the requests,
 * functions and strings of the replies.
 */
#include "name_cache.h"
#include "rawstack/v1/symbolizer.pb-c.h"
#include "store.h"
#include "tables.h"

struct symbolize_env {
	struct store *store;
	struct tables *tables;
	struct name_cache *names; /* may be NULL */
	/* Returns whether a table of the id is being made right now. */
	bool (*is_building)(void *ctx, const struct build_id *id);
	/* Is called for a table that was evicted; returns whether it is being made again. May be
	 * NULL. */
	bool (*remake)(void *ctx, const struct build_id *id);
	/* Is called for a table that was found damaged and has been purged. May be NULL. */
	void (*damaged)(void *ctx, const struct build_id *id);
	void *ctx;
	uint64_t now_ns; /* unix */
	bool uncounted;  /* do not count missing modules */
	uint32_t client; /* the client, for its share of Missing; 0: nobody in particular */
	/* Is called now and then; true stops the work with ERR_CANCELLED. May be NULL. */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;
};

struct symbolize;

struct symbolize *symbolize_new(bool is_stream, struct err *err) _must_check_;
void symbolize_free(struct symbolize *s);
DEFINE_FREEP(struct symbolize, symbolize_free);

/* Returns the bytes that s keeps for the next reply. */
size_t symbolize_memory(const struct symbolize *s);

/*
 * Fills the reply: one status per location and one per module. It counts modules that are not there
 * in Missing, and notes a use of those that answered. Returns ERR_DATA if the batch is malformed
 * (batch_check.h), ERR_CANCELLED, ERR_MEMORY, ERR_LIMIT if the dictionaries of a stream are full,
 * or an error of the store. It may be called again, but for a stream not after an error.
 */
int symbolize_run(struct symbolize *s, const struct symbolize_env *env,
		  const Rawstack__V1__StackBatch *batch, struct err *err) _must_check_;

/* Returns the reply, valid until the next run. It borrows from the batch. */
const Rawstack__V1__SymbolizedBatch *symbolize_reply(const struct symbolize *s);

#endif
