/* SPDX-License-Identifier: Apache-2.0 */
/* Every byte of small tables in turn, every bit where rows and nodes are packed, with checksums
 * made good: an error, or answers within bounds, also for a reader that was told to trust the
 * bytes. A sanitizer sees what leaves them. */
#define ZSTD_STATIC_LINKING_ONLY /* for the frame format without magic number */
#include <zstd.h>

#include "crc32c.h"
#include "rsym_format.h"
#include "rsym_lookup.h"
#include "rsym_text.h"
#include "test_rsym_model.h"

/* One for each way blocks are packed, and one of several spans. */
static const struct model_kind kinds[] = {
	{"like C", 140, 5, 2, 1, 92, 20, 0, 0x1000, 300, true},
	{"like C++", 66, 9, 3, 6, 20, 12, 0, 0x1000, 60, false},
	{"far gaps", 40, 4, 2, 2, 40, 50, UINT64_C(1) << 38, 0x1000, 60, false},
};

static void seal(uint8_t *p, size_t len)
{
	struct rsym_disk_header h;
	uint8_t *at = p + sizeof(h);

	memcpy(&h, p, sizeof(h));
	for (uint32_t i = 0; i < h.section_count; i++, at += sizeof(struct rsym_disk_entry)) {
		struct rsym_disk_entry e;

		memcpy(&e, at, sizeof(e));
		if (e.off <= len && e.len <= len - e.off)
			e.crc = crc32c(0, p + e.off, e.len);
		memcpy(at, &e, sizeof(e));
	}
	h.directory_crc = crc32c(0, p + sizeof(h), (size_t)(at - p) - sizeof(h));
	h.header_crc = crc32c(0, &h, offsetof(struct rsym_disk_header, header_crc));
	memcpy(p, &h, sizeof(h));
}

/* Asks for every row; texts only of a table that was checked, for the time it takes. */
static void use(const struct rsym *t, const struct model *m, bool checked)
{
	const struct rsym_variant *variants[] = {rsym_variant_base(), rsym_variant_v3()};
	struct rsym_frame frames[4 * RSYM_FRAMES_MAX];
	uint64_t vaddrs[3], start, end;
	uint32_t ends[3];
	struct rsym_function f;

	for (size_t i = 0; i < m->row_count; i++) {
		int n = rsym_lookup(t, m->rows[i].vaddr, frames, ARRAY_LEN(frames));

		assert_in_range(n, 0, RSYM_FRAMES_MAX);
		for (int j = 0; j < n; j++)
			(void)rsym_function(t, frames[j].function, &f, NULL);
		if (checked)
			assert_int_equal(rsym_range(t, m->rows[i].vaddr, &start, &end), n > 0);
	}
	for (size_t v = 0; v < ARRAY_LEN(variants); v++) {
		for (size_t i = 0; variants[v] && i + 2 < m->row_count; i += 5) {
			for (size_t j = 0; j < 3; j++)
				vaddrs[j] = m->rows[i + (i % 2 ? j : 2 - j)].vaddr;
			assert_in_range(
				variants[v]->batch(t, vaddrs, 3, frames, ARRAY_LEN(frames), ends),
				1, 3);
			variants[v]->range(t, vaddrs[0], &start, &end);
		}
	}
}

static struct rsym_disk_entry section_of(const struct buf *table, uint32_t id)
{
	struct rsym_disk_entry e;

	memcpy(&e, table->p + sizeof(struct rsym_disk_header) + (id - 1) * sizeof(e), sizeof(e));
	assert_int_equal(e.id, id);
	return e;
}

static void test_each_bit(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	size_t end, packed_from, packed_to, refused = 0, tried = 0;
	struct model m;

	model_make(&m, *state, 1);
	model_write(&m, &out);
	packed_from = section_of(&out, RSYM_SECTION_SHAPE).off;
	packed_to = section_of(&out, RSYM_SECTION_ENTRIES).off;
	end = section_of(&out, RSYM_SECTION_SEGMENTS).off;
	for (size_t i = 0; i < end * 8; i++) {
		_cleanup_(freep) uint8_t *p = malloc(out.len);
		struct rsym t;

		assert_non_null(p);
		memcpy(p, out.p, out.len);
		p[i / 8] ^= (uint8_t)(1 << i % 8);
		/* The header's own count of sections decides what can be sealed. */
		if (i / 8 >= offsetof(struct rsym_disk_header, section_count) &&
		    i / 8 < offsetof(struct rsym_disk_header, id_kind))
			continue;
		if ((i / 8 < packed_from || i / 8 >= packed_to) && i % 8 != i / 8 % 8)
			continue;
		seal(p, out.len);
		tried++;
		if (rsym_open(&t, p, out.len, NULL))
			refused++;
		else
			use(&t, &m, true);
		if (!rsym_open_trusted(&t, p, out.len, NULL))
			use(&t, &m, false);
	}
	/* Lines, names and the like have many values that are right; structure has one. */
	assert_true(refused > tried / 10);
	model_done(&m);
}

/* Cut anywhere, and zeros or noise instead of a section. */
static void test_cut_and_noise(void **state)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct rsym t;
	struct model m;
	uint64_t rng = 9;

	model_make(&m, *state, 2);
	model_write(&m, &out);
	for (size_t len = 0; len < out.len; len += 31) {
		_cleanup_(freep) uint8_t *p = malloc(len + 1);

		assert_non_null(p);
		memcpy(p, out.p, len);
		assert_int_equal(rsym_open(&t, p, len, NULL), ERR_DATA);
	}
	for (size_t round = 0; round < 300; round++) {
		_cleanup_(freep) uint8_t *p = malloc(out.len);
		struct rsym_disk_entry e =
			section_of(&out, 1 + (uint32_t)round % RSYM_SECTION_SEGMENTS);

		assert_non_null(p);
		memcpy(p, out.p, out.len);
		for (size_t i = 0; i < e.len; i++)
			if (round % 3 == 0 || random_below(&rng, round % 3 == 1 ? 30 : 2) == 0)
				p[e.off + i] = round % 3 ? (uint8_t)random_next(&rng) : 0;
		seal(p, out.len);
		if (!rsym_open(&t, p, out.len, NULL))
			use(&t, &m, true);
		if (!rsym_open_trusted(&t, p, out.len, NULL))
			use(&t, &m, false);
	}
	model_done(&m);
}

/* A place of a leaf that no block has must say so, or a search would count it. */
static void test_unused_places(void **state _unused_)
{
	static const size_t arrays[] = {offsetof(struct rsym_disk_leaf, starts),
					offsetof(struct rsym_disk_leaf, ends)};
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct model m;

	model_make(&m, &kinds[1], 1);
	model_write(&m, &out);
	for (size_t i = 0; i < ARRAY_LEN(arrays); i++) {
		size_t at = section_of(&out, RSYM_SECTION_LEAVES).off + arrays[i] +
			    (RSYM_LEAF_BLOCKS - 1) * sizeof(uint16_t);
		struct rsym t;

		assert_memory_equal(out.p + at, "\xff\xff", 2);
		memset(out.p + at, 0, 2);
		seal(out.p, out.len);
		assert_int_equal(rsym_open(&t, out.p, out.len, NULL), ERR_DATA);
		memset(out.p + at, 0xff, 2);
	}
	seal(out.p, out.len);
	model_done(&m);
}

enum {
	STRINGS = 32,
	LONG = 65000, /* of the first string of a block; each other one is longer by a byte */
};

/* Appends a pool of such blocks: some 100 bytes each, of 65,000. `slack` bytes follow the strings.
 */
static void make_pool(uint32_t blocks, size_t length, size_t slack, struct buf *out)
{
	_cleanup_(buf_done) struct buf raw = BUF_INIT(LONG + 4096), packed = BUF_INIT(16 << 20);
	_cleanup_(freep) uint8_t *zstd = malloc(4096);
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t digits;

	assert_non_null(c);
	assert_non_null(zstd);
	ZSTD_CCtx_setParameter(c, ZSTD_c_format, ZSTD_f_zstd1_magicless);
	ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1);
	for (uint32_t i = 0; i < STRINGS; i++) {
		buf_uleb(&raw, i ? length + i - 1 : 0);
		buf_uleb(&raw, i ? 1 : length);
	}
	digits = raw.len;
	length += STRINGS - 1 + slack;
	memset(buf_extend(&raw, length), 'a', length);
	buf_u32(out, blocks * STRINGS);
	buf_u32(out, 0);
	buf_u32(out, (uint32_t)raw.len);
	buf_u32(out, STRINGS | 32 << 8);
	for (uint32_t i = 0; i < blocks; i++) {
		size_t len;

		for (int k = 0; k < 8; k++)
			raw.p[digits + (size_t)k] = (uint8_t)('a' + (i >> (28 - 4 * k) & 15));
		len = ZSTD_compress2(c, zstd, 4096, raw.p, raw.len);
		assert_false(ZSTD_isError(len));
		assert_true(buf_append(&packed, zstd, len));
		buf_u32(out, (uint32_t)packed.len);
	}
	assert_true(buf_append(out, packed.p, packed.len));
	buf_extend(out, RSYM_PAD);
	assert_false(out->failed);
	ZSTD_freeCCtx(c);
}

/* What a few bytes unpack to is bounded, whatever they claim to be. */
static void test_inflated_texts(void **state _unused_)
{
	_cleanup_(buf_done) struct buf pool = BUF_INIT(16 << 20);
	struct rsym_texts t;
	struct err err;

	make_pool(20, LONG, 0, &pool);
	assert_int_equal(rsym_texts_open(&t, pool.p, pool.len - RSYM_PAD, &err), 0);
	assert_int_equal(rsym_texts_check(&t, &err), 0);
	buf_reset(&pool);
	make_pool(20, LONG, 1, &pool);
	assert_int_equal(rsym_texts_open(&t, pool.p, pool.len - RSYM_PAD, &err), 0);
	assert_int_equal(rsym_texts_check(&t, &err), ERR_DATA);
	buf_reset(&pool);
	make_pool(RSYM_TEXTS_MAX / LONG + 1, LONG, 0, &pool);
	assert_int_equal(rsym_texts_open(&t, pool.p, pool.len - RSYM_PAD, &err), 0);
	assert_int_equal(rsym_texts_check(&t, &err), ERR_DATA);
	assert_non_null(strstr(err.message, "bytes unpacked"));
}

/* The longest of a block, the last, is as long as a name may be, or a byte longer. */
static void test_long_texts(void **state _unused_)
{
	for (size_t more = 0; more < 2; more++) {
		_cleanup_(buf_done) struct buf pool = BUF_INIT(16 << 20);
		struct rsym_texts t;
		struct err err;

		make_pool(2, LIMIT_NAME_LEN - STRINGS + 1 + more, 0, &pool);
		assert_int_equal(rsym_texts_open(&t, pool.p, pool.len - RSYM_PAD, &err), 0);
		assert_int_equal(rsym_texts_check(&t, &err), more ? ERR_DATA : 0);
	}
}

int main(void)
{
	struct CMUnitTest tests[2 * ARRAY_LEN(kinds) + 3] = {
		[2 * ARRAY_LEN(kinds)] = cmocka_unit_test(test_unused_places),
		[2 * ARRAY_LEN(kinds) + 1] = cmocka_unit_test(test_inflated_texts),
		[2 * ARRAY_LEN(kinds) + 2] = cmocka_unit_test(test_long_texts),
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		void *kind = (void *)(uintptr_t)&kinds[i];

		tests[2 * i] = (struct CMUnitTest){
			.name = kinds[i].name, .test_func = test_each_bit, .initial_state = kind};
		tests[2 * i + 1] = (struct CMUnitTest){.name = kinds[i].name,
						       .test_func = test_cut_and_noise,
						       .initial_state = kind};
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
