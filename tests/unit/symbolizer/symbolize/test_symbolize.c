/* SPDX-License-Identifier: Apache-2.0 */
/* Batches answered from a store in memory, without a connection. */
#include "symbolize.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"
#include "location.h"
#include "rsym_code.h"
#include "rsym_format.h"
#include "rsym_writer.h"

enum {
	KIND_VADDR = RAWSTACK__V1__LOCATION_KIND__LOCATION_KIND_VADDR,
	FUNCTIONS = 3000, /* long names: together more than a reply may hold */
	NAME_LEN = 2000,
};

#define STATUS(name) RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_##name

static struct store *store;
static struct tables *tables;
static struct name_cache *names;
static struct build_id there, absent, lone;

/*
 * Function i stands at 0x1000 + 16 * i, line i + 1; the file begins at offset 0x100. The second
 * half of each is a call of "inner" at line 7. Function 1 has no line, function 2 is a symbol.
 * Functions 4 and 5 are the section that the only string of a request names. The table of a debug
 * file alone is the same, and has no segments.
 */
static void write_table(const struct build_id *id, bool has_segments, struct buf *out)
{
	struct rsym_writer_info info = {.id = *id, .flags = RSYM_HAS_DWARF | RSYM_HAS_SYMBOLS};
	struct rsym_writer_segment segment = {0x1000, 0x100000, 0x100, 0x100000, 5};
	struct rsym_code_section sections[] = {{".text", 5, 0x1000, 0x40},
					       {"jit::code", 9, 0x1040, 0x20}};
	struct rsym_writer_function inner = {.name = "inner", .name_len = 5, .file = RSYM_NONE};
	_cleanup_(rsym_writer_freep) struct rsym_writer *w = rsym_writer_new(NULL);
	uint32_t file = rsym_writer_file(w, "/src", 4, "a.c", 3);
	uint32_t callee = rsym_writer_function(w, &inner);
	char name[NAME_LEN + 1];
	struct err err;

	memset(name, 'x', sizeof(name));
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint64_t vaddr = 0x1000 + 16 * (uint64_t)i;
		struct rsym_writer_function f = {
			.name = name,
			.name_len = NAME_LEN,
			.vaddr = vaddr,
			.file = file,
			.has_entry = true,
			.from_symbol = i == 2,
		};
		uint32_t node;

		name[snprintf(name, 16, "f%u", i)] = '_';
		node = rsym_writer_node(w, RSYM_NONE, rsym_writer_function(w, &f), RSYM_NONE, 0);
		rsym_writer_row(w, vaddr, node, i == 2 ? RSYM_NONE : file,
				i == 1 || i == 2 ? 0 : i + 1);
		rsym_writer_row(w, vaddr + 8, rsym_writer_node(w, node, callee, file, 7), file, 3);
	}
	rsym_writer_row(w, 0x1000 + 16 * FUNCTIONS, RSYM_NONE, RSYM_NONE, 0);
	if (has_segments)
		rsym_writer_segment(w, &segment);
	rsym_code_put(rsym_writer_optional(w, RSYM_SECTION_CODE), sections, ARRAY_LEN(sections));
	if (rsym_writer_finish(w, &info, NULL, out, &err))
		fail_msg("%s", err.message);
}

static int put_table(const struct build_id *id, bool has_segments)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(64 << 20);
	struct store_binary b = {.status = STORE_READY, .changed_ns = 1, .id = *id};
	struct err err;

	write_table(id, has_segments, &out);
	b.table_len = out.len;
	return store_put(store, &b, out.p, &err);
}

static int setup(void **state _unused_)
{
	struct err err;
	struct kv *kv;

	assert_int_equal(build_id_parse(&there, "aabbccdd", &err), 0);
	assert_int_equal(build_id_parse(&absent, "00112233", &err), 0);
	assert_int_equal(build_id_parse(&lone, "10ae10ae", &err), 0);
	tables = tables_new(&err);
	names = name_cache_new(4 << 20, &err);
	return store_kv_open_memory(&kv, 64 << 20, &err) ||
	       store_open(&store, kv, 64 << 20, RSYM_MAJOR, &err) || put_table(&there, true) ||
	       put_table(&lone, false) || !tables || !names;
}

static int teardown(void **state _unused_)
{
	tables_free(tables);
	name_cache_free(names);
	store_close(store);
	return 0;
}

/* A batch under construction, of two modules and one string. */
struct request {
	Rawstack__V1__StackBatch batch;
	Rawstack__V1__Locations locations;
	Rawstack__V1__Module modules[2], *module_list[2];
	ProtobufCBinaryData strings[1];
	Rawstack__V1__LocationKind kind[FUNCTIONS * 2];
	uint32_t module[FUNCTIONS * 2], string[FUNCTIONS * 2];
	uint64_t address[FUNCTIONS * 2];
	Rawstack__V1__AddressMode mode[FUNCTIONS * 2];
};

static struct request *request_new(void)
{
	static char jit[] = "jit::code";
	struct request *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	rawstack__v1__stack_batch__init(&r->batch);
	rawstack__v1__locations__init(&r->locations);
	for (size_t i = 0; i < 2; i++) {
		struct build_id *id = i ? &absent : &there;

		rawstack__v1__module__init(&r->modules[i]);
		r->modules[i].build_id = (ProtobufCBinaryData){id->len, id->bytes};
		r->module_list[i] = &r->modules[i];
	}
	r->strings[0] = (ProtobufCBinaryData){9, (uint8_t *)jit};
	r->batch.modules = r->module_list;
	r->batch.n_modules = 2;
	r->batch.strings = r->strings;
	r->batch.n_strings = 1;
	r->batch.locations = &r->locations;
	r->locations.kind = r->kind;
	r->locations.module = r->module;
	r->locations.address = r->address;
	r->locations.mode = r->mode;
	r->locations.string = r->string;
	return r;
}

static void add(struct request *r, int kind, uint32_t module, uint64_t address, bool is_return)
{
	size_t i = r->locations.n_kind++;

	r->kind[i] = kind;
	r->module[i] = module;
	r->address[i] = address;
	r->mode[i] = is_return;
	r->locations.n_module = r->locations.n_address = r->locations.n_mode =
		r->locations.n_string = r->locations.n_kind;
}

static struct symbolize *answer(struct request *r)
{
	struct symbolize_env env = {.store = store, .tables = tables, .names = names, .now_ns = 5};
	struct symbolize *s;
	struct err err;

	s = symbolize_new(false, &err);
	assert_non_null(s);
	if (symbolize_run(s, &env, &r->batch, &err))
		fail_msg("%s", err.message);
	return s;
}

static void test_statuses(void **state _unused_)
{
	static const struct {
		int kind;
		uint32_t module;
		uint64_t address;
		bool is_return;
		int status;
		uint32_t frames, line;
		const char *name; /* begins with it; of the innermost frame */
	} rows[] = {
		{KIND_VADDR, 0, 0x1000, false, STATUS(RESOLVED), 1, 1, "f0_"},
		{KIND_VADDR, 0, 0x1000, false, STATUS(RESOLVED), 1, 1, "f0_"}, /* again */
		{KIND_VADDR, 0, 0x1008, false, STATUS(RESOLVED), 2, 3, "inner"},
		{KIND_VADDR, 0, 0x1008, true, STATUS(RESOLVED), 1, 1, "f0_"},
		/* What no call returns to, beside the byte before, which is in no function. */
		{KIND_VADDR, 0, 0x1000, true, STATUS(RESOLVED), 1, 1, "f0_"},
		{KIND_VADDR, 0, 0xfff, false, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{KIND_VADDR, 0, 0xfff, true, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{LOCATION_FILE_OFF, 0, 0x130, false, STATUS(RESOLVED), 1, 4, "f3_"},
		{LOCATION_FILE_OFF, 0, 0x131, true, STATUS(RESOLVED), 1, 4, "f3_"},
		{LOCATION_FILE_OFF, 0, 0, true, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{LOCATION_FILE_OFF, 0, 0xff, false, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{KIND_VADDR, 0, 0x1010, false, STATUS(NO_LINE), 1, 0, "f1_"},
		{KIND_VADDR, 0, 0x1020, false, STATUS(SYMBOL_ONLY), 1, 0, "f2_"},
		{KIND_VADDR, 0, UINT64_MAX, false, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{KIND_VADDR, 1, 0x1000, false, STATUS(UNKNOWN_MODULE), 0, 0, NULL},
		{LOCATION_KERNEL_TEXT, 0, 0, false, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{LOCATION_KERNEL_MODULE, 0, 0x10, false, STATUS(RESOLVED), 1, 6, "f5_"},
		{LOCATION_KERNEL_MODULE, 0, 0x11, true, STATUS(RESOLVED), 1, 6, "f5_"},
		{LOCATION_KERNEL_MODULE, 0, 0, true, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{LOCATION_KERNEL_MODULE, 0, 0x20, false, STATUS(NOT_IN_MODULE), 0, 0, NULL},
		{LOCATION_KERNEL_MODULE, 1, 0, false, STATUS(UNKNOWN_MODULE), 0, 0, NULL},
		{LOCATION_HOST_NAMED, 9, 0, false, STATUS(HOST_NAMED), 1, 0, "jit::code"},
		{LOCATION_UNRESOLVED, 9, 1, false, STATUS(UNRESOLVED), 0, 0, NULL},
		{LOCATION_NONE, 9, 1, false, STATUS(MALFORMED), 0, 0, NULL},
		{77, 9, 1, false, STATUS(MALFORMED), 0, 0, NULL},
	};
	_cleanup_(symbolize_freep) struct symbolize *s = NULL;
	struct request *r = request_new();
	const Rawstack__V1__SymbolizedBatch *reply;
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		add(r, rows[i].kind, rows[i].module, rows[i].address, rows[i].is_return);
	s = answer(r);
	reply = symbolize_reply(s);
	assert_int_equal(reply->n_status, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if ((int)reply->status[i] != rows[i].status ||
		    reply->frame_count[i] != rows[i].frames)
			fail_msg("row %zu: status %d, %u frames", i, (int)reply->status[i],
				 reply->frame_count[i]);
		if (rows[i].name) {
			uint32_t row = reply->frame_function[at];
			ProtobufCBinaryData name = reply->strings[reply->functions->name[row]];

			assert_memory_equal(name.data, rows[i].name, strlen(rows[i].name));
			assert_int_equal(reply->frame_line[at], rows[i].line);
		}
		at += reply->frame_count[i];
	}
	assert_int_equal(reply->n_frame_function, at);
	assert_int_equal(reply->deferred, 0);
	assert_int_equal(reply->modules[0]->status,
			 RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_READY);
	assert_int_equal(reply->modules[1]->status,
			 RAWSTACK__V1__MODULE_STATUS__MODULE_STATUS_MISSING);
	assert_int_not_equal(reply->modules[0]->generation, 0);
	assert_int_equal(reply->strings[0].len, 0);
	free(r);
}

static void check_name(const struct symbolize *s, size_t frame, size_t function)
{
	const Rawstack__V1__SymbolizedBatch *reply = symbolize_reply(s);
	ProtobufCBinaryData name =
		reply->strings[reply->functions->name[reply->frame_function[frame]]];
	char want[16];
	int len = snprintf(want, sizeof(want), "f%zu_", function);

	assert_int_equal(name.len, NAME_LEN);
	assert_memory_equal(name.data, want, (size_t)len);
	assert_int_equal(reply->frame_line[frame],
			 function == 1 || function == 2 ? 0 : function + 1);
}

/* More than a reply holds: what fits is answered, the rest is told, and asking on gets it all. With
 * details there are more texts than are prepared in advance. */
static void ask_for_all(bool details)
{
	struct request *r = request_new();
	size_t answered = 0, rounds = 0;

	r->batch.want_function_details = details;
	while (answered < FUNCTIONS) {
		_cleanup_(symbolize_freep) struct symbolize *s = NULL;
		const Rawstack__V1__SymbolizedBatch *reply;
		size_t count = 0;

		r->locations.n_kind = 0;
		for (size_t i = answered; i < FUNCTIONS; i++)
			add(r, KIND_VADDR, 0, 0x1000 + 16 * i, false);
		s = answer(r);
		reply = symbolize_reply(s);
		assert_true(rawstack__v1__symbolized_batch__get_packed_size(reply) <=
			    LIMIT_REPLY_LEN);
		while (count < reply->n_status && reply->status[count] != STATUS(DEFERRED))
			count++;
		assert_int_equal(reply->deferred, reply->n_status - count);
		for (size_t i = count; i < reply->n_status; i++)
			assert_int_equal(reply->status[i], STATUS(DEFERRED));
		assert_true(count > 0);
		for (size_t i = 0; i < count; i++)
			check_name(s, i, answered + i);
		answered += count;
		rounds++;
	}
	assert_int_equal(rounds, 2);
	free(r);
}

/* What tells that rows are of one function: an inlined one has no entry, and here no declaration.
 */
static void test_starts(void **state _unused_)
{
	struct request *r = request_new();
	_cleanup_(symbolize_freep) struct symbolize *s = NULL;
	const Rawstack__V1__SymbolizedBatch *reply;
	const Rawstack__V1__Functions *f;
	uint32_t inner, outer;

	r->batch.want_function_starts = true;
	add(r, KIND_VADDR, 0, 0x1000 + 8, false);
	s = answer(r);
	reply = symbolize_reply(s);
	f = reply->functions;
	assert_int_equal(reply->frame_count[0], 2);
	assert_int_equal(f->n_name, 2);
	assert_int_equal(f->n_linkage_name, 0);
	assert_int_equal(f->n_start_line, 0);
	assert_int_equal(f->n_start_file, 2);
	assert_int_equal(f->n_start_address, 2);
	inner = reply->frame_function[0];
	outer = reply->frame_function[1];
	assert_int_equal(f->start_address[inner], 0);
	assert_int_equal(f->start_file[inner], 0);
	assert_int_equal(f->start_address[outer], 0x1000);
	assert_int_equal(f->start_file[outer], f->file[outer]);
	assert_int_equal(reply->strings[f->start_file[outer]].len, 8);
	assert_memory_equal(reply->strings[f->start_file[outer]].data, "/src/a.c", 8);
	free(r);
}

static void test_deferred(void **state _unused_)
{
	ask_for_all(false);
	ask_for_all(true);
	ask_for_all(false); /* with names in the cache */
}

/* Addresses in any order, some of them twice: the same reply from fresh memory, from used memory,
 * and with names from the cache. */
static void test_again(void **state _unused_)
{
	struct symbolize_env env = {.store = store, .tables = tables, .now_ns = 5};
	_cleanup_(symbolize_freep) struct symbolize *s = NULL, *fresh = symbolize_new(false, NULL);
	struct request *r = request_new();
	uint8_t *packed[2];
	size_t len[2];

	for (size_t i = 0; i < 1000; i++)
		add(r, KIND_VADDR, 0, 0x1000 + 8 * (i * 7919 % 1200), i % 3 == 0);
	s = answer(r);
	if (symbolize_run(s, &env, &r->batch, NULL) || symbolize_run(fresh, &env, &r->batch, NULL))
		fail();
	for (size_t i = 0; i < 2; i++) {
		const Rawstack__V1__SymbolizedBatch *reply = symbolize_reply(i ? fresh : s);

		len[i] = rawstack__v1__symbolized_batch__get_packed_size(reply);
		packed[i] = malloc(len[i]);
		assert_non_null(packed[i]);
		rawstack__v1__symbolized_batch__pack(reply, packed[i]);
	}
	assert_int_equal(len[0], len[1]);
	assert_memory_equal(packed[0], packed[1], len[0]);
	free(packed[0]);
	free(packed[1]);
	free(r);
}

/* Each location has its own answer, whatever the order and however often it is asked for. */
static void test_order(void **state _unused_)
{
	_cleanup_(symbolize_freep) struct symbolize *s = NULL;
	struct request *r = request_new();

	for (size_t i = 0; i < 1000; i++)
		add(r, KIND_VADDR, 0, 0x1000 + 16 * (i * 7919 % 700), false);
	s = answer(r);
	assert_int_equal(symbolize_reply(s)->n_frame_function, 1000);
	assert_int_equal(symbolize_reply(s)->functions->n_name, 700);
	for (size_t i = 0; i < 1000; i++)
		check_name(s, i, i * 7919 % 700);
	free(r);
}

/* Of a chain, what was asked for. */
static void test_detail(void **state _unused_)
{
	static const struct {
		int detail;
		uint32_t frames, line; /* of the first */
		const char *name, *file;
	} rows[] = {
		{RAWSTACK__V1__DETAIL__DETAIL_NAMES, 1, 0, "f5_", ""},
		{RAWSTACK__V1__DETAIL__DETAIL_LINES, 1, 3, "f5_", "/src/a.c"},
		{RAWSTACK__V1__DETAIL__DETAIL_INLINES, 2, 3, "inner", "/src/a.c"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(symbolize_freep) struct symbolize *s = NULL;
		struct request *r = request_new();
		const Rawstack__V1__SymbolizedBatch *reply;
		const Rawstack__V1__Functions *f;
		ProtobufCBinaryData text;

		add(r, KIND_VADDR, 0, 0x1000 + 5 * 16 + 9, false);
		add(r, KIND_VADDR, 0, 0x1000 + 5 * 16 + 8, false);
		r->batch.detail = rows[i].detail;
		s = answer(r);
		reply = symbolize_reply(s);
		f = reply->functions;
		assert_int_equal(reply->n_frame_function, 2 * rows[i].frames);
		assert_int_equal(reply->frame_count[1], rows[i].frames);
		assert_int_equal(reply->frame_line[0], rows[i].line);
		text = reply->strings[f->name[reply->frame_function[0]]];
		assert_memory_equal(text.data, rows[i].name, strlen(rows[i].name));
		text = reply->strings[f->file[reply->frame_function[0]]];
		assert_int_equal(text.len, strlen(rows[i].file));
		assert_memory_equal(text.data, rows[i].file, text.len);
		free(r);
	}
}

/* What the host says of a file is for a table without segments, when it can be, and for who says
 * it. */
static void test_segments_of_host(void **state _unused_)
{
	/* At 0x500 of the file, where the table's own segment would be at 0x100: function 3 is at
	 * 0x530. The second one is far away. */
	static struct {
		struct build_id *id;
		size_t count;
		uint64_t file_off[2], vaddr[2], len[2];
		uint64_t address;
		int status;
		bool is_needed, is_from_host;
		const char *reason; /* in it */
	} rows[] = {
		{&lone, 0, {0}, {0}, {0}, 0x530, STATUS(NOT_IN_MODULE), true, false, "executable"},
		{&lone,
		 1,
		 {0x500},
		 {0x1000},
		 {0x100},
		 0x530,
		 STATUS(RESOLVED),
		 false,
		 true,
		 "host sent"},
		{&lone,
		 2,
		 {0x500, 0x900},
		 {0x1000, 0x400000},
		 {0x100, 1},
		 0x530,
		 STATUS(RESOLVED),
		 false,
		 true,
		 "host sent"},
		{&lone,
		 1,
		 {0x530},
		 {0x1030},
		 {1},
		 0x530,
		 STATUS(RESOLVED),
		 false,
		 true,
		 "host sent"},
		{&lone,
		 1,
		 {0x500},
		 {0x1000},
		 {0x30},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 false,
		 true,
		 ""},
		{&lone, 1, {0x531}, {0x1031}, {1}, 0x530, STATUS(NOT_IN_MODULE), false, true, ""},
		{&lone,
		 1,
		 {0x500},
		 {UINT64_MAX - 0x100},
		 {0x100},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 false,
		 true,
		 ""},
		{&lone,
		 1,
		 {0x500},
		 {0x1000},
		 {0},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 true,
		 false,
		 "empty"},
		{&lone,
		 1,
		 {0x500},
		 {UINT64_MAX},
		 {2},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 true,
		 false,
		 "2^64"},
		{&lone,
		 1,
		 {UINT64_MAX},
		 {0},
		 {2},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 true,
		 false,
		 "2^64"},
		{&lone,
		 2,
		 {0x500, 0x400},
		 {0x1000, 0},
		 {0x100, 1},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 true,
		 false,
		 "segment 1 begins"},
		{&lone,
		 2,
		 {0x500, 0x5ff},
		 {0x1000, 0},
		 {0x100, 1},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 true,
		 false,
		 "segment 1 overlaps"},
		{&lone,
		 2,
		 {0x500, 0x600},
		 {0x1000, 0x10ff},
		 {0x100, 1},
		 0x530,
		 STATUS(NOT_IN_MODULE),
		 true,
		 false,
		 "segment 1 overlaps"},
		/* The table has its own: those are not looked at. */
		{&there, 1, {0x100}, {0x1010}, {0x1000}, 0x130, STATUS(RESOLVED), false, false, ""},
		{&there, 1, {0x100}, {0}, {0}, 0x130, STATUS(RESOLVED), false, false, ""},
	};
	uint64_t plain = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(symbolize_freep) struct symbolize *s = NULL;
		struct request *r = request_new();
		const Rawstack__V1__SymbolizedBatch *reply;
		const Rawstack__V1__ModuleReply *m;
		char reason[300] = {0};

		r->modules[0].build_id = (ProtobufCBinaryData){rows[i].id->len, rows[i].id->bytes};
		r->modules[0].segment_file_off = rows[i].file_off;
		r->modules[0].segment_vaddr = rows[i].vaddr;
		r->modules[0].segment_len = rows[i].len;
		r->modules[0].n_segment_file_off = r->modules[0].n_segment_vaddr =
			r->modules[0].n_segment_len = rows[i].count;
		add(r, LOCATION_FILE_OFF, 0, rows[i].address, false);
		add(r, LOCATION_FILE_OFF, 0, rows[i].address + 1, true);
		add(r, KIND_VADDR, 0, 0x1030, false);
		s = answer(r);
		reply = symbolize_reply(s);
		m = reply->modules[0];
		assert_int_equal(reply->status[0], rows[i].status);
		assert_int_equal(reply->status[1], rows[i].status);
		assert_int_equal(reply->status[2], STATUS(RESOLVED));
		assert_int_equal(m->needs_executable, rows[i].is_needed);
		assert_int_equal(m->segments_from_host, rows[i].is_from_host);
		memcpy(reason, m->reason.data, m->reason.len);
		assert_non_null(strstr(reason, rows[i].reason));
		/* Answers that differ are not cached under one number. */
		plain = i ? plain : m->generation;
		if (rows[i].id == &lone)
			assert_int_equal(m->generation != plain, rows[i].is_from_host);
		if (rows[i].status == STATUS(RESOLVED)) {
			assert_int_equal(reply->frame_line[0], 4);
			assert_int_equal(reply->frame_line[1], 4);
		}
		free(r);
	}
}

/* Columns that do not fit together, and too many rows. */
static void test_segments_refused(void **state _unused_)
{
	static const size_t counts[][3] = {{1, 1, 0}, {0, 1, 1}, {1, 2, 1}, {9, 9, 9}};
	uint64_t values[9] = {0};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		_cleanup_(symbolize_freep) struct symbolize *s = symbolize_new(false, NULL);
		struct symbolize_env env = {.store = store, .tables = tables, .names = names};
		struct request *r = request_new();
		struct err err;

		r->modules[1].segment_file_off = r->modules[1].segment_vaddr =
			r->modules[1].segment_len = values;
		r->modules[1].n_segment_file_off = counts[i][0];
		r->modules[1].n_segment_vaddr = counts[i][1];
		r->modules[1].n_segment_len = counts[i][2];
		assert_int_equal(symbolize_run(s, &env, &r->batch, &err), ERR_DATA);
		assert_non_null(strstr(err.message, "modules[1].segment_"));
		free(r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_deferred),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_segments_of_host),
		cmocka_unit_test(test_segments_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
