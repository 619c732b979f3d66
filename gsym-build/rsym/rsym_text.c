/* SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY /* for the frame format without magic number */
#include "rsym_text.h"

#include <zstd.h>

#include "bytes.h"
#include "rsym_bits.h"
#include "rsym_format.h"

enum {
	STRINGS_MAX = 32
}; /* strings of a block */

/*
 * The place of a block in the cache, which is valid only in this round of the cache. Emptying the
 * cache begins a new round instead of clearing the array of places, which may have many more
 * elements than the cache holds.
 */
struct place {
	uint32_t round, off;
};

struct rsym_text_reader {
	const struct rsym_texts *t;
	ZSTD_DCtx *zstd;
	ZSTD_DDict *digested;
	struct place *at; /* by block */
	uint32_t round;   /* current round of the cache, incremented when it is emptied */
	struct buf cache; /* unpacked blocks, each behind its length (size_t) */
	struct buf string;
	uint64_t unpacked_len;
};

static int text_damaged(struct err *err, const char *what, uint32_t index)
{
	return err_set(err, ERR_DATA, "damaged table: %s %u of the texts", what, index);
}

int rsym_texts_open(struct rsym_texts *t, const uint8_t *p, uint64_t len, struct err *err)
{
	struct rsym_disk_texts head;
	uint64_t ends_len;

	if (len < sizeof(head))
		return text_damaged(err, "head", 0);
	memcpy(&head, p, sizeof(head));
	if (head.block_strings == 0 || head.block_strings > STRINGS_MAX || head.end_bits > 40 ||
	    head.block_max > RSYM_TEXT_BLOCK_MAX)
		return text_damaged(err, "head", 0);
	*t = (struct rsym_texts){
		.count = head.count,
		.block_count = (uint32_t)(((uint64_t)head.count + head.block_strings - 1) /
					  head.block_strings),
		.block_max = head.block_max,
		.dictionary_len = head.dictionary_len,
		.block_strings = head.block_strings,
		.end_bits = head.end_bits,
	};
	ends_len = ((uint64_t)t->block_count * t->end_bits + 7) / 8;
	len -= sizeof(head);
	if (ends_len > len || t->dictionary_len > len - ends_len)
		return text_damaged(err, "head", 0);
	t->ends = p + sizeof(head);
	t->dictionary = t->ends + ends_len;
	t->blocks = t->dictionary + t->dictionary_len;
	t->blocks_len = len - ends_len - t->dictionary_len;
	return 0;
}

void rsym_text_reader_free(struct rsym_text_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDCtx(r->zstd);
	ZSTD_freeDDict(r->digested);
	free(r->at);
	buf_done(&r->cache);
	buf_done(&r->string);
	free(r);
}

struct rsym_text_reader *rsym_text_reader_new(const struct rsym_texts *t, size_t cache_max)
{
	struct rsym_text_reader *r = calloc(1, sizeof(*r));
	size_t one = t->block_max + sizeof(size_t);

	if (!r)
		return NULL;
	r->t = t;
	r->round = 1;
	if (cache_max > UINT32_MAX)
		cache_max = UINT32_MAX;
	buf_init(&r->cache, cache_max > one ? cache_max : one);
	buf_init(&r->string, RSYM_TEXT_BLOCK_MAX * STRINGS_MAX);
	r->zstd = ZSTD_createDCtx();
	r->at = calloc((size_t)t->block_count + 1, sizeof(*r->at));
	/* The dictionary is used in place, in the table. */
	if (t->dictionary_len)
		r->digested = ZSTD_createDDict_byReference(t->dictionary, t->dictionary_len);
	if (!r->zstd || !r->at || (t->dictionary_len && !r->digested)) {
		rsym_text_reader_free(r);
		return NULL;
	}
	ZSTD_DCtx_setParameter(r->zstd, ZSTD_d_format, ZSTD_f_zstd1_magicless);
	ZSTD_DCtx_refDDict(r->zstd, r->digested);
	return r;
}

static uint64_t text_block_end(const struct rsym_texts *t, uint32_t block)
{
	return bits_get(t->ends, (uint64_t)block * t->end_bits, t->end_bits);
}

/* Unpacks a block to the end of the cache, which is emptied when it is full. */
static int unpack_block(struct rsym_text_reader *r, uint32_t block, struct err *err)
{
	const struct rsym_texts *t = r->t;
	uint64_t from = block ? text_block_end(t, block - 1) : 0, to = text_block_end(t, block);
	size_t want = t->block_max + sizeof(size_t), len, before;
	uint8_t *p;

	if (to < from || to > t->blocks_len)
		return text_damaged(err, "block", block);
	if (want > r->cache.max - r->cache.len) {
		buf_reset(&r->cache);
		if (++r->round == 0) { /* the counter wrapped: invalidate all */
			memset(r->at, 0, (size_t)t->block_count * sizeof(*r->at));
			r->round = 1;
		}
	}
	before = r->cache.len;
	p = buf_extend(&r->cache, want);
	if (!p)
		return err_no_memory(err);
	len = ZSTD_decompressDCtx(r->zstd, p + sizeof(len), t->block_max, t->blocks + from,
				  to - from);
	if (ZSTD_isError(len)) {
		r->cache.len = before;
		return text_damaged(err, "block", block);
	}
	memcpy(p, &len, sizeof(len));
	r->cache.len = before + sizeof(len) + len;
	r->at[block] = (struct place){r->round, (uint32_t)before};
	r->unpacked_len += len;
	return 0;
}

/* Returns the bytes of the strings, which follow the lengths of `count` strings. */
static struct bytes behind_lens(struct bytes lens, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bytes_uleb(&lens);
		bytes_uleb(&lens);
	}
	return lens;
}

/* Reads the next string of a block: the number of bytes shared with the one before, and the added
 * bytes. Returns the added bytes, or NULL if the block is damaged. */
static const uint8_t *next_part(const struct rsym_text_reader *r, struct bytes *lens,
				struct bytes *texts, size_t *ret_shared, size_t *ret_added)
{
	uint64_t shared = bytes_uleb(lens), added = bytes_uleb(lens);
	const uint8_t *p = bytes_take(texts, added);

	if (lens->failed || shared > r->string.len)
		return NULL;
	*ret_shared = shared;
	*ret_added = added;
	return p;
}

/* Rebuilds string `index` of an unpacked block of `count` strings from those before it. */
static int rebuild_string(struct rsym_text_reader *r, struct bytes lens, uint32_t count,
			  uint32_t index, struct err *err)
{
	struct bytes texts = behind_lens(lens, count);
	size_t shared, added;

	buf_reset(&r->string);
	for (uint32_t i = 0; i <= index; i++) {
		const uint8_t *p = next_part(r, &lens, &texts, &shared, &added);

		if (!p)
			return text_damaged(err, "string", index);
		r->string.len = shared;
		if (!buf_append(&r->string, p, added))
			return err_no_memory(err);
	}
	return 0;
}

/* Gets the unpacked block that holds string i. */
static int get_block(struct rsym_text_reader *r, uint32_t i, struct bytes *ret, uint32_t *ret_count,
		     struct err *err)
{
	const struct rsym_texts *t = r->t;
	uint32_t block = i / t->block_strings, first = block * t->block_strings;
	size_t len;

	if (r->at[block].round != r->round)
		TRY(unpack_block(r, block, err));
	memcpy(&len, r->cache.p + r->at[block].off, sizeof(len));
	*ret = bytes_of(r->cache.p + r->at[block].off + sizeof(len), len);
	*ret_count = t->count - first < t->block_strings ? t->count - first : t->block_strings;
	return 0;
}

int rsym_text_get(struct rsym_text_reader *r, uint32_t i, const uint8_t **ret, size_t *ret_len,
		  struct err *err)
{
	struct bytes block;
	uint32_t count;
	int rc = get_block(r, i, &block, &count, err);

	if (!rc)
		rc = rebuild_string(r, block, count, i % r->t->block_strings, err);
	*ret = r->string.p ? r->string.p : (const uint8_t *)"";
	*ret_len = r->string.len;
	return rc;
}

uint64_t rsym_text_unpacked_len(const struct rsym_text_reader *r)
{
	return r->unpacked_len;
}

/*
 * Checks all strings of the block that begins with string `first`; r->string is the string before
 * it, and on return the last of the block. Bytes shared by two neighbours are not compared again,
 * so the time depends on the length of the unpacked block and not on that of the strings.
 */
static int check_text_block(struct rsym_text_reader *r, uint32_t first, uint64_t *unpacked_len,
			    struct err *err)
{
	struct bytes lens, texts;
	uint32_t count;
	size_t shared, added;

	TRY(get_block(r, first, &lens, &count, err));
	*unpacked_len += lens.left;
	texts = behind_lens(lens, count);
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *p = next_part(r, &lens, &texts, &shared, &added);
		size_t rest, both;
		int order;

		if (!p || (i == 0 && shared) || shared > LIMIT_NAME_LEN ||
		    added > LIMIT_NAME_LEN - shared)
			return text_damaged(err, "string", first + i);
		rest = r->string.len - shared;
		both = rest < added ? rest : added;
		order = both ? memcmp(r->string.p + shared, p, both) : 0;
		if (first + i && (order > 0 || (order == 0 && rest >= added)))
			return text_damaged(err, "string", first + i);
		r->string.len = shared;
		if (!buf_append(&r->string, p, added))
			return err_no_memory(err);
	}
	return texts.left ? text_damaged(err, "block", first / r->t->block_strings) : 0;
}

int rsym_texts_check(const struct rsym_texts *t, struct err *err)
{
	struct rsym_text_reader *r = rsym_text_reader_new(t, 0);
	uint64_t unpacked_len = 0;
	int rc = 0;

	if (!r)
		return err_no_memory(err);
	for (uint32_t i = 0; i < t->block_count && !rc; i++) {
		rc = check_text_block(r, i * t->block_strings, &unpacked_len, err);
		if (!rc && unpacked_len > RSYM_TEXTS_MAX)
			rc = err_set(err, ERR_DATA,
				     "damaged table: texts of more than %llu bytes unpacked",
				     (unsigned long long)RSYM_TEXTS_MAX);
	}
	rsym_text_reader_free(r);
	return rc;
}
