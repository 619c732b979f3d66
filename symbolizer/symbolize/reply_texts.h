/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REPLY_TEXTS_H
#define RAWSTACK_REPLY_TEXTS_H
/*
 * The texts of names and paths, for many functions or files of one table at a time: copied from
 * where the builder put them into the table, else from the cache of all requests, else unpacked and
 * demangled, which is bounded for each reply, in bytes and in time. One thread at a time.
 *
 *	reply_texts_table(x, number, &table);
 *	asks = reply_texts_asks(x, count), each with its `id`;
 *	reply_texts_fetch(x, kind, count);		what was found is in x->bytes
 */
#include "buf.h"
#include "name_cache.h"
#include "rsym.h"

/* CPU time that one reply spends on unpacking and demangling; then half of it again for those that
 * are answered one by one. 65,536 names of real tables take a third of it; each of a table that was
 * made to hurt may take milliseconds. A clock decides how many names one reply has, never how a
 * name looks: who asks again goes on behind those that the cache has. */
#define REPLY_TEXTS_NS   UINT64_C(1000000000)
#define REPLY_TEXTS_1_NS (REPLY_TEXTS_NS / 2)

struct reply_texts {
	struct name_cache *cache; /* of all requests; may be NULL */
	struct buf bytes;         /* where texts are appended; `max` is the caller's */
	uint64_t unpack_left;     /* bytes of texts; see LIMIT_REPLY_UNPACKED */
	uint64_t time_left_ns;    /* CPU time for that; REPLY_TEXTS_NS */
	bool is_spent;            /* one of them was not enough */
	bool is_odd; /* a name was none: the table may be damaged. The caller's to reset */

	/* Whether nobody waits for the reply any more: then all its time is spent. May be NULL. */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;

	struct name_ask *asks;
	size_t asks_cap;

	/* The table in hand. */
	uint64_t number;
	const struct rsym *t;
	struct rsym_reader *reader; /* opened when the cache lacks something */
	struct buf raw;
};

void reply_texts_init(struct reply_texts *x);
void reply_texts_done(struct reply_texts *x);
size_t reply_texts_memory(const struct reply_texts *x);

/* Takes a table in hand; one with the same number goes on. number: of struct store_table. t must
 * stay until the next one. */
void reply_texts_table(struct reply_texts *x, uint64_t number, const struct rsym *t);
void reply_texts_leave_table(struct reply_texts *x);

/* Room for count asks, each of which the caller gives its `id`: of a function, or of a file for
 * NAME_FILE. NULL: no memory. Valid until the next call. */
struct name_ask *reply_texts_asks(struct reply_texts *x, size_t count) _must_check_;

/* Appends the texts of the first count asks to bytes, and fills their places. False when bytes are
 * full or too much work was done (is_spent); what was made until then is in the cache. What does
 * not decode is empty: tables are validated when they are stored. */
bool reply_texts_fetch(struct reply_texts *x, enum name_kind kind, size_t count) _must_check_;

#endif
