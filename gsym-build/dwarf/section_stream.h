/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SECTION_STREAM_H
#define RAWSTACK_SECTION_STREAM_H
/*
 * Reads a large section as a stream: .debug_info inflates to hundreds of megabytes and is read
 * once, unit by unit. Of a compressed section, only the current unit and what was inflated ahead
 * are in memory; pages of the file that were read are given back to the kernel. A struct is for one
 * thread at a time; a helper, if given, inflates the next part while the current one is read.
 */
#include "helper.h"
#include "image.h"
#include "inflate.h"

struct section_stream {
	uint64_t len; /* of the section */
	/* The bytes [off, off + have) of the section, which are readable at p. */
	const uint8_t *p;
	uint64_t off, have;

	struct image *im;
	struct inflate_stream *stream; /* NULL if the section is not compressed */
	uint8_t *memory;
	size_t memory_len;
	const uint8_t *source; /* the section's bytes in the mapped file */
	uint64_t dropped;      /* offset in `source` up to which pages were given back */
	bool shared;           /* chunks are detached; their owner decides when pages are dropped */

	/* Inflates the next part into `next`, with this struct as its context, or is NULL. */
	struct helper *helper;
	uint8_t *next;
	size_t next_len;   /* 0 if nothing is inflated ahead */
	uint64_t inflated; /* bytes of the section inflated so far, `next` included */
	struct err next_err;
	int next_rc;
};

/* Returns 1, 0 if the section is missing or empty, or an error of image_section(). The image must
 * stay open, and *w must not move. A helper must have no other work until the stream is closed. */
int section_stream_open(struct section_stream *w, struct image *im, const char *name,
			struct helper *helper, struct err *err);
void section_stream_close(struct section_stream *w);

/*
 * Makes [off, off + len) readable and releases everything before off; *ret is valid until the next
 * call. `off` must not be below that of an earlier call. Returns 1, 0 if the section is shorter,
 * ERR_DATA (damaged stream) or ERR_MEMORY.
 */
int section_stream_seek(struct section_stream *w, uint64_t off, uint64_t len, const uint8_t **ret,
			struct err *err);

/* The memory of detached bytes. Its owner frees it. */
struct section_chunk {
	uint8_t *memory;
	size_t memory_len;
};

/*
 * Gives the readable bytes up to `end` to the caller, in exchange for the chunk of an earlier call
 * (or a zeroed one), so that another thread can advance the stream while they are read. Bytes from
 * `end` on stay readable. The pointer from section_stream_seek() is valid until the chunk is given
 * back. Returns ERR_MEMORY.
 */
int section_stream_detach(struct section_stream *w, uint64_t end, struct section_chunk *chunk,
			  struct err *err);

/* Gives back the pages of a plain section before `off`, which no thread reads any more. */
void section_stream_drop_before(struct section_stream *w, uint64_t off);

#endif
