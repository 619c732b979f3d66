/* SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY  /* for the frame format without magic number */
#define ZDICT_STATIC_LINKING_ONLY /* for the parameters of a dictionary */
#include "rsym_text_writer.h"

#include <zdict.h>
#include <zstd.h>

#include "limits.h"
#include "rsym_bits.h"
#include "rsym_format.h"
#include "rsym_text.h"

enum {
	/* Level 19 and a search for the best parameters cost a fifth of a large build, and gave 2 %
	 * more bytes with one table and 3 % less with another; level 12 cost a thirtieth, for 1 %
	 * less at most. */
	LEVEL = 5,
	LEVEL_QUICK = 1,
	DICTIONARY_MAX = 110 << 10,
	DICTIONARY_SHARE = 12, /* the dictionary has at most 1/12 of the front-coded bytes */
	DICTIONARY_MIN = 1 << 10,
	/* Parameters of the training: the length of a piece of a mangled name, and a hash table
	 * large enough for all pieces. In a large text, one piece in SKIP_IN_MUCH is used. */
	PIECE = 100,
	TABLE_BITS = 20,
	MUCH_TEXT = 512 << 10,
	SKIP_IN_MUCH = 5,
};

struct packer {
	struct buf raw;  /* all blocks, front-coded */
	struct buf lens; /* lengths of the blocks in raw: size_t */
	struct buf dictionary;
	struct buf packed, ends;
	ZSTD_CCtx *zstd;
	ZSTD_CDict *digested;
	uint32_t block_max;
};

static void packer_done(struct packer *p)
{
	buf_done(&p->raw);
	buf_done(&p->lens);
	buf_done(&p->dictionary);
	buf_done(&p->packed);
	buf_done(&p->ends);
	ZSTD_freeCCtx(p->zstd);
	ZSTD_freeCDict(p->digested);
}

static size_t shared_len(const struct rsym_string *a, const struct rsym_string *b)
{
	size_t max = a->len < b->len ? a->len : b->len, n = 0;

	while (n < max && a->p[n] == b->p[n])
		n++;
	return n;
}

/* Writes one block: for each string, the number of bytes shared with the one before and of those
 * added, as two LEB128; then all added bytes. */
static void front_code(const struct rsym_string *s, uint32_t count, struct buf *out)
{
	for (uint32_t i = 0; i < count; i++) {
		size_t shared = i ? shared_len(&s[i - 1], &s[i]) : 0;

		buf_uleb(out, shared);
		buf_uleb(out, s[i].len - shared);
	}
	for (uint32_t i = 0; i < count; i++) {
		size_t shared = i ? shared_len(&s[i - 1], &s[i]) : 0;

		buf_append(out, s[i].p + shared, s[i].len - shared);
	}
}

static int front_code_all(struct packer *p, const struct rsym_string *s, uint32_t count,
			  unsigned int block_strings, struct err *err)
{
	for (uint32_t i = 0; i < count; i += block_strings) {
		uint32_t n = count - i < block_strings ? count - i : block_strings;
		size_t before = p->raw.len, len;

		front_code(s + i, n, &p->raw);
		len = p->raw.len - before;
		if (len > RSYM_TEXT_BLOCK_MAX)
			return err_set(err, ERR_LIMIT, "%u names of %zu bytes in sum", n, len);
		if (len > p->block_max)
			p->block_max = (uint32_t)len;
		buf_append(&p->lens, &len, sizeof(len));
	}
	if (p->raw.failed || p->lens.failed)
		return err_no_memory(err);
	return 0;
}

/* Trains the dictionary. There is none for few or unusual strings, which is not an error. */
static void train_dictionary(struct packer *p)
{
	ZDICT_fastCover_params_t how = {
		.k = PIECE,
		.d = 8,
		.f = TABLE_BITS,
		.accel = p->raw.len < MUCH_TEXT ? 1 : SKIP_IN_MUCH,
		.zParams = {.compressionLevel = LEVEL},
	};
	size_t want = p->raw.len / DICTIONARY_SHARE, len;
	uint8_t *to;

	if (want > DICTIONARY_MAX)
		want = DICTIONARY_MAX;
	if (want < DICTIONARY_MIN)
		return;
	to = buf_extend(&p->dictionary, want);
	if (!to)
		return;
	len = ZDICT_trainFromBuffer_fastCover(to, want, p->raw.p,
					      (const size_t *)(const void *)p->lens.p,
					      (unsigned int)(p->lens.len / sizeof(size_t)), how);
	p->dictionary.len = ZDICT_isError(len) ? 0 : len;
}

static int compress_block(struct packer *p, int level, struct err *err)
{
	const size_t *lens = (const size_t *)(const void *)p->lens.p;
	size_t block_count = p->lens.len / sizeof(*lens), from = 0;

	p->zstd = ZSTD_createCCtx();
	if (p->dictionary.len)
		p->digested = ZSTD_createCDict(p->dictionary.p, p->dictionary.len, level);
	if (!p->zstd || (p->dictionary.len && !p->digested))
		return err_no_memory(err);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_format, ZSTD_f_zstd1_magicless);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_dictIDFlag, 0);
	ZSTD_CCtx_refCDict(p->zstd, p->digested);
	for (size_t i = 0; i < block_count; from += lens[i++]) {
		size_t room = ZSTD_compressBound(lens[i]), before = p->packed.len, len;
		uint8_t *to = buf_extend(&p->packed, room);

		if (!to)
			return err_no_memory(err);
		len = ZSTD_compress2(p->zstd, to, room, p->raw.p + from, lens[i]);
		if (ZSTD_isError(len))
			return err_set(err, ERR_INTERNAL, "zstd: %s", ZSTD_getErrorName(len));
		p->packed.len = before + len;
		buf_u64(&p->ends, p->packed.len);
	}
	return 0;
}

int rsym_text_write(const struct rsym_string *strings, uint32_t count, unsigned int block_strings,
		    bool quick, struct buf *out, struct err *err)
{
	_cleanup_(packer_done) struct packer p = {
		.raw = BUF_INIT(RSYM_TEXTS_MAX),
		.lens = BUF_INIT(LIMIT_TABLE_LEN),
		.dictionary = BUF_INIT(DICTIONARY_MAX),
		.packed = BUF_INIT(LIMIT_TABLE_LEN),
		.ends = BUF_INIT(LIMIT_TABLE_LEN),
	};
	struct rsym_disk_texts head = {.count = count, .block_strings = (uint8_t)block_strings};
	struct bits_out bits = {.out = out};

	TRY(front_code_all(&p, strings, count, block_strings, err));
	if (!quick)
		train_dictionary(&p);
	TRY(compress_block(&p, quick ? LEVEL_QUICK : LEVEL, err));
	head.dictionary_len = (uint32_t)p.dictionary.len;
	head.block_max = p.block_max;
	head.end_bits = (uint8_t)bits_len(p.packed.len);
	buf_append(out, &head, sizeof(head));
	for (size_t i = 0; i < p.ends.len; i += sizeof(uint64_t))
		bits_put(&bits, rsym_load64(p.ends.p + i), head.end_bits);
	bits_flush(&bits);
	buf_append(out, p.dictionary.p, p.dictionary.len);
	buf_append(out, p.packed.p, p.packed.len);
	return 0;
}
