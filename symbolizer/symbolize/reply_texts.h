/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_REPLY_TEXTS_H
#define RAWSTACK_REPLY_TEXTS_H
/*
 * Finds the texts of names and paths, for many functions or files of one table at a time. It copies
 * the texts that the builder put into the table; takes others from the cache of all requests; and
 * unpacks and demangles the rest, within a bound of bytes and of time for each reply. For one
 * thread at a time.
 *
 *	reply_texts_table(x, number, &table);
 *	asks = reply_texts_asks(x, count), each with its `id`;
 *	reply_texts_fetch(x, kind, count);		what was found is in x->bytes
 */
#include "buf.h"
#include "name_cache.h"
#include "rsym.h"

/* The CPU time that one reply spends on unpacking and demangling, and half of it again for
 * locations that are answered one by one. 65,536 names of real tables take a third of it, but each
 * name of a hostile table may take milliseconds. So a clock decides how many names one reply has,
 * but never how a name looks. A client that asks again gets further, because the cache has the
 * names made so far. */
#define REPLY_TEXTS_NS   UINT64_C(1000000000)
#define REPLY_TEXTS_1_NS (REPLY_TEXTS_NS / 2)

struct reply_texts {
	struct name_cache *cache; /* the cache of all requests; may be NULL */
	struct buf bytes;         /* where texts are appended; the caller sets its `max` */
	uint64_t unpack_left;     /* bytes that may yet be unpacked in this reply */
	uint64_t time_left_ns;    /* CPU time that is left, of REPLY_TEXTS_NS */
	bool is_spent;            /* one of the two has run out */
	bool is_odd; /* a name was unreadable, the table may be damaged; the caller resets it */

	/* Returns true if nobody waits for the reply any more, which spends all its time. May be
	 * NULL. */
	bool (*cancelled)(void *arg);
	void *cancelled_arg;

	struct name_ask *asks;
	size_t asks_cap;

	/* The present table. */
	uint64_t number;
	const struct rsym *t;
	struct rsym_reader *reader; /* opened at the first text that the cache lacks */
	struct buf raw;
};

void reply_texts_init(struct reply_texts *x);
void reply_texts_done(struct reply_texts *x);
size_t reply_texts_memory(const struct reply_texts *x);

/* Makes t the present table, unless the number, that of struct store_table, is the present one's. t
 * must stay open until the next call. */
void reply_texts_table(struct reply_texts *x, uint64_t number, const struct rsym *t);
void reply_texts_leave_table(struct reply_texts *x);

/* Returns room for count asks, or NULL if memory is out. The caller fills the `id` of each: a
 * function's, or a file's for NAME_FILE. Valid until the next call. */
struct name_ask *reply_texts_asks(struct reply_texts *x, size_t count) _must_check_;

/* Appends the texts of the first count asks to x->bytes and fills their places. Returns false if
 * the bytes are full or too much work was done (is_spent); the cache keeps what was made until
 * then. A text that cannot be decoded is empty, because tables were validated before they were
 * stored. */
bool reply_texts_fetch(struct reply_texts *x, enum name_kind kind, size_t count) _must_check_;

#endif
