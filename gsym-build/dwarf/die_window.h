/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_DIE_WINDOW_H
#define RAWSTACK_DIE_WINDOW_H
/*
 * A view of a large section that moves forward: .debug_info, which inflates to hundreds of
 * megabytes and is read once, unit by unit. Of a compressed section only the unit at hand is in
 * memory, with what was inflated ahead; and of the file the pages behind are given back. One thread
 * at a time; with a helper, that inflates the next part while this one is read.
 */
#include "helper.h"
#include "image.h"
#include "inflate.h"

struct die_window {
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
 * *w where it is. A helper has nothing else to do until the window is closed.
 */
int die_window_open(struct die_window *w, struct image *im, const char *name, struct helper *helper,
		    struct err *err);
void die_window_close(struct die_window *w);

/*
 * Makes [off, off + len) visible and forgets what lies before off: *ret is valid until the next
 * call. off never falls. 1; 0 when the section ends before; ERR_DATA (damaged stream), ERR_MEMORY.
 */
int die_window_move(struct die_window *w, uint64_t off, uint64_t len, const uint8_t **ret,
		    struct err *err);

/* Memory of a view that was handed over, to be freed. */
struct die_lease {
	uint8_t *memory;
	size_t memory_len;
};

/*
 * Hands what is visible up to `end` over to the caller, in exchange for memory of an earlier call
 * (or none: zeros), so that another thread can move the window while it is read; what is visible
 * behind `end` stays so. What was returned by die_window_move() is valid until the lease is given
 * back. ERR_MEMORY.
 */
int die_window_lend(struct die_window *w, uint64_t end, struct die_lease *lease, struct err *err);

/* Of a plain section: nothing before `off` will be asked for again, or is read any more. */
void die_window_behind(struct die_window *w, uint64_t off);

#endif
