/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of made-up programs give the program back, in each way there is to ask. */
#include "test_rsym_model.h"
#include "rsym_lookup.h"

static const struct model_kind kinds[] = {
	{"like C", 2000, 200, 20, 1, 90, 20, 0, 0x1000, 3000, true},
	{"like C++", 2000, 900, 60, 12, 30, 12, 0, 0x401000, 400, false},
	{"one address a row", 800, 20, 5, 3, 50, 1, 5000, 0, 100, false},
	{"wild lines", 1200, 100, 10, 4, 50, 30, 0, 0x1000, UINT32_MAX, false},
	{"wild lines that drift", 1200, 100, 10, 1, 95, 30, 0, 0x1000, UINT32_MAX, true},
	{"deep", 1200, 300, 30, LIMIT_INLINE_DEPTH, 5, 10, 0, 0xffffffff81000000, 1000, false},
	{"long gaps", 1600, 100, 10, 3, 40, 50, UINT64_C(3) << 30, 0x1000, 1000, false},
	{"gaps above 16 bits", 1600, 100, 10, 3, 40, 20, 70000, 0x1000, 1000, false},
	{"crowds", 1600, 30, 5, 0, 90, 1, 1 << 24, 0x1000, 1000, true},
	{"far gaps", 1200, 100, 10, 3, 40, 5, UINT64_C(1) << 40, 0x1000, 1000, false},
	{"a row a gap", 600, 50, 10, 2, 40, UINT32_MAX, UINT64_C(1) << 33, 5, 90, false},
	{"huge functions", 3200, 3, 2, 0, 99, 9, 0, 0x2000, 100000, true},
	{"many files", 2400, 5000, 4000, 5, 10, 9, 0, 0x2000, 5000, false},
	{"tiny", 3, 1, 1, 0, 0, 9, 0, 0x10, 9, false},
};

enum {
	SEEDS = 3,
	FEW_FRAMES = 3
};

struct opened {
	const struct model *m;
	struct rsym t;
	struct rsym_reader *reader;
};

static void check_text(const uint8_t *p, size_t len, const char *want)
{
	if (len != strlen(want) || (len && memcmp(p, want, len) != 0))
		fail_msg("'%.*s' instead of '%s'", (int)len, (const char *)p, want);
}

static void check_file(const struct opened *o, uint32_t got, uint32_t want)
{
	char text[64];
	const uint8_t *p;
	size_t len;

	assert_int_equal(got == RSYM_NONE, want == RSYM_NONE);
	if (want == RSYM_NONE)
		return;
	model_file_text(want, text);
	assert_int_equal(rsym_reader_file(o->reader, got, &p, &len, NULL), 0);
	check_text(p, len, text);
}

static void check_function(const struct opened *o, uint32_t got, const struct model_function *want)
{
	struct rsym_function f;
	const uint8_t *p;
	size_t len;

	assert_int_equal(rsym_reader_name(o->reader, got, &p, &len, NULL), 0);
	check_text(p, len, want->name);
	assert_int_equal(rsym_function(&o->t, got, &f, NULL), 0);
	assert_int_equal(f.vaddr, want->vaddr);
	assert_int_equal(f.start_line, want->line);
	assert_int_equal(f.has_entry, want->has_entry);
	assert_int_equal(f.from_symbol, want->from_symbol);
	check_file(o, f.file, want->file);
}

/* Frames of a row of the model, at most cap: those farther out but the last are left out. */
static void check_frames(const struct opened *o, const struct model_row *r,
			 const struct rsym_frame *frames, size_t n, size_t cap)
{
	uint32_t node = r->node, file = r->file, line = r->line;
	size_t i = 0;

	if (node == RSYM_NONE) {
		assert_int_equal(n, 0);
		return;
	}
	for (;; i++) {
		const struct model_node *m = &o->m->nodes[node];

		if (i + 1 < cap || m->parent == RSYM_NONE) {
			size_t at = i < cap ? i : cap - 1;

			assert_true(at < n);
			check_function(o, frames[at].function, &o->m->functions[m->function]);
			check_file(o, frames[at].file, file);
			assert_int_equal(frames[at].line, line);
			assert_int_equal(frames[at].column, 0);
		}
		if (m->parent == RSYM_NONE)
			break;
		file = m->call_file;
		line = m->call_line;
		node = m->parent;
	}
	assert_int_equal(n, i + 1 < cap ? i + 1 : cap);
}

static void check_address(const struct opened *o, const struct rsym_variant *v, uint64_t vaddr,
			  const struct model_row *r)
{
	static const struct model_row nothing = {.node = RSYM_NONE};
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	const struct model_row *last = o->m->rows + o->m->row_count - 1;
	uint64_t start, end;
	int n = v->lookup(&o->t, vaddr, frames, ARRAY_LEN(frames));

	check_frames(o, r ? r : &nothing, frames, (size_t)n, ARRAY_LEN(frames));
	n = v->lookup(&o->t, vaddr, frames, FEW_FRAMES);
	check_frames(o, r ? r : &nothing, frames, (size_t)n, FEW_FRAMES);
	assert_int_equal(v->range(&o->t, vaddr, &start, &end), r && r->node != RSYM_NONE);
	assert_int_equal(start, r ? r->vaddr : 0);
	assert_int_equal(end, !r ? o->m->rows->vaddr : r < last ? r[1].vaddr : UINT64_MAX);
}

static void check_all_rows(const struct opened *o, const struct rsym_variant *v)
{
	const struct model *m = o->m;

	if (m->rows->vaddr) {
		check_address(o, v, m->rows->vaddr - 1, NULL);
		check_address(o, v, 0, NULL);
	}
	for (size_t i = 0; i < m->row_count; i++) {
		const struct model_row *r = &m->rows[i];
		uint64_t end = i + 1 < m->row_count ? r[1].vaddr : UINT64_MAX;

		check_address(o, v, r->vaddr, r);
		check_address(o, v, end - 1, r);
		check_address(o, v, r->vaddr + (end - r->vaddr) / 2, r);
	}
	check_address(o, v, UINT64_MAX, &m->rows[m->row_count - 1]);
}

/* Addresses in one call give what each gives alone, whatever their order and however small the
 * room for frames. */
static void check_batch(const struct opened *o, const struct rsym_variant *v, bool sorted)
{
	enum {
		COUNT = 3000
	};
	static struct rsym_frame frames[COUNT * 4 + RSYM_FRAMES_MAX];
	static uint64_t vaddrs[COUNT];
	static uint32_t ends[COUNT];
	const struct model *m = o->m;
	uint64_t rng = 5;

	for (size_t i = 0; i < COUNT; i++) {
		size_t row = sorted ? i * m->row_count / COUNT : random_below(&rng, m->row_count);

		vaddrs[i] = m->rows[row].vaddr;
		if (random_below(&rng, 2) && row + 1 < m->row_count) /* ties and rises */
			vaddrs[i] += (m->rows[row + 1].vaddr - vaddrs[i]) / 2;
		if (sorted && i && vaddrs[i] < vaddrs[i - 1])
			vaddrs[i] = vaddrs[i - 1];
	}
	for (size_t i = 0; i < COUNT;) {
		size_t done =
			v->batch(&o->t, vaddrs + i, COUNT - i, frames, ARRAY_LEN(frames), ends);

		assert_true(done > 0);
		for (size_t j = 0; j < done; j++) {
			struct rsym_frame alone[RSYM_FRAMES_MAX];
			int n = v->lookup(&o->t, vaddrs[i + j], alone, ARRAY_LEN(alone));
			size_t from = j ? ends[j - 1] : 0;

			assert_int_equal(ends[j] - from, n);
			assert_memory_equal(frames + from, alone, (size_t)n * sizeof(*alone));
		}
		i += done;
	}
}

static void check_model(const struct model *m)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 28), again = BUF_INIT(1 << 28);
	const struct rsym_variant *variants[] = {rsym_variant_base(), rsym_variant_v3()};
	struct opened o = {.m = m};
	struct err err = {0};
	struct rsym trusted;

	model_write(m, &out);
	model_write(m, &again);
	assert_int_equal(out.len, again.len);
	assert_memory_equal(out.p, again.p, out.len);
	if (rsym_open(&o.t, out.p, out.len, &err))
		fail_msg("%s", err.message);
	assert_int_equal(o.t.range_count, m->row_count);
	assert_int_equal(rsym_open_trusted(&trusted, out.p, out.len, NULL), 0);
	assert_memory_equal(&trusted, &o.t, sizeof(trusted));
	o.reader = rsym_reader_new(&o.t, 1 << 20, NULL);
	assert_non_null(o.reader);
	for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
		if (!variants[i])
			continue;
		check_all_rows(&o, variants[i]);
		check_batch(&o, variants[i], true);
		check_batch(&o, variants[i], false);
	}
	rsym_reader_free(o.reader);
}

static void test_kind(void **state)
{
	const struct model_kind *kind = *state;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct model m;

		model_make(&m, kind, seed);
		if (m.row_count)
			check_model(&m);
		model_done(&m);
	}
}

/* A table without rows, and one whose only function has no code. */
static void test_empty(void **state _unused_)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct rsym_writer_info info = {0};
	struct rsym_frame frame;
	struct rsym_function f;
	struct rsym t;
	uint64_t start, end;

	rsym_writer_function(
		w, &(struct rsym_writer_function){.name = "f", .name_len = 1, .file = RSYM_NONE});
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), 0);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), 0);
	assert_int_equal(rsym_lookup(&t, 0, &frame, 1), 0);
	assert_int_equal(rsym_range(&t, 17, &start, &end), 0);
	assert_true(start == 0 && end == UINT64_MAX);
	assert_int_equal(rsym_function(&t, 0, &f, NULL), 0);
	assert_false(f.has_entry);
	assert_int_equal(f.file, RSYM_NONE);
}

/* Functions of one name share its number, others do not. */
static void test_name_ids(void **state _unused_)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(buf_done) struct buf out = BUF_INIT(1 << 20);
	struct rsym_writer_info info = {0};
	struct rsym t;

	for (uint32_t i = 0; i < 300; i++) {
		char name[8];
		struct rsym_writer_function f = {.name = name, .file = RSYM_NONE, .vaddr = i};

		f.name_len = (size_t)snprintf(name, sizeof(name), "f%03u", i / 3);
		f.has_entry = true;
		rsym_writer_function(w, &f);
	}
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &out, NULL), 0);
	assert_int_equal(rsym_open(&t, out.p, out.len, NULL), 0);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(rsym_name_id(&t, i), i / 3);
	assert_int_equal(rsym_name_id(&t, 300), RSYM_NONE);
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_LEN(kinds) + 2] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_name_ids),
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		tests[i + 2] = (struct CMUnitTest){
			.name = kinds[i].name,
			.test_func = test_kind,
			.initial_state = (void *)(uintptr_t)&kinds[i],
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
