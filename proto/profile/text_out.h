/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEXT_OUT_H
#define RAWSTACK_TEXT_OUT_H
/*
 * The output of the writers of text formats: a buffer that is passed on whenever it is full, so
 * that a file of any length takes constant memory. Writers append to `buf` and call
 * text_out_spill() after each row.
 */
#include "buf.h"
#include "err.h"
#include "profile.h"

/* Takes len bytes. Returns 0, or an error with its message. */
typedef int text_out_fn(void *ctx, const void *p, size_t len, struct err *err);

struct text_out {
	struct buf buf;
	text_out_fn *write;
	void *ctx;
	uint64_t max; /* most bytes in all, from text_out_max(); 0: any number */
	uint64_t written;
};

/* Bytes of one row: LIMIT_PROFILE_STACK frames with names of 4 KiB each, which no real stack has.
 */
#define LIMIT_ROW_LEN (256 * MIB)

#define TEXT_OUT_INIT(fn, fn_ctx)                                              \
	{                                                                      \
		.buf = BUF_INIT(LIMIT_ROW_LEN), .write = (fn), .ctx = (fn_ctx) \
	}

/* Returns the most bytes that a text of the profile may take. A name stands in it once for each
 * frame, so few bytes could otherwise ask for any number. */
uint64_t text_out_max(const struct profile *p);

/* Reports a text that would be longer: ERR_LIMIT. */
int text_out_too_long(const struct text_out *out, struct err *err);

/* Passes on what has gathered, once there is enough. The last byte stays, because json.h looks at
 * it. */
int text_out_spill(struct text_out *out, struct err *err) _must_check_;

/* Appends a name in a format of lines. Each byte of a character that utf8_shown() refuses, which
 * may hide text or end a line, becomes '?'. */
void text_out_name(struct buf *out, const char *p, size_t len);

/* Passes on everything. */
int text_out_end(struct text_out *out, struct err *err) _must_check_;

void text_out_done(struct text_out *out);

/* A text_out_fn that appends to a struct buf. */
int text_out_to_buf(void *buf, const void *p, size_t len, struct err *err);

#endif
