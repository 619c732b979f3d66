/* SPDX-License-Identifier: Apache-2.0 */
/* Every byte of small tables in turn, every bit where rows and nodes are packed, with checksums
 * made good: an error, or answers within bounds, also for a reader that was told to trust the
 * bytes. A sanitizer sees what leaves them. */
#include "crc32c.h"
#include "rsym_format.h"
#include "rsym_lookup.h"
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

int main(void)
{
	struct CMUnitTest tests[2 * ARRAY_LEN(kinds) + 1] = {
		[2 * ARRAY_LEN(kinds)] = cmocka_unit_test(test_unused_places),
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
