/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "utf8.h"

/* Lines of one kind that may come at once, and then in a second: eight kinds of 300 bytes are at
 * most 420 MB a day. */
#define LIMIT_EVENT_BURST UINT64_C(100)
#define LIMIT_EVENT_RATE  UINT64_C(2)

enum {
	VALUE_LEN = 240, /* bytes of one value as it is written */
	TELL_SECONDS = 60,
};

#define NS_PER_S UINT64_C(1000000000)

static const char *const kind_names[EVENT_KINDS] = {
	[EVENT_REQUEST] = "request",   [EVENT_REFUSAL] = "refusal",
	[EVENT_FAILURE] = "failure",   [EVENT_UPLOAD] = "upload",
	[EVENT_BUILD] = "build",       [EVENT_CHANGE] = "change",
	[EVENT_EVICTION] = "eviction", [EVENT_HTTP_REFUSAL] = "http_refusal",
};

static struct {
	pthread_mutex_t lock;
	struct {
		uint64_t tokens_ns; /* when the bucket is full again; monotonic */
		uint64_t left_out, told;
	} kinds[EVENT_KINDS];
	uint64_t told_ns;
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool take_event_token(enum event_kind kind)
{
	const uint64_t each = NS_PER_S / LIMIT_EVENT_RATE;
	const uint64_t now = io_mono_ns();
	bool has;

	pthread_mutex_lock(&events.lock);
	if (events.kinds[kind].tokens_ns < now)
		events.kinds[kind].tokens_ns = now;
	has = events.kinds[kind].tokens_ns + each <= now + LIMIT_EVENT_BURST * each;
	if (has)
		events.kinds[kind].tokens_ns += each;
	else
		events.kinds[kind].left_out++;
	pthread_mutex_unlock(&events.lock);
	return has;
}

bool event_begin(struct event *e, enum log_level level, enum event_kind kind)
{
	/* Debug lines are asked for, by somebody who wants to see each. */
	if (!log_has_level(level) || (level != LOG_DEBUG && !take_event_token(kind)))
		return false;
	e->level = level;
	e->len = (size_t)snprintf(e->line, sizeof(e->line), "level=%s event=%s",
				  log_level_words[level], kind_names[kind]);
	return true;
}

static void append_field(struct event *e, const char *key, const char *value, size_t len)
{
	size_t key_len = strlen(key);

	if (len + key_len + 2 >= sizeof(e->line) - e->len)
		return;
	e->line[e->len++] = ' ';
	memcpy(e->line + e->len, key, key_len);
	e->len += key_len;
	e->line[e->len++] = '=';
	memcpy(e->line + e->len, value, len);
	e->len += len;
}

/* Returns whether a value needs no quotes: it has letters, digits and a few signs only. */
static bool is_bare_value(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(p[i] >= 'a' && p[i] <= 'z') && !(p[i] >= 'A' && p[i] <= 'Z') &&
		    !(p[i] >= '0' && p[i] <= '9') && (!p[i] || !strchr("-_./:@+%,[]", p[i])))
			return false;
	return len && len < VALUE_LEN;
}

void event_bytes(struct event *e, const char *key, const void *p, size_t len)
{
	char out[VALUE_LEN + sizeof("\\xff...\"")];
	const uint8_t *at = p;
	size_t n = 0;

	if (is_bare_value(p, len)) {
		append_field(e, key, p, len);
		return;
	}
	out[n++] = '"';
	while (len && n < VALUE_LEN) {
		size_t shown = utf8_shown(at, len);

		if (shown && *at != '"' && *at != '\\') {
			memcpy(out + n, at, shown);
			n += shown;
		} else if (shown) {
			out[n++] = '\\';
			out[n++] = (char)*at;
		} else {
			n += (size_t)snprintf(out + n, sizeof(out) - n, "\\x%02x", *at);
		}
		at += shown ? shown : 1;
		len -= shown ? shown : 1;
	}
	if (len) {
		memcpy(out + n, "...", 3);
		n += 3;
	}
	out[n++] = '"';
	append_field(e, key, out, n);
}

void event_text(struct event *e, const char *key, const char *text)
{
	event_bytes(e, key, text, strlen(text));
}

void event_number(struct event *e, const char *key, uint64_t n)
{
	char text[24];

	append_field(e, key, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, n));
}

void event_hex(struct event *e, const char *key, const void *p, size_t len)
{
	const uint8_t *bytes = p;
	char text[2 * BUILD_ID_MAX + 1];
	size_t n = 0;

	/* Longer ones are no ids, and cut. */
	for (size_t i = 0; i < len && i < BUILD_ID_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", bytes[i]);
	append_field(e, key, text, n);
}

void event_seconds(struct event *e, const char *key, uint64_t ns)
{
	char text[40];

	append_field(e, key, text,
		     (size_t)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, ns / NS_PER_S,
				      ns % NS_PER_S / 1000));
}

void event_hex64(struct event *e, const char *key, uint64_t n)
{
	char text[20];

	append_field(e, key, text, (size_t)snprintf(text, sizeof(text), "%016" PRIx64, n));
}

void event_id(struct event *e, const char *key, const struct build_id *id)
{
	event_hex(e, key, id->bytes, id->len);
}

void event_end(struct event *e)
{
	log_line_plain(e->level, e->line, e->len);
}

void event_tell_left_out(bool now)
{
	const uint64_t at = io_mono_ns();
	uint64_t counts[EVENT_KINDS] = {0};

	pthread_mutex_lock(&events.lock);
	if (now || at - events.told_ns >= TELL_SECONDS * NS_PER_S) {
		events.told_ns = at;
		for (int i = 0; i < EVENT_KINDS; i++) {
			counts[i] = events.kinds[i].left_out - events.kinds[i].told;
			events.kinds[i].told = events.kinds[i].left_out;
		}
	}
	pthread_mutex_unlock(&events.lock);
	for (int i = 0; i < EVENT_KINDS; i++)
		if (counts[i])
			log_warn("%" PRIu64 " lines of event=%s were left out: there were too many "
				 "(%u at once and %u a second are logged)",
				 counts[i], kind_names[i], (unsigned int)LIMIT_EVENT_BURST,
				 (unsigned int)LIMIT_EVENT_RATE);
}

uint64_t event_left_out(enum event_kind kind)
{
	uint64_t n;

	pthread_mutex_lock(&events.lock);
	n = events.kinds[kind].left_out;
	pthread_mutex_unlock(&events.lock);
	return n;
}

const char *event_kind_name(enum event_kind kind)
{
	return kind_names[kind];
}
