/* SPDX-License-Identifier: Apache-2.0 */
#include "reply_texts.h"

#include <string.h>

#include "demangle.h"
#include "limits.h"
#include "thread_clock.h"

enum {
	READER_CACHE = 4 << 20,
	LIMIT_REPLY_TEXTS = 1 << 20, /* of one reply: 16 for each location of the largest batch */
	AHEAD = 16,                  /* texts whose memory is fetched ahead */
	BETWEEN_CLOCKS = 16,         /* texts that are decoded between two looks at the clock */
};

void reply_texts_init(struct reply_texts *x)
{
	*x = (struct reply_texts){.raw = BUF_INIT(LIMIT_DEMANGLE_OUT + LIMIT_NAME_LEN)};
}

void reply_texts_done(struct reply_texts *x)
{
	reply_texts_leave_table(x);
	free(x->asks);
	buf_done(&x->bytes);
	buf_done(&x->raw);
}

size_t reply_texts_memory(const struct reply_texts *x)
{
	return x->asks_cap * sizeof(x->asks[0]) + x->bytes.cap + x->raw.cap;
}

void reply_texts_table(struct reply_texts *x, uint64_t number, const struct rsym *t)
{
	if (!x->t || x->number != number)
		reply_texts_leave_table(x);
	x->number = number;
	x->t = t;
}

void reply_texts_leave_table(struct reply_texts *x)
{
	rsym_reader_free(TAKE_PTR(x->reader));
	x->t = NULL;
}

struct name_ask *reply_texts_asks(struct reply_texts *x, size_t count)
{
	return GROW(x->asks, &x->asks_cap, count, LIMIT_REPLY_TEXTS) ? x->asks : NULL;
}

/* Decodes a text into x->raw. Returns false if it cannot be decoded, or if too much would be
 * unpacked for it (is_spent). */
static bool decode_text(struct reply_texts *x, const struct name_ask *a)
{
	const uint8_t *p = NULL;
	size_t len = 0;
	uint64_t cost;
	int rc;

	buf_reset(&x->raw);
	if (!x->reader)
		x->reader = rsym_reader_new(x->t, READER_CACHE, NULL);
	if (!x->reader)
		return false;
	cost = 0 - rsym_reader_unpacked_len(x->reader);
	rc = a->kind == NAME_FILE ? rsym_reader_file(x->reader, a->id, &p, &len, NULL)
				  : rsym_reader_name(x->reader, a->id, &p, &len, NULL);
	cost += rsym_reader_unpacked_len(x->reader);
	x->is_spent = cost > x->unpack_left;
	x->unpack_left -= x->is_spent ? 0 : cost;
	x->is_odd |= rc == ERR_DATA || (a->kind != NAME_FILE && !len);
	if (rc || x->is_spent)
		return false;
	return a->kind == NAME_FILE
		       ? buf_append(&x->raw, p, len)
		       : demangle_append((enum demangle_style)a->kind, p, len, &x->raw);
}

/* Copies texts that the builder put into the table. They are not cached, because the table gives
 * them as quickly. */
static bool fetch_shown(struct reply_texts *x, size_t count, enum rsym_shown_style style)
{
	const size_t first = x->bytes.len;
	int rc;

	for (size_t i = 0; i < count + 2 * AHEAD; i++) {
		struct name_ask *a;

		if (i < count)
			rsym_shown_fetch(x->t, x->asks[i].string);
		if (i >= AHEAD && i - AHEAD < count)
			rsym_shown_fetch_text(x->t, x->asks[i - AHEAD].string);
		if (i < 2 * AHEAD)
			continue;
		a = &x->asks[i - 2 * AHEAD];
		a->off = (uint32_t)x->bytes.len;
		rc = rsym_shown(x->t, a->string, style, &x->bytes);
		if (rc == ERR_LIMIT)
			return false;
		a->len = (uint32_t)x->bytes.len - a->off;
		x->is_odd |= rc != 1 || !a->len;
	}
	/* No name has a zero byte, but a part that a disk lost has many. */
	x->is_odd |= x->bytes.len > first && memchr(x->bytes.p + first, 0, x->bytes.len - first);
	return true;
}

/* Subtracts the time since *since from what is left, or all of it if the caller has gone. */
static void spend_time(struct reply_texts *x, uint64_t *since)
{
	const uint64_t now = thread_cpu_ns(), spent = now - *since;

	x->time_left_ns -= spent < x->time_left_ns ? spent : x->time_left_ns;
	if (x->cancelled && x->cancelled(x->cancelled_arg))
		x->time_left_ns = 0;
	*since = now;
}

/* Decodes and appends the texts that the cache lacks. Returns false as reply_texts_fetch() does. */
static bool decode_lacking(struct reply_texts *x, size_t count)
{
	uint64_t since = thread_cpu_ns();
	size_t decoded = 0;

	for (size_t i = 0; i < count; i++) {
		struct name_ask *a = &x->asks[i];

		if (a->found)
			continue;
		if (decoded && decoded % BETWEEN_CLOCKS == 0)
			spend_time(x, &since);
		decoded++;
		if (!x->time_left_ns)
			x->is_spent = true;
		a->off = (uint32_t)x->bytes.len;
		a->found = x->is_spent || !decode_text(x, a); /* keeps it out of the cache */
		if (x->is_spent) {
			for (; i < count; i++)
				x->asks[i].found = true;
			return false;
		}
		a->len = a->found ? 0 : (uint32_t)x->raw.len;
		if (!buf_append(&x->bytes, x->raw.p, a->len))
			return false;
	}
	spend_time(x, &since);
	return true;
}

static bool fetch_decoded(struct reply_texts *x, size_t count)
{
	size_t lacking = 0;
	bool ok;

	if (!name_cache_get(x->cache, x->number, x->asks, count, &x->bytes))
		return false;
	for (size_t i = 0; i < count; i++)
		lacking += !x->asks[i].found;
	if (!lacking)
		return true;
	ok = decode_lacking(x, count);
	/* Texts are kept even if some are missing, so that a client that asks again finds these. */
	if (ok || x->is_spent)
		name_cache_put(x->cache, x->number, x->asks, count, &x->bytes);
	return ok;
}

bool reply_texts_fetch(struct reply_texts *x, enum name_kind kind, size_t count)
{
	bool is_shown = (kind == NAME_FULL || kind == NAME_SHORT) && rsym_has_shown(x->t);

	for (size_t i = 0; i < count; i++) {
		struct name_ask *a = &x->asks[i];

		a->kind = kind;
		a->string = kind == NAME_FILE ? a->id : rsym_name_id(x->t, a->id);
	}
	if (is_shown)
		return fetch_shown(x, count,
				   kind == NAME_FULL ? RSYM_SHOWN_FULL : RSYM_SHOWN_SHORT);
	return fetch_decoded(x, count);
}
