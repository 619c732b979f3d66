/* SPDX-License-Identifier: Apache-2.0 */
/* The choices of the builder, one after the other: overlays, rows, units, symbols, kallsyms. */
#include "builder.h"
#include "kallsyms.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_interval_overlay(void **state _unused_)
{
	static const struct interval_span want[] = {
		{0, 10, 1, 0},  {10, 20, 2, 1}, {20, 30, 3, 2},
		{30, 40, 2, 1}, {40, 50, 1, 0}, {60, 70, 9, 4},
	};
	struct interval_overlay p = INTERVAL_OVERLAY_INIT(SIZE_MAX);

	assert_true(
		interval_overlay_add(&p, 0, 50, 1, 0) && interval_overlay_add(&p, 10, 40, 2, 1) &&
		interval_overlay_add(&p, 20, 30, 3, 2) && interval_overlay_add(&p, 25, 28, 0, 3) &&
		interval_overlay_add(&p, 60, 65, 9, 4) && interval_overlay_add(&p, 65, 70, 9, 4) &&
		interval_overlay_add(&p, 80, 80, 9, 5));
	assert_int_equal(interval_overlay_flatten(&p, NULL), 0);
	assert_int_equal(p.count, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_memory_equal(&p.spans[i], &want[i],
				    offsetof(struct interval_span, value) + 4);
	assert_int_equal(interval_overlay_find(&p, 9), 0);
	assert_int_equal(interval_overlay_find(&p, 10), 1);
	assert_int_equal(interval_overlay_find(&p, 50), 5);
	assert_int_equal(interval_overlay_find(&p, 70), 6);
	interval_overlay_done(&p);
}

static struct builder b;

static int set_up(void **state _unused_)
{
	builder_init(&b);
	return debug_file(&b.text, "/", 1, "a.c", 3) != 0; /* the file 0 of all rows */
}

static int tear_down(void **state _unused_)
{
	builder_done(&b);
	return 0;
}

static uint32_t text(const char *s)
{
	return debug_string(&b.text, s, strlen(s));
}

static struct debug_scope scope(const char *name, uint32_t parent, uint32_t call_line)
{
	return (struct debug_scope){
		.name = text(name),
		.parent = parent,
		.call_line = call_line,
		.call_file = DEBUG_NONE,
		.decl_file = DEBUG_NONE,
		.has_entry = parent == DEBUG_NONE,
	};
}

static void give(const struct debug_unit *u)
{
	struct debug_sink sink = builder_sink(&b);

	assert_int_equal(sink.unit(sink.ctx, u, NULL), 0);
}

static void add_symbol(const char *name, uint64_t vaddr, uint64_t len, enum symbol_binding binding)
{
	assert_true(symbols_add(&b.symbols, &(struct symbol){.vaddr = vaddr,
							     .len = len,
							     .name = text(name),
							     .name_len = (uint32_t)strlen(name),
							     .binding = binding,
							     .is_function = true,
							     .default_version = true}));
}

/* The finished table as text: "start:function<function:line ..." for each range, gaps as "-". */
static const char *answer(void)
{
	static char out[2000];
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(1 << 20);
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	struct rsym_writer_info info = {0};
	struct builder_counts counts;
	uint64_t start, end = 0;
	struct rsym t;
	size_t at = 0;

	assert_int_equal(symbols_choose(&b.symbols, &b.flat.code, NULL), 0);
	assert_int_equal(builder_write(&b, w, &counts, NULL), 0);
	assert_int_equal(rsym_writer_finish(w, &info, NULL, &bytes, NULL), 0);
	assert_int_equal(rsym_open(&t, bytes.p, bytes.len, NULL), 0);
	out[0] = 0;
	while (end != UINT64_MAX) {
		int n = rsym_lookup(&t, end, frames, ARRAY_LEN(frames));

		rsym_range(&t, end, &start, &end);
		if (!start)
			continue;
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%llx:%s",
				       (unsigned long long)start, n ? "" : "-");
		for (int i = 0; i < n; i++) {
			_cleanup_(buf_done) struct buf name = BUF_INIT(100);

			assert_int_equal(rsym_name(&t, frames[i].function, &name, NULL), 0);
			at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%s.%u", i ? "<" : "",
					       buf_cstr(&name), frames[i].line);
		}
		out[at++] = ' ';
		out[at] = 0;
	}
	return out;
}

/* Inner scopes over outer ones; the last row at an address; a row ends where its sequence does. */
static void test_unit(void **state _unused_)
{
	const struct debug_scope scopes[] = {scope("f", DEBUG_NONE, 0), scope("in", 0, 7),
					     scope("empty", 1, 9)};
	static const struct debug_span spans[] = {
		{0x1000, 0x1040, 0}, {0x1010, 0x1020, 1}, {0x3000, 0x3010, 0}, {0x3008, 0x3010, 1}};
	static const struct debug_row rows[] = {
		{0x1000, 0, 1, 0, false}, {0x1000, 0, 2, 0, false}, {0x1010, 0, 3, 0, false},
		{0x1018, 0, 0, 0, false}, {0x1030, 0, 0, 0, true},  {0x2ff0, 0, 8, 0, false},
		{0x3010, 0, 0, 0, true},
	};

	give(&(struct debug_unit){.scopes = scopes,
				  .scope_count = 3,
				  .spans = spans,
				  .span_count = 4,
				  .rows = rows,
				  .row_count = ARRAY_LEN(rows)});
	/* From 0x1030 on f has no line at all. Lines before 0x3000 have no function, and the unit
	 * does not claim them. */
	assert_string_equal(answer(),
			    "1000:f.2 1010:in.3<f.7 1018:in.0<f.7 1020:f.0 1030:f.0 1040:- "
			    "3000:f.8 3008:in.8<f.7 3010:- ");
}

/* Aliases in one unit: the last wins. Copies in two units: the first wins, with its lines. */
static void test_copies(void **state _unused_)
{
	const struct debug_scope aliases[] = {scope("memcpy", DEBUG_NONE, 0),
					      scope("memmove", DEBUG_NONE, 0)};
	const struct debug_scope other[] = {scope("copy", DEBUG_NONE, 0)};
	static const struct debug_span spans[] = {{0x1000, 0x1010, 0}, {0x1000, 0x1010, 1}};
	static const struct debug_row rows[] = {{0x1000, 0, 5, 0, false}, {0x1010, 0, 5, 0, true}};
	static const struct debug_span wider[] = {{0x1000, 0x1020, 0}};
	static const struct debug_row wrong[] = {{0x1000, 0, 66, 0, false},
						 {0x1020, 0, 66, 0, true}};

	give(&(struct debug_unit){.scopes = aliases,
				  .scope_count = 2,
				  .spans = spans,
				  .span_count = 2,
				  .rows = rows,
				  .row_count = 2});
	give(&(struct debug_unit){.scopes = other,
				  .scope_count = 1,
				  .spans = wider,
				  .span_count = 1,
				  .rows = wrong,
				  .row_count = 2});
	assert_string_equal(answer(), "1000:memmove.5 1010:copy.66 1020:- ");
}

/* Functions folded into one by the linker: each has a sequence there, in any order, and the lines
 * are those of the function that answers, wherever its sequence stands. */
static void test_folded(void **state _unused_)
{
	struct debug_scope scopes[] = {scope("first", DEBUG_NONE, 0), scope("last", DEBUG_NONE, 0)};
	static const struct debug_span spans[] = {{0x1000, 0x1010, 0}, {0x1000, 0x1010, 1}};
	/* The second sequence is nearest behind line 50; the others before it, and too far. */
	static const struct debug_row rows[] = {
		{0x1000, 0, 41, 0, false}, {0x1008, 0, 42, 0, false}, {0x1010, 0, 42, 0, true},
		{0x1000, 0, 51, 0, false}, {0x1008, 0, 52, 0, false}, {0x1010, 0, 52, 0, true},
		{0x1000, 0, 91, 0, false}, {0x1008, 0, 92, 0, false}, {0x1010, 0, 92, 0, true},
	};

	scopes[0].decl_file = scopes[1].decl_file = 0;
	scopes[0].decl_line = 40;
	scopes[1].decl_line = 50;
	give(&(struct debug_unit){.scopes = scopes,
				  .scope_count = 2,
				  .spans = spans,
				  .span_count = 2,
				  .rows = rows,
				  .row_count = ARRAY_LEN(rows)});
	assert_string_equal(answer(), "1000:last.51 1008:last.52 1010:- ");
}

/*
 * As gcc splits a function in DWARF 2: the call inlined into the cold half stands under the hot
 * one, before the cold half's own DIE. The innermost range has the address, whatever comes last.
 */
static void test_second_section(void **state _unused_)
{
	const struct debug_scope scopes[] = {
		scope("f", DEBUG_NONE, 0),      scope("hot", 0, 7),           scope("cold", 0, 8),
		scope("second", DEBUG_NONE, 0), scope("last", DEBUG_NONE, 0),
	};
	static const struct debug_span spans[] = {{0x1000, 0x1040, 0},
						  {0x1010, 0x1020, 1},
						  {0x1810, 0x1820, 2},
						  {0x1800, 0x1840, 3},
						  {0x1810, 0x1818, 4}};

	give(&(struct debug_unit){.scopes = scopes,
				  .scope_count = ARRAY_LEN(scopes),
				  .spans = spans,
				  .span_count = ARRAY_LEN(spans)});
	assert_string_equal(answer(), "1000:f.0 1010:hot.0<f.7 1020:f.0 1040:- 1800:second.0 "
				      "1810:last.0 1818:cold.0<f.8 1820:second.0 1840:- ");
}

/* Lines without a function: with the unit's claim nameless, with a symbol named, else nothing. */
static void test_orphans(void **state _unused_)
{
	static const struct debug_row rows[] = {{0x1000, 0, 5, 0, false}, {0x1040, 0, 5, 0, true}};
	static const struct debug_range claims[] = {{0x1000, 0x1010}};

	give(&(struct debug_unit){
		.rows = rows, .row_count = 2, .ranges = claims, .range_count = 1});
	add_symbol("s", 0x1008, 0x10, SYMBOL_GLOBAL);
	assert_string_equal(answer(), "1000:.5 1008:s.5 1018:- ");
}

/* What linkers leave of deleted code: at 0, and at the two highest addresses. */
static void test_tombstones(void **state _unused_)
{
	const struct debug_scope scopes[] = {scope("dead", DEBUG_NONE, 0),
					     scope("alive", DEBUG_NONE, 0)};
	static const struct debug_span spans[] = {{0, 0x100, 0},
						  {0x80, 0x90, 1},
						  {UINT64_MAX - 1, UINT64_MAX, 0},
						  {UINT32_MAX - 1, UINT32_MAX, 0}};
	static const struct debug_row rows[] = {{0, 0, 5, 0, false}, {0x100, 0, 5, 0, true}};

	give(&(struct debug_unit){.scopes = scopes,
				  .scope_count = 2,
				  .spans = spans,
				  .span_count = 4,
				  .rows = rows,
				  .row_count = 2});
	assert_string_equal(answer(), "80:alive.0 90:- ");
}

static void test_symbols(void **state _unused_)
{
	assert_true(interval_overlay_add(&b.flat.code, 0x1000, 0x2000, 0, 0));
	add_symbol("local", 0x1000, 0x10, SYMBOL_LOCAL);
	add_symbol("global_long", 0x1000, 0x10, SYMBOL_GLOBAL);
	add_symbol("global", 0x1000, 0x10, SYMBOL_GLOBAL);
	add_symbol("weak", 0x1000, 0x20, SYMBOL_WEAK);
	add_symbol("sizeless", 0x1008, 0, SYMBOL_GLOBAL); /* inside sized ones: not seen */
	add_symbol("label", 0x1100, 0, SYMBOL_LOCAL);
	add_symbol("next", 0x1180, 0, SYMBOL_LOCAL);
	add_symbol("inner", 0x1190, 8, SYMBOL_LOCAL);
	add_symbol("data", 0x5000, 8, SYMBOL_GLOBAL);
	assert_string_equal(answer(), "1000:global.0 1010:weak.0 1020:sizeless.0 1100:label.0 "
				      "1180:next.0 1190:inner.0 1198:- ");
}

static void test_kallsyms(void **state _unused_)
{
	static const char good[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T startup_64\n"
				   "ffffffff81000040 t helper\n"
				   "ffffffff81000060 D data\n"
				   "ffffffff81000100 W last\n"
				   "ffffffffc0000000 t mod_fn\t[mod]\n";
	uint64_t base = 0;

	assert_true(kallsyms_detect(good, strlen(good)));
	assert_false(kallsyms_detect("\x7f"
				     "ELF",
				     4));
	assert_int_equal(kallsyms_read(good, strlen(good), &b.text, &b.symbols, &base, NULL), 0);
	assert_true(base == 0xffffffff81000000);
	assert_string_equal(answer(), "ffffffff81000000:_text.0 ffffffff81000040:helper.0 "
				      "ffffffff81000060:- ffffffff81000100:last.0 "
				      "ffffffff81000101:- ");
}

static void test_kallsyms_bad(void **state _unused_)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
		{"ffffffff81000000 T other\n", ERR_DATA},
		{"ffffffff81000000 T _text\nhello\n", ERR_DATA},
		{"ffffffff81000000 T _text\nffffffff81000001 T \n", ERR_DATA},
		{"0000000000000000 T _text\n0000000000000000 T x\n", ERR_DENIED},
		{"", ERR_DATA},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct symbols s = SYMBOLS_INIT;
		uint64_t base;

		assert_int_equal(
			kallsyms_read(rows[i].text, strlen(rows[i].text), &b.text, &s, &base, NULL),
			rows[i].want);
		symbols_done(&s);
	}
}

#define BUILDER_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval_overlay),
		BUILDER_TEST(test_unit),
		BUILDER_TEST(test_copies),
		BUILDER_TEST(test_orphans),
		BUILDER_TEST(test_second_section),
		BUILDER_TEST(test_tombstones),
		BUILDER_TEST(test_symbols),
		BUILDER_TEST(test_kallsyms),
		BUILDER_TEST(test_kallsyms_bad),
		BUILDER_TEST(test_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
