/* SPDX-License-Identifier: Apache-2.0 */
#include "section_stream.h"

#include <string.h>

/* Bytes inflated beyond those requested. Fewer cost more calls; more exceed the CPU caches. */
#define AHEAD ((size_t)512 << 10)
/* Pages of the file are given back in runs of this length. */
#define DROP  ((uint64_t)8 << 20)

static void inflate_next(void *ctx)
{
	struct section_stream *w = ctx;

	w->next_rc = inflate_stream_read(w->stream, w->next, w->next_len, &w->next_err);
}

/* Gives the file's pages before `off` back to the kernel, because they are not read again. */
static void drop_pages(struct section_stream *w, uint64_t off)
{
	if (off - w->dropped < DROP)
		return;
	image_drop(w->im, w->source + w->dropped, off - w->dropped);
	w->dropped = off;
}

/* Starts the idle helper with the next part. */
static void start_next(struct section_stream *w)
{
	uint64_t left = w->len - w->inflated;

	drop_pages(w, inflate_stream_position(w->stream));
	w->next_len = left < AHEAD ? (size_t)left : AHEAD;
	w->inflated += w->next_len;
	if (w->next_len)
		helper_start(w->helper, inflate_next, w);
}

int section_stream_open(struct section_stream *w, struct image *im, const char *name,
			struct helper *helper, struct err *err)
{
	struct image_packed packed;
	int rc = image_section_packed(im, name, &packed, err);

	*w = (struct section_stream){.im = im, .len = packed.plain_len, .source = packed.p};
	if (rc <= 0)
		return rc;
	if (packed.kind == INFLATE_NONE) {
		w->p = packed.p;
		w->have = w->len;
		return 1;
	}
	rc = inflate_stream_open(&w->stream, packed.kind, packed.p, packed.len, packed.plain_len,
				 err);
	if (rc)
		return err_prefix(err, "section %s", name);
	w->next = helper ? malloc(AHEAD) : NULL;
	if (helper && !w->next)
		return err_no_memory(err);
	w->helper = helper;
	if (helper)
		start_next(w);
	return 1;
}

void section_stream_close(struct section_stream *w)
{
	helper_wait(w->helper);
	inflate_stream_free(w->stream);
	free(w->memory);
	free(w->next);
	*w = (struct section_stream){0};
}

/* Makes room for len bytes, and moves the last `keep` bytes of the old view to its front. Returns
 * false if memory is out. */
static bool make_stream_room(struct section_stream *w, size_t keep, uint64_t len)
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

/* Takes the parts that the helper inflates until the wanted bytes are there. Each part is taken
 * whole, so that the helper can start the next one. */
static int take_ahead(struct section_stream *w, uint64_t off, uint64_t len, struct err *err)
{
	uint64_t end = w->off + w->have; /* end of the bytes taken so far */
	size_t keep = off < end ? (size_t)(end - off) : 0;

	if (!make_stream_room(w, keep, len + AHEAD))
		return err_set(err, ERR_MEMORY, "no memory for %llu bytes of a unit",
			       (unsigned long long)len);
	w->have = 0;
	w->p = w->memory;
	w->off = off;
	while (end < off + len) {
		size_t n = w->next_len, skip;

		helper_wait(w->helper);
		if (!n || w->next_rc)
			return n ? err_set(err, w->next_rc, "%s", w->next_err.message)
				 : err_set(err, ERR_DATA, "it ends too early");
		/* Bytes before `off` were not requested and are skipped. */
		skip = off <= end ? 0 : off - end < n ? (size_t)(off - end) : n;
		memcpy(w->memory + keep, w->next + skip, n - skip);
		keep += n - skip;
		end += n;
		start_next(w);
	}
	w->have = keep;
	return 0;
}

static int inflate_to(struct section_stream *w, uint64_t off, uint64_t len, struct err *err)
{
	uint64_t end = w->off + w->have, want = len + AHEAD;
	size_t keep = off < end ? (size_t)(end - off) : 0;
	int rc = 0;

	if (want > w->len - off)
		want = w->len - off;
	if (!make_stream_room(w, keep, want > AHEAD ? want : AHEAD))
		return err_set(err, ERR_MEMORY, "no memory for %llu bytes of a unit",
			       (unsigned long long)len);
	w->have = keep;
	/* Bytes before `off` were not requested; they are inflated into the same memory and
	 * overwritten. */
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
	drop_pages(w, inflate_stream_position(w->stream));
	return rc;
}

int section_stream_seek(struct section_stream *w, uint64_t off, uint64_t len, const uint8_t **ret,
			struct err *err)
{
	if (off > w->len || len > w->len - off)
		return 0;
	if (w->stream &&
	    (off < w->off || off - w->off > w->have || len > w->have - (off - w->off))) {
		TRY(w->helper ? take_ahead(w, off, len, err) : inflate_to(w, off, len, err));
	} else if (!w->stream && !w->shared) {
		drop_pages(w, off);
	}
	*ret = w->p + (off - w->off);
	return 1;
}

int section_stream_detach(struct section_stream *w, uint64_t end, struct section_chunk *chunk,
			  struct err *err)
{
	size_t keep = (size_t)(w->off + w->have - end);
	uint8_t *memory = w->memory;
	size_t memory_len = w->memory_len;

	w->shared = true;
	if (!w->stream)
		return 0;
	if (chunk->memory_len < keep + AHEAD) {
		free(chunk->memory);
		*chunk = (struct section_chunk){.memory = malloc(keep + 2 * AHEAD)};
		if (!chunk->memory)
			return err_set(err, ERR_MEMORY, "no memory for %zu bytes of units", keep);
		chunk->memory_len = keep + 2 * AHEAD;
	}
	memcpy(chunk->memory, memory + w->have - keep, keep);
	w->memory = chunk->memory;
	w->memory_len = chunk->memory_len;
	w->p = w->memory;
	w->off = end;
	w->have = keep;
	*chunk = (struct section_chunk){.memory = memory, .memory_len = memory_len};
	return 0;
}

void section_stream_drop_before(struct section_stream *w, uint64_t off)
{
	if (!w->stream && off > w->dropped)
		drop_pages(w, off);
}
