/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_EVENT_H
#define RAWSTACK_EVENT_H
/*
 * Events of a service as log lines that people and programs read: one line each, in logfmt.
 *
 *	level=info event=upload request=5f3a9c1e00000007 client=ipv4:127.0.0.1:50712 bytes=8312
 *
 * Values that come from strangers are quoted where they have to be, and cut; characters that may
 * not be shown are written as \xNN. Lines are limited for each kind of event, so that a client that
 * has thousands of them fills no disk; how many were left out is counted and told. Safe from any
 * thread; one struct event is one thread's.
 *
 *	if (event_begin(&e, LOG_INFO, EVENT_CHANGE)) {
 *		event_id(&e, "build_id", &id);
 *		event_end(&e);
 *	}
 */
#include "build_id.h"
#include "log.h"

enum event_kind {
	EVENT_REQUEST,      /* a call ended well, or by its client, or found nothing; LOG_DEBUG */
	EVENT_REFUSAL,      /* a call was refused */
	EVENT_HTTP_REFUSAL, /* a request of the HTTP port was refused */
	EVENT_FAILURE,      /* a call failed for a reason of the service's own */
	EVENT_UPLOAD,       /* an upload began, or all of it came */
	EVENT_BUILD,        /* the build of an upload ended */
	EVENT_EVICTION,     /* a table made room for others */
	EVENT_CHANGE,       /* a client deleted or pinned a table */
	EVENT_KINDS
};

struct event {
	char line[900]; /* log_line() has room for 1024 bytes with what it adds */
	size_t len;
	enum log_level level;
};

/* Begins a line. Returns false if the level is not logged, or if too many lines of the kind were
 * logged a moment ago: then the other calls must not follow. */
bool event_begin(struct event *e, enum log_level level, enum event_kind kind) _must_check_;

/* Add a field; key is a literal. A field that does not fit is left away. */
void event_bytes(struct event *e, const char *key, const void *p, size_t len);
void event_text(struct event *e, const char *key, const char *text);
void event_number(struct event *e, const char *key, uint64_t n);
void event_hex64(struct event *e, const char *key, uint64_t n);
void event_hex(struct event *e, const char *key, const void *p, size_t len);
void event_seconds(struct event *e, const char *key, uint64_t ns); /* written in seconds */
void event_id(struct event *e, const char *key, const struct build_id *id);

/* Writes the line. */
void event_end(struct event *e);

/* Tells how many lines were left out since the last time, at most once a minute unless `now`. A
 * service calls it now and then, and at its end. */
void event_tell_left_out(bool now);

/* Returns how many lines of the kind were left out since the start, and the word of the kind. */
uint64_t event_left_out(enum event_kind kind);
const char *event_kind_name(enum event_kind kind);

#endif
