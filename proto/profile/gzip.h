/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GZIP_H
#define RAWSTACK_GZIP_H
/*
 * The gzip envelope (RFC 1952) of pprof files. The output of equal input is equal: no time, no
 * name in the header. One thread at a time.
 */
#include "buf.h"
#include "err.h"

bool gzip_is(const void *p, size_t len);

/*
 * Inflates every member into out, whose ceiling bounds it. ERR_DATA for anything damaged or cut
 * short, ERR_LIMIT when it does not fit.
 */
int gzip_inflate(const void *p, size_t len, struct buf *out, struct err *err) _must_check_;

struct gzip_writer;

/* Compressed bytes are appended to out, which must outlive the writer. */
int gzip_writer_open(struct gzip_writer **ret, struct buf *out, struct err *err) _must_check_;

/* Returns ERR_LIMIT when out is full. */
int gzip_writer_add(struct gzip_writer *w, const void *p, size_t len, struct err *err) _must_check_;
int gzip_writer_finish(struct gzip_writer *w, struct err *err) _must_check_;
void gzip_writer_close(struct gzip_writer *w);
DEFINE_FREEP(struct gzip_writer, gzip_writer_close);

#endif
