/* SPDX-License-Identifier: Apache-2.0 */
#include "die_window.h"

#include <string.h>

/* Inflated ahead of what is asked for. Below it calls cost more, above it caches suffer. */
#define AHEAD ((size_t)512 << 10)
/* Pages of the file are given back in runs of this length. */
#define DROP  ((uint64_t)8 << 20)

int die_window_open(struct die_window *w, struct image *im, const char *name, struct err *err)
{
	struct image_packed packed;
	int rc = image_section_packed(im, name, &packed, err);

	*w = (struct die_window){.im = im, .len = packed.plain_len, .source = packed.p};
	if (rc <= 0)
		return rc;
	if (packed.kind == INFLATE_NONE) {
		w->p = packed.p;
		w->have = w->len;
		return 1;
	}
	rc = inflate_stream_open(&w->stream, packed.kind, packed.p, packed.len, packed.plain_len,
				 err);
	return rc ? err_prefix(err, "section %s", name) : 1;
}

void die_window_close(struct die_window *w)
{
	inflate_stream_free(w->stream);
	free(w->memory);
	*w = (struct die_window){0};
}

/* The file is not read again before `off` of the section's bytes in it. */
static void drop(struct die_window *w, uint64_t off)
{
	if (off - w->dropped < DROP)
		return;
	image_drop(w->im, w->source + w->dropped, off - w->dropped);
	w->dropped = off;
}

/* Room for len bytes at the front of which stands what is kept of the old view. */
static bool make_room(struct die_window *w, size_t keep, uint64_t len)
{
	uint8_t *memory;

	if (len <= w->memory_len) {
		if (keep)
			memmove(w->memory, w->memory + w->have - keep, keep);
		return true;
	}
	if (len > SIZE_MAX / 2)
		return false;
	len += len / 4;
	memory = malloc(len);
	if (!memory)
		return false;
	if (keep)
		memcpy(memory, w->memory + w->have - keep, keep);
	free(w->memory);
	w->memory = memory;
	w->memory_len = len;
	return true;
}

static int inflate_to(struct die_window *w, uint64_t off, uint64_t len, struct err *err)
{
	uint64_t end = w->off + w->have, want = len + AHEAD;
	size_t keep = off < end ? (size_t)(end - off) : 0;
	int rc = 0;

	if (want > w->len - off)
		want = w->len - off;
	if (!make_room(w, keep, want > AHEAD ? want : AHEAD))
		return err_set(err, ERR_MEMORY, "no memory for %llu bytes of a unit",
			       (unsigned long long)len);
	w->have = keep;
	/* What nobody asked to see goes through the front of the same memory. */
	while (!rc && end < off) {
		size_t n = off - end < w->memory_len ? (size_t)(off - end) : w->memory_len;

		rc = inflate_stream_read(w->stream, w->memory, n, err);
		end += n;
	}
	if (!rc)
		rc = inflate_stream_read(w->stream, w->memory + keep, want - keep, err);
	w->p = w->memory;
	w->off = off;
	w->have = rc ? 0 : want;
	drop(w, inflate_stream_position(w->stream));
	return rc;
}

int die_window_move(struct die_window *w, uint64_t off, uint64_t len, const uint8_t **ret,
		    struct err *err)
{
	int rc;

	if (off > w->len || len > w->len - off)
		return 0;
	if (w->stream &&
	    (off < w->off || off - w->off > w->have || len > w->have - (off - w->off))) {
		rc = inflate_to(w, off, len, err);
		if (rc)
			return rc;
	} else if (!w->stream) {
		drop(w, off);
	}
	*ret = w->p + (off - w->off);
	return 1;
}
