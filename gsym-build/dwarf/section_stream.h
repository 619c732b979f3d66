/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_SECTION_STREAM_H
#define RAWSTACK_SECTION_STREAM_H
/*
 * A large section as a stream: .debug_info, which inflates to hundreds of megabytes and is read
 * once, unit by unit. Of a compressed section only the unit at hand is in
 * memory, with what was inflated ahead; and of the file the pages behind are given back. One thread
 * at a time; with a helper, that inflates the next part while this one is read.
 */
#include "helper.h"
#include "image.h"
#include "inflate.h"

struct section_stream {
	uint64_t len; /* of the section */
	/* The part that can be seen: [off, off + have). */
	const uint8_t *p;
	uint64_t off, have;

	struct image *im;
	struct inflate_stream *stream; /* NULL: the section is plain */
	uint8_t *memory;
	size_t memory_len;
	const uint8_t *source; /* the bytes in the file */
	uint64_t dropped;      /* of them, up to here */
	bool shared;           /* views are lent: who has them says what can be dropped */

	/* NULL, or inflates the next part into `next`, with this struct as its context. */
	struct helper *helper;
	uint8_t *next;
	size_t next_len;   /* 0: there is none */
	uint64_t inflated; /* of the section, `next` included */
	struct err next_err;
	int next_rc;
};

/*
 * 1 opened, 0 no such section or empty; negative as image_section(). The image must stay open, and
 * *w where it is. A helper has nothing else to do until the stream is closed.
 */
int section_stream_open(struct section_stream *w, struct image *im, const char *name,
			struct helper *helper, struct err *err);
void section_stream_close(struct section_stream *w);

/*
 * Makes [off, off + len) visible and forgets what lies before off: *ret is valid until the next
 * call. off never falls. 1; 0 when the section ends before; ERR_DATA (damaged stream), ERR_MEMORY.
 */
int section_stream_seek(struct section_stream *w, uint64_t off, uint64_t len, const uint8_t **ret,
			struct err *err);

/* Memory of a view that was handed over, to be freed. */
struct section_chunk {
	uint8_t *memory;
	size_t memory_len;
};

/*
 * Hands what is visible up to `end` over to the caller, in exchange for memory of an earlier call
 * (or none: zeros), so that another thread can move the stream on while it is read; what is visible
 * behind `end` stays so. What was returned by section_stream_seek() is valid until the chunk is
 * given back. ERR_MEMORY.
 */
int section_stream_detach(struct section_stream *w, uint64_t end, struct section_chunk *chunk,
			  struct err *err);

/* Of a plain section: nothing before `off` will be asked for again, or is read any more. */
void section_stream_drop_before(struct section_stream *w, uint64_t off);

#endif
