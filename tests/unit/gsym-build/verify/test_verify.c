/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verification finds nothing in a good table and every fault in a bad one: the table of this
 * program is copied through the reader and the writer with one thing changed, 344 times (56 under a
 * sanitizer). The table has columns, discriminators, types and aliases.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io.h"
#include "limits.h"
#include "rsym_columns.h"
#include "rsym_format.h"
#include "rsym_function_alias.h"
#include "rsym_writer.h"
#include "sanitizer.h"
#include "table_make.h"
#include "verify.h"

/* A sanitizer looks for other faults and takes ten times as long: the first of them do. */
#define MUTATIONS_OF_A_KIND(kind) (UNDER_SANITIZER ? 4 : (kind) < COLUMN ? 40 : 16)
#define SEED                      20240607u

enum mutation {
	NOTHING,
	LINE,
	FILE_OF_LINE,
	PARENT,
	EDGE,
	NAME,
	COLUMN,
	DISCRIMINATOR,
	EDGE_OF_COLUMN,
	TYPE,
	NO_TYPE,
	ALIAS_LOST,
	ALIAS_NAME,
	ALIAS_ENTRY,
	ALIAS_MORE,
	KINDS,
};

static const char *const kind_names[KINDS] = {"nothing",
					      "line",
					      "file",
					      "parent",
					      "edge",
					      "name",
					      "column",
					      "discriminator",
					      "edge of a column",
					      "type",
					      "no type",
					      "alias lost",
					      "name of an alias",
					      "entry of an alias",
					      "alias more"};

/* Other names of functions, so that the table has aliases. */
#define ALIASED(name)                                                      \
	static __attribute__((noinline, used)) int name(int a)             \
	{                                                                  \
		return a + __LINE__;                                       \
	}                                                                  \
	static __attribute__((used, alias(#name))) int also_##name(int a); \
	static __attribute__((used, alias(#name))) int once_more_##name(int a)

ALIASED(first_of_four);
ALIASED(second_of_four);
ALIASED(third_of_four);
ALIASED(fourth_of_four);

static struct {
	uint8_t *p;
	size_t len;
	struct verify *verify;
	struct buf table;
	struct rsym t;
	struct rsym_reader *texts;
	/* Ids of the copy being written, by id; RSYM_NONE until asked. */
	uint32_t *function_copy, *file_copy;
	uint64_t *starts;  /* of ranges that have an answer */
	uint64_t *columns; /* where their columns or discriminators change, or the range begins */
	size_t count, cap, column_count, columns_cap;
	uint32_t typed; /* function whose signature is changed in the copy, or RSYM_NONE */
	enum mutation how_typed;
	uint64_t random;
} g;

/* xorshift64* */
static size_t draw(size_t below)
{
	g.random ^= g.random >> 12;
	g.random ^= g.random << 25;
	g.random ^= g.random >> 27;
	return (size_t)((g.random * UINT64_C(2685821657736338717)) >> 33) % below;
}

static int setup(void **state _unused_)
{
	_cleanup_(image_freep) struct image *im = NULL;
	struct table_source source = {.columns = true, .types = true};
	static const struct die_companions both = {.columns = true, .types = true};
	struct debug_report debug;
	struct build_report report;
	struct err err = {0};
	uint64_t at = 0, start, end;

	g.random = SEED;
	buf_init(&g.table, LIMIT_TABLE_LEN);
	assert_int_equal(io_read_file("/proc/self/exe", SIZE_MAX, &g.p, &g.len, &err), 0);
	source.p = g.p;
	source.len = g.len;
	assert_int_equal(build_id_set(&source.id, BUILD_ID_GNU, "self", 4, &err), 0);
	if (table_make(&source, &g.table, &report, &err))
		fail_msg("%s", err.message);
	assert_int_equal(rsym_open(&g.t, g.table.p, g.table.len, &err), 0);
	assert_int_equal(image_open(&im, g.p, g.len, &err), 0);
	if (verify_open(&g.verify, im, NULL, &both, &debug, &err))
		fail_msg("%s", err.message);
	g.texts = rsym_reader_new(&g.t, LIMIT_TABLE_LEN, &err);
	g.function_copy = calloc(g.t.function_count, sizeof(*g.function_copy));
	g.file_copy = calloc(g.t.file_count, sizeof(*g.file_copy));
	assert_true(g.texts && g.function_copy && g.file_copy);
	for (;; at = end) {
		if (rsym_range(&g.t, at, &start, &end)) {
			assert_true(GROW(g.starts, &g.cap, g.count + 1, SIZE_MAX));
			g.starts[g.count++] = start;
		}
		if (end <= at || end == UINT64_MAX)
			break;
	}
	assert_true(g.count > 1000);
	assert_true(g.t.alias_count >= 8);
	for (size_t i = 0; i < g.count; i++) {
		rsym_range(&g.t, g.starts[i], &start, &end);
		for (at = start; at < end; at = rsym_columns_end(&g.t, at)) {
			assert_true(GROW(g.columns, &g.columns_cap, g.column_count + 1, SIZE_MAX));
			g.columns[g.column_count++] = at;
		}
	}
	assert_true(g.column_count > g.count + 100);
	g.typed = RSYM_NONE;
	return 0;
}

static int teardown(void **state _unused_)
{
	verify_free(g.verify);
	rsym_reader_free(g.texts);
	free(g.function_copy);
	free(g.file_copy);
	buf_done(&g.table);
	free(g.p);
	free(g.starts);
	free(g.columns);
	return 0;
}

static uint32_t copy_file(struct rsym_writer *w, uint32_t file)
{
	const uint8_t *p;
	size_t len;

	if (file == RSYM_NONE)
		return RSYM_NONE;
	if (g.file_copy[file] == RSYM_NONE) {
		assert_int_equal(rsym_reader_file(g.texts, file, &p, &len, NULL), 0);
		g.file_copy[file] = rsym_writer_file(w, "", 0, p, len);
	}
	return g.file_copy[file];
}

static uint32_t add_function(struct rsym_writer *w, uint32_t function, bool rename)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(4 * LIMIT_NAME_LEN);
	_cleanup_(buf_done) struct buf type = BUF_INIT(2 * LIMIT_TYPE_LEN);
	struct rsym_function f;
	bool has_type;
	const uint8_t *p;
	size_t len;

	assert_int_equal(rsym_function(&g.t, function, &f, NULL), 0);
	assert_int_equal(rsym_reader_name(g.texts, function, &p, &len, NULL), 0);
	buf_append(&name, p, len);
	if (rename)
		buf_u8(&name, '_');
	has_type = rsym_reader_type(g.texts, function, &p, &len, NULL) > 0;
	if (has_type)
		buf_append(&type, p, len);
	if (function == g.typed && g.how_typed == TYPE)
		type.p[0] ^= 1;
	if (function == g.typed && g.how_typed == NO_TYPE)
		has_type = false;
	return rsym_writer_function(w, &(struct rsym_writer_function){
					       .name = name.p ? (const char *)name.p : "",
					       .name_len = name.len,
					       .vaddr = f.vaddr,
					       .file = copy_file(w, f.file),
					       .start_line = f.start_line,
					       .from_symbol = f.from_symbol,
					       .has_entry = f.has_entry,
					       .type = has_type ? type.p : NULL,
					       .type_len = type.len,
				       });
}

static uint32_t copy_function(struct rsym_writer *w, uint32_t function, bool rename)
{
	if (rename)
		return add_function(w, function, true);
	if (g.function_copy[function] == RSYM_NONE)
		g.function_copy[function] = add_function(w, function, false);
	return g.function_copy[function];
}

/* Whether a range can be changed that way. */
static bool can(uint64_t start, enum mutation kind)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	int count = rsym_lookup(&g.t, start, frames, ARRAY_LEN(frames));
	uint64_t first, end;

	if (kind == PARENT)
		return count > 1;
	if (kind == TYPE || kind == NO_TYPE) {
		_cleanup_(buf_done) struct buf type = BUF_INIT(2 * LIMIT_TYPE_LEN);

		return rsym_type(&g.t, frames[0].function, &type, NULL) > 0;
	}
	if (kind == EDGE_OF_COLUMN) {
		struct rsym_column before[RSYM_FRAMES_MAX], columns[RSYM_FRAMES_MAX];

		memset(before, 0, sizeof(before));
		memset(columns, 0, sizeof(columns));
		rsym_columns_at(&g.t, start - 1, before, (size_t)count);
		rsym_columns_at(&g.t, start, columns, (size_t)count);
		return rsym_columns_end(&g.t, start) - start > 1 &&
		       memcmp(before, columns, sizeof(columns)) != 0;
	}
	rsym_range(&g.t, start, &first, &end);
	return kind != EDGE || end - start > 1;
}

/* The columns and discriminators of the table, changed at one address. */
static void copy_columns(uint64_t where, enum mutation kind, struct buf *out)
{
	_cleanup_(rsym_columns_done) struct rsym_columns c;
	uint64_t last_end = 0;

	rsym_columns_init(&c);
	for (size_t i = 0; i < g.column_count; i++) {
		struct rsym_frame frames[RSYM_FRAMES_MAX];
		struct rsym_column columns[RSYM_FRAMES_MAX];
		uint64_t at = g.columns[i], start, end;
		int count = rsym_lookup(&g.t, at, frames, ARRAY_LEN(frames));
		uint32_t chain = 0;

		rsym_range(&g.t, at, &start, &end);
		if (last_end && last_end < at)
			rsym_columns_row(&c, last_end, 0);
		last_end = end;
		rsym_columns_at(&g.t, at, columns, (size_t)count);
		if (at == where && kind == COLUMN)
			columns[draw((size_t)count)].column ^= 1;
		if (at == where && kind == DISCRIMINATOR)
			columns[draw((size_t)count)].discriminator ^= 1;
		while (count--)
			chain = rsym_columns_chain(&c, chain,
						   debug_column_word(columns[count].column,
								     columns[count].discriminator));
		rsym_columns_row(&c, at + (at == where && kind == EDGE_OF_COLUMN), chain);
	}
	rsym_columns_row(&c, last_end, 0);
	rsym_columns_put(&c, out);
}

static void change(struct rsym_frame *frames, int *count, enum mutation kind)
{
	struct rsym_frame *f = &frames[draw((size_t)*count)];

	switch (kind) {
	case LINE:
		f->line += (uint32_t)(1 + draw(3));
		break;
	case FILE_OF_LINE:
		f->file = f->file == 0 ? 1 : f->file == RSYM_NONE ? 0 : f->file - 1;
		break;
	case PARENT: /* the call one level up is lost */
		for (int i = 1; i + 1 < *count; i++)
			frames[i] = frames[i + 1];
		--*count;
		break;
	default:
		break;
	}
}

static void copy_range(struct rsym_writer *w, uint64_t start, enum mutation kind)
{
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	int count = rsym_lookup(&g.t, start, frames, ARRAY_LEN(frames)), renamed;
	uint32_t node = RSYM_NONE;

	change(frames, &count, kind);
	renamed = kind == NAME ? (int)draw((size_t)count) : -1;
	for (int i = count; i-- > 0;)
		node = rsym_writer_node(w, node, copy_function(w, frames[i].function, i == renamed),
					i + 1 < count ? copy_file(w, frames[i + 1].file)
						      : RSYM_NONE,
					i + 1 < count ? frames[i + 1].line : 0);
	rsym_writer_row(w, start + (kind == EDGE), node, copy_file(w, frames[0].file),
			frames[0].line);
}

static void copy_aliases(struct rsym_writer *w, uint64_t where, enum mutation kind)
{
	for (uint32_t i = 0; i < g.t.alias_count; i++) {
		uint32_t function = rsym_function_alias_at(&g.t, i);
		bool changes = i == where && kind >= ALIAS_LOST;
		struct rsym_function f;
		const uint8_t *name;
		size_t len;

		assert_int_equal(rsym_function(&g.t, function, &f, NULL), 0);
		assert_int_equal(rsym_reader_name(g.texts, function, &name, &len, NULL), 0);
		if (!changes || kind == ALIAS_MORE)
			rsym_writer_function_alias(w, copy_function(w, function, false));
		if (!changes || kind == ALIAS_LOST)
			continue;
		if (kind != ALIAS_ENTRY) {
			rsym_writer_function_alias(w, copy_function(w, function, true));
			continue;
		}
		rsym_writer_function_alias(w,
					   rsym_writer_function(w, &(struct rsym_writer_function){
									   .name = name,
									   .name_len = len,
									   .vaddr = f.vaddr + 1,
									   .file = RSYM_NONE,
									   .from_symbol = true,
									   .has_entry = true,
								   }));
	}
}

/* The table again, with the range at `where` changed, or that alias. */
static void copy(uint64_t where, enum mutation kind, struct buf *out)
{
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	struct rsym_writer_info info = {.id = g.t.id, .flags = g.t.flags};
	struct err err = {0};
	uint64_t last_end = 0;

	assert_non_null(w);
	memset(g.function_copy, 0xff, g.t.function_count * sizeof(*g.function_copy));
	memset(g.file_copy, 0xff, g.t.file_count * sizeof(*g.file_copy));
	for (size_t i = 0; i < g.count; i++) {
		uint64_t start, end;

		rsym_range(&g.t, g.starts[i], &start, &end);
		if (last_end && start != last_end)
			rsym_writer_row(w, last_end, RSYM_NONE, RSYM_NONE, 0);
		copy_range(w, start, start == where && kind < ALIAS_LOST ? kind : NOTHING);
		last_end = end;
	}
	if (last_end != UINT64_MAX)
		rsym_writer_row(w, last_end, RSYM_NONE, RSYM_NONE, 0);
	copy_aliases(w, where, kind);
	copy_columns(where, kind, rsym_writer_optional(w, RSYM_SECTION_COLUMNS));
	if (rsym_writer_finish(w, &info, NULL, out, &err))
		fail_msg("%s", err.message);
}

static uint64_t count_differences(const struct buf *table, struct buf *out)
{
	struct verify_report report;
	struct err err = {0};
	struct rsym t;

	assert_int_equal(rsym_open(&t, table->p, table->len, &err), 0);
	if (verify_compare_table(g.verify, &t, &report, out, &err))
		fail_msg("%s", err.message);
	assert_true(report.range_count >= 1000);
	assert_true(report.place_count >= report.range_count);
	assert_true(report.alias_count >= g.t.alias_count);
	return report.difference_count;
}

static void test_good(void **state _unused_)
{
	_cleanup_(buf_done) struct buf copied = BUF_INIT(LIMIT_TABLE_LEN),
				       text = BUF_INIT(SIZE_MAX);

	assert_int_equal(count_differences(&g.table, &text), 0);
	copy(0, NOTHING, &copied);
	if (count_differences(&copied, &text))
		fail_msg("an unchanged copy differs: %s", buf_cstr(&text));
	assert_int_equal(text.len, 0);
}

static void test_mutations(void **state _unused_)
{
	for (int kind = LINE; kind < KINDS; kind++) {
		for (int i = 0; i < MUTATIONS_OF_A_KIND(kind); i++) {
			_cleanup_(buf_done) struct buf changed = BUF_INIT(LIMIT_TABLE_LEN);
			_cleanup_(buf_done) struct buf text = BUF_INIT(SIZE_MAX);
			uint64_t where;

			do
				where = kind >= ALIAS_LOST ? draw(g.t.alias_count)
					: kind == COLUMN || kind == DISCRIMINATOR ||
							kind == EDGE_OF_COLUMN
						? g.columns[draw(g.column_count)]
						: g.starts[draw(g.count)];
			while (kind < ALIAS_LOST && !can(where, (enum mutation)kind));
			if (kind == TYPE || kind == NO_TYPE) {
				struct rsym_frame frames[RSYM_FRAMES_MAX];

				rsym_lookup(&g.t, where, frames, ARRAY_LEN(frames));
				g.typed = frames[0].function;
				g.how_typed = (enum mutation)kind;
			}
			copy(where, (enum mutation)kind, &changed);
			if (!count_differences(&changed, &text))
				fail_msg("%s %d at 0x%llx: not found", kind_names[kind], i,
					 (unsigned long long)where);
			assert_non_null(strstr(buf_cstr(&text), "table:"));
			g.typed = RSYM_NONE;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
