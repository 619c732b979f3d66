/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_GZIP_H
#define RAWSTACK_GZIP_H
/*
 * Reads and writes the gzip envelope (RFC 1952) of pprof files. Equal input gives equal output: the
 * header holds no time and no name. For one thread at a time.
 */
#include "buf.h"
#include "err.h"

bool gzip_is(const void *p, size_t len);

/*
 * Inflates every member into out, whose ceiling bounds it. Returns ERR_DATA if anything is damaged
 * or cut short, or ERR_LIMIT if it does not fit.
 */
int gzip_inflate(const void *p, size_t len, struct buf *out, struct err *err) _must_check_;

struct gzip_writer;

/* Opens a writer that appends compressed bytes to out, which must outlive it. */
int gzip_writer_open(struct gzip_writer **ret, struct buf *out, struct err *err) _must_check_;

/* Compresses len bytes. Returns ERR_LIMIT if out is full. */
int gzip_writer_add(struct gzip_writer *w, const void *p, size_t len, struct err *err) _must_check_;
int gzip_writer_finish(struct gzip_writer *w, struct err *err) _must_check_;
void gzip_writer_close(struct gzip_writer *w);
DEFINE_FREEP(struct gzip_writer, gzip_writer_close);

#endif
