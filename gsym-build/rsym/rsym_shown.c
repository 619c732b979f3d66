/* SPDX-License-Identifier: Apache-2.0 */
#include "rsym_shown.h"

#include <string.h>

#include "bytes.h"
#include "limits.h"
#include "rsym_bits.h"
#include "rsym_format.h"

/*
 * The section is: u32 count | u32 zero | u32 end of each block, from the start of the first |
 * blocks. A block has 8 texts. A text is: LEB shared | LEB added | LEB at | LEB short | the added
 * bytes. `shared` is the number of bytes in common with the text before it in the block; the short
 * text is `short` bytes from `at` on. A short text that is no part of the full one is appended to
 * it, and `at` is the length of the full one.
 */
enum {
	SHOWN_BLOCK = 8,
	SHOWN_HEAD = 8,
};

struct shown_text {
	uint64_t shared, added, brief, brief_len;
	const uint8_t *p;
};

static uint32_t block_count(uint32_t count)
{
	return count / SHOWN_BLOCK + (count % SHOWN_BLOCK != 0);
}

/* --- writer ---------------------------------------------------------------------------------- */

/* Appends one text, front-coded against the one before it. */
static void put_shown_text(struct buf *out, const struct buf *before, const struct buf *full,
			   const struct buf *brief)
{
	const uint8_t *in = brief->len ? memmem(full->p, full->len, brief->p, brief->len) : full->p;
	bool apart = brief->len && !in;
	size_t shared = 0;

	while (shared < before->len && shared < full->len && before->p[shared] == full->p[shared])
		shared++;
	buf_uleb(out, shared);
	buf_uleb(out, full->len - shared);
	buf_uleb(out, apart ? full->len : (size_t)(in - full->p));
	buf_uleb(out, brief->len);
	if (full->len > shared)
		buf_append(out, full->p + shared, full->len - shared);
	if (apart)
		buf_append(out, brief->p, brief->len);
}

static bool put_block(struct buf *out, const struct rsym_string *names, uint32_t count,
		      rsym_show_fn show)
{
	_cleanup_(buf_done) struct buf brief = BUF_INIT(LIMIT_NAME_LEN);
	struct buf texts[2] = {BUF_INIT(LIMIT_NAME_LEN), BUF_INIT(LIMIT_NAME_LEN)};
	bool ok = true;

	for (uint32_t i = 0; i < count && ok; i++) {
		struct buf *full = &texts[i % 2];

		buf_reset(full);
		buf_reset(&brief);
		ok = show(RSYM_SHOWN_FULL, names[i].p, names[i].len, full) &&
		     show(RSYM_SHOWN_SHORT, names[i].p, names[i].len, &brief);
		if (ok)
			put_shown_text(out, &texts[(i + 1) % 2], full, &brief);
	}
	buf_done(&texts[0]);
	buf_done(&texts[1]);
	return ok && !out->failed;
}

int rsym_shown_put(struct buf *out, const struct rsym_string *names, uint32_t count,
		   rsym_show_fn show, struct err *err)
{
	uint32_t blocks = block_count(count);
	size_t first = SHOWN_HEAD + (size_t)blocks * sizeof(uint32_t);
	size_t max = out->max;

	if (!count)
		return 0;
	out->max = LIMIT_SHOWN_LEN;
	buf_u32(out, count);
	buf_u32(out, 0);
	if (!buf_extend(out, first - SHOWN_HEAD))
		return err_no_memory(err);
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t from = i * SHOWN_BLOCK, end;

		if (!put_block(out, names + from,
			       count - from < SHOWN_BLOCK ? count - from : SHOWN_BLOCK, show)) {
			buf_reset(out);
			break;
		}
		end = (uint32_t)(out->len - first);
		memcpy(out->p + SHOWN_HEAD + i * sizeof(end), &end, sizeof(end));
	}
	out->max = max;
	return 0;
}

/* --- reader ---------------------------------------------------------------------------------- */

static int shown_damaged(struct err *err)
{
	return err_set(err, ERR_DATA, "damaged table: section %d does not fit the others",
		       RSYM_SECTION_SHOWN);
}

int rsym_shown_open(struct rsym *t, struct err *err)
{
	uint64_t head = SHOWN_HEAD + (uint64_t)block_count(t->names.count) * sizeof(uint32_t);

	if (!t->shown.p)
		return 0;
	if (t->shown.len < head || rsym_load32(t->shown.p) != t->names.count)
		return shown_damaged(err);
	return 0;
}

static uint32_t shown_block_end(const struct rsym *t, uint32_t block)
{
	return rsym_load32(t->shown.p + SHOWN_HEAD + (size_t)block * sizeof(uint32_t));
}

/* Returns a block, or an empty one if it is not inside the section. */
static struct bytes block_of(const struct rsym *t, uint32_t block)
{
	uint64_t head = SHOWN_HEAD + (uint64_t)block_count(t->names.count) * sizeof(uint32_t);
	uint64_t from = block ? shown_block_end(t, block - 1) : 0, to = shown_block_end(t, block);

	if (from > to || to > t->shown.len - head)
		return bytes_of(NULL, 0);
	return bytes_of(t->shown.p + head + from, to - from);
}

/* Reads the next text of a block. The text before it has `before` bytes. */
static bool next_text(struct bytes *in, uint64_t before, struct shown_text *ret)
{
	uint64_t len, apart;

	ret->shared = bytes_uleb(in);
	ret->added = bytes_uleb(in);
	ret->brief = bytes_uleb(in);
	ret->brief_len = bytes_uleb(in);
	if (in->failed || ret->shared > before || ret->added > LIMIT_NAME_LEN - ret->shared ||
	    ret->brief_len > LIMIT_NAME_LEN)
		return false;
	len = ret->shared + ret->added;
	apart = ret->brief == len ? ret->brief_len : 0;
	if (!apart && (ret->brief > len || ret->brief_len > len - ret->brief))
		return false;
	ret->p = bytes_take(in, ret->added + apart);
	return ret->p != NULL;
}

int rsym_shown_check(const struct rsym *t, struct err *err)
{
	struct bytes in = {0};
	struct shown_text s;
	uint64_t len = 0;

	if (!t->shown.p)
		return 0;
	for (uint32_t i = 0; i < t->names.count; i++) {
		if (i % SHOWN_BLOCK == 0) {
			if (in.left)
				return shown_damaged(err);
			in = block_of(t, i / SHOWN_BLOCK);
			len = 0;
		}
		if (!next_text(&in, len, &s))
			return shown_damaged(err);
		len = s.shared + s.added;
	}
	return in.left ? shown_damaged(err) : 0;
}

void rsym_shown_fetch(const struct rsym *t, uint32_t name)
{
	if (t->shown.p && name < t->names.count)
		__builtin_prefetch(t->shown.p + SHOWN_HEAD +
				   (size_t)(name / SHOWN_BLOCK) * sizeof(uint32_t));
}

void rsym_shown_fetch_text(const struct rsym *t, uint32_t name)
{
	struct bytes in;

	if (!t->shown.p || name >= t->names.count)
		return;
	in = block_of(t, name / SHOWN_BLOCK);
	for (size_t at = 0; at < in.left && at < 512; at += 64)
		__builtin_prefetch(in.p + at);
}

/* Rebuilds the full text of texts[last]: each earlier text provides bytes that later ones share. */
static bool join_text(const struct shown_text *texts, uint32_t last, struct buf *out)
{
	uint64_t want = texts[last].shared + texts[last].added;
	uint8_t *to = buf_extend(out, want);

	if (!to)
		return false;
	for (uint32_t i = last; want; i--) {
		const struct shown_text *s = &texts[i];

		if (want > s->shared) {
			memcpy(to + s->shared, s->p, want - s->shared);
			want = s->shared;
		}
	}
	return true;
}

int rsym_shown(const struct rsym *t, uint32_t name, enum rsym_shown_style style, struct buf *out)
{
	uint32_t last = name % SHOWN_BLOCK;
	struct shown_text texts[SHOWN_BLOCK], *s = &texts[last];
	size_t start = out->len;
	struct bytes in;
	uint64_t len = 0;

	if (!t->shown.p || name >= t->names.count)
		return 0;
	in = block_of(t, name / SHOWN_BLOCK);
	for (uint32_t i = 0; i <= last; i++) {
		if (!next_text(&in, len, &texts[i]))
			return ERR_DATA;
		len = texts[i].shared + texts[i].added;
	}
	if (style == RSYM_SHOWN_SHORT && s->brief == len && s->brief_len)
		return buf_append(out, s->p + s->added, s->brief_len) ? 1 : ERR_LIMIT;
	if (!join_text(texts, last, out))
		return ERR_LIMIT;
	if (style == RSYM_SHOWN_FULL)
		return 1;
	if (s->brief)
		memmove(out->p + start, out->p + start + s->brief, s->brief_len);
	out->len = start + s->brief_len;
	return 1;
}
