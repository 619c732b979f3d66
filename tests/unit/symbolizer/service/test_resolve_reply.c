/* SPDX-License-Identifier: Apache-2.0 */
/* The nested addresses that Resolve makes of columns, as a client reads them. */
#include "resolve_reply.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"

enum {
	FRAMES = 6,
	STRINGS = 6,
	LONG_LEN = 300,
	HUGE_LEN = LIMIT_REPLY_LEN / 2
};

#define STATUS(name) RAWSTACK__V1__LOCATION_STATUS__LOCATION_STATUS_##name

static struct arena arena = ARENA_INIT(64 << 20);
static uint8_t long_text[LONG_LEN], short_text[] = "main", odd_text[] = "_Z4main\x1b\xff";

/* Three functions: with everything, of the largest numbers, and with nothing. */
static ProtobufCBinaryData strings[STRINGS] = {
	{0, NULL},      {4, short_text},  {LONG_LEN, long_text},
	{10, odd_text}, {127, long_text}, {128, long_text},
};
static uint32_t names[] = {1, 4, 0}, linkage_names[] = {3, 5, 0}, files[] = {2, 1, 0};
static uint32_t start_lines[] = {127, UINT32_MAX, 0};
static uint64_t start_addresses[] = {0x1000, UINT64_MAX, 0};

static uint64_t addresses[] = {0x1001, 0, UINT64_MAX, 0x2000};
static Rawstack__V1__LocationStatus status[] = {STATUS(RESOLVED), STATUS(NOT_IN_MODULE),
						STATUS(SYMBOL_ONLY), STATUS(RESOLVED)};
static uint32_t frame_count[] = {3, 0, 1, 2};
static uint32_t frame_function[FRAMES] = {0, 1, 2, 1, 2, 0};
static uint32_t frame_line[FRAMES] = {1, 128, 0, UINT32_MAX, 16383, 16384};
static uint32_t frame_column[FRAMES] = {0, 127, 128, UINT32_MAX, 0, 1};

static void init_columns(Rawstack__V1__SymbolizedBatch *b, Rawstack__V1__Functions *f)
{
	rawstack__v1__symbolized_batch__init(b);
	rawstack__v1__functions__init(f);
	f->name = names;
	f->linkage_name = linkage_names;
	f->file = files;
	f->start_line = start_lines;
	f->start_address = start_addresses;
	f->n_name = f->n_linkage_name = f->n_file = f->n_start_line = f->n_start_address = 3;
	b->functions = f;
	b->strings = strings;
	b->n_strings = STRINGS;
	b->status = status;
	b->frame_count = frame_count;
	b->n_status = b->n_frame_count = 4;
	b->frame_function = frame_function;
	b->frame_line = frame_line;
	b->frame_column = frame_column;
	b->n_frame_function = b->n_frame_line = b->n_frame_column = FRAMES;
}

/* Returns the reply as it arrives, which the caller frees, and how many bytes it has. */
static Rawstack__V1__ResolveReply *send_reply(const Rawstack__V1__SymbolizedBatch *columns,
					      size_t count, bool as_text, size_t *ret_len)
{
	Rawstack__V1__ResolveRequest request;
	Rawstack__V1__ResolveReply reply, *got;
	uint8_t id[] = {1, 2, 3};
	uint8_t *packed;
	struct err err;

	rawstack__v1__resolve_request__init(&request);
	rawstack__v1__resolve_reply__init(&reply);
	request.addresses = addresses;
	request.n_addresses = count;
	request.want_text = as_text;
	reply.build_id = (ProtobufCBinaryData){sizeof(id), id};
	if (resolve_reply_fill(&reply, columns, &request, &arena, &err))
		fail_msg("%s", err.message);
	*ret_len = rawstack__v1__resolve_reply__get_packed_size(&reply);
	packed = malloc(*ret_len);
	assert_non_null(packed);
	assert_int_equal(rawstack__v1__resolve_reply__pack(&reply, packed), *ret_len);
	got = rawstack__v1__resolve_reply__unpack(NULL, *ret_len, packed);
	free(packed);
	arena_reset(&arena);
	assert_non_null(got);
	assert_int_equal(got->base.n_unknown_fields, 0);
	assert_int_equal(got->n_addresses, count);
	assert_int_equal(got->build_id.len, sizeof(id));
	return got;
}

static void assert_bytes(ProtobufCBinaryData got, ProtobufCBinaryData want)
{
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.data, want.data, want.len);
}

static void assert_numbers(const Rawstack__V1__Frame *f, size_t at, bool inlined)
{
	uint32_t row = frame_function[at];

	assert_int_equal(f->base.n_unknown_fields, 0);
	assert_int_equal(f->line, frame_line[at]);
	assert_int_equal(f->column, frame_column[at]);
	assert_int_equal(f->inlined, inlined);
	assert_int_equal(f->start_line, start_lines[row]);
	assert_true(f->start_address == start_addresses[row]);
}

static void test_bytes(void **state _unused_)
{
	Rawstack__V1__SymbolizedBatch columns;
	Rawstack__V1__Functions functions;
	Rawstack__V1__ResolveReply *got;
	size_t at = 0, len;

	init_columns(&columns, &functions);
	got = send_reply(&columns, 4, false, &len);
	for (size_t i = 0; i < 4; i++) {
		const Rawstack__V1__ResolvedAddress *a = got->addresses[i];

		assert_true(a->address == addresses[i]);
		assert_int_equal(a->status, status[i]);
		assert_int_equal(a->n_frames, frame_count[i]);
		for (size_t n = 0; n < a->n_frames; n++, at++) {
			const Rawstack__V1__Frame *f = a->frames[n];
			uint32_t row = frame_function[at];

			assert_numbers(f, at, n + 1 < a->n_frames);
			assert_bytes(f->function, strings[names[row]]);
			assert_bytes(f->linkage_name, strings[linkage_names[row]]);
			assert_bytes(f->file, strings[files[row]]);
			assert_string_equal(f->function_text, "");
		}
	}
	assert_int_equal(at, FRAMES);
	/* It is the form that protobuf-c gives to the same message. */
	assert_int_equal(rawstack__v1__resolve_reply__get_packed_size(got), len);
	rawstack__v1__resolve_reply__free_unpacked(got, NULL);
}

static void test_text(void **state _unused_)
{
	Rawstack__V1__SymbolizedBatch columns;
	Rawstack__V1__Functions functions;
	Rawstack__V1__ResolveReply *got;
	const Rawstack__V1__Frame *f;
	size_t len;

	init_columns(&columns, &functions);
	got = send_reply(&columns, 4, true, &len);
	f = got->addresses[0]->frames[0];
	assert_numbers(f, 0, true);
	assert_string_equal(f->function_text, "main");
	assert_string_equal(f->linkage_name_text, "_Z4main???");
	assert_int_equal(strlen(f->file_text), LONG_LEN);
	assert_int_equal(f->function.len + f->linkage_name.len + f->file.len, 0);
	assert_memory_equal(strings[3].data, "_Z4main\x1b\xff", 10); /* the columns stay */
	assert_int_equal(rawstack__v1__resolve_reply__get_packed_size(got), len);
	rawstack__v1__resolve_reply__free_unpacked(got, NULL);
	got = send_reply(&columns, 0, true, &len);
	rawstack__v1__resolve_reply__free_unpacked(got, NULL);
}

/* What does not fit is deferred from there on, even if something later would fit. */
static void test_full(void **state _unused_)
{
	uint8_t *huge = calloc(1, HUGE_LEN);
	ProtobufCBinaryData saved = strings[1];
	Rawstack__V1__SymbolizedBatch columns;
	Rawstack__V1__Functions functions;
	Rawstack__V1__ResolveReply *got;
	size_t len;

	assert_non_null(huge);
	memset(huge, 'x', HUGE_LEN);
	strings[1] = (ProtobufCBinaryData){HUGE_LEN, huge};
	init_columns(&columns, &functions);
	frame_count[0] = 1, frame_count[2] = 4, frame_count[3] = 1;
	got = send_reply(&columns, 4, false, &len);
	assert_true(len <= LIMIT_REPLY_LEN + 100);
	assert_int_equal(got->addresses[0]->status, STATUS(RESOLVED));
	assert_int_equal(got->addresses[0]->frames[0]->function.len, HUGE_LEN);
	assert_int_equal(got->addresses[1]->status, STATUS(NOT_IN_MODULE));
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(got->addresses[i]->status, STATUS(DEFERRED));
		assert_int_equal(got->addresses[i]->n_frames, 0);
		assert_true(got->addresses[i]->address == addresses[i]);
	}
	rawstack__v1__resolve_reply__free_unpacked(got, NULL);
	strings[1] = saved;
	free(huge);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_full),
	};
	int failed;

	memset(long_text, 'n', sizeof(long_text));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_done(&arena);
	return failed;
}
