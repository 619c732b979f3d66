/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed messages: whole ones, damaged ones, and those that inflate to more than there is room
 * for. */
#include "rpc_inflate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "limits.h"

#define TEXT_LEN ((size_t)100000)

/* zlib's windows of the two formats. */
static const int windows[] = {MAX_WBITS, MAX_WBITS + 16};

/* Compresses the text into a new buffer, which the caller frees. */
static uint8_t *compress_text(const uint8_t *text, size_t len, int window, size_t *ret_len)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)len};
	uint8_t *p = malloc(len + 1000);

	assert_non_null(p);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = p;
	z.avail_out = (uInt)len + 1000;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_len = z.total_out;
	deflateEnd(&z);
	return p;
}

static uint8_t *make_text(void)
{
	uint8_t *text = malloc(TEXT_LEN);

	assert_non_null(text);
	for (size_t i = 0; i < TEXT_LEN; i++)
		text[i] = (uint8_t)(i * i >> 7);
	return text;
}

static void test_whole(void **state _unused_)
{
	_cleanup_(freep) uint8_t *text = make_text();

	for (size_t w = 0; w < ARRAY_LEN(windows); w++) {
		for (size_t room = TEXT_LEN - 1; room <= TEXT_LEN + 1; room++) {
			_cleanup_(buf_done) struct buf out = BUF_INIT(room);
			size_t len;
			_cleanup_(freep) uint8_t *p =
				compress_text(text, TEXT_LEN, windows[w], &len);
			struct err err = {0};
			int rc = rpc_inflate(p, len, &out, &err);

			if (room < TEXT_LEN) {
				assert_int_equal(rc, ERR_LIMIT);
				assert_string_equal(err.message,
						    "inflates to more than 99999 bytes");
				continue;
			}
			assert_int_equal(rc, 0);
			assert_int_equal(out.len, TEXT_LEN);
			assert_memory_equal(out.p, text, TEXT_LEN);
		}
	}
}

/* Every beginning of the bytes is cut short, and what follows them is foreign. */
static void test_cut(void **state _unused_)
{
	_cleanup_(freep) uint8_t *text = make_text();

	for (size_t w = 0; w < ARRAY_LEN(windows); w++) {
		size_t len;
		_cleanup_(freep) uint8_t *p = compress_text(text, 500, windows[w], &len);

		for (size_t n = 0; n <= len + 1; n++) {
			_cleanup_(buf_done) struct buf out = BUF_INIT(TEXT_LEN);
			struct err err = {0};
			int rc = rpc_inflate(p, n, &out, &err);

			assert_int_equal(rc, n == len ? 0 : ERR_DATA);
			if (n < len)
				assert_non_null(strstr(err.message, "cut short"));
			if (n > len)
				assert_non_null(strstr(err.message, "followed by 1 more"));
		}
	}
}

/* A flipped bit is noticed, because both formats have a checksum; or it is one that means nothing,
 * as those that fill up the last byte. A header of gzip has a time and a system, too. */
static void test_damaged(void **state _unused_)
{
	_cleanup_(freep) uint8_t *text = make_text();

	for (size_t w = 0; w < ARRAY_LEN(windows); w++) {
		size_t len;
		_cleanup_(freep) uint8_t *p = compress_text(text, 500, windows[w], &len);

		for (size_t bit = (windows[w] > MAX_WBITS ? 10 : 0) * 8; bit < len * 8; bit++) {
			_cleanup_(buf_done) struct buf out = BUF_INIT(TEXT_LEN);
			struct err err = {0};

			p[bit / 8] ^= (uint8_t)(1 << bit % 8);
			if (!rpc_inflate(p, len, &out, &err)) {
				assert_int_equal(out.len, 500);
				assert_memory_equal(out.p, text, 500);
			}
			p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}

/* What does not fit costs no more memory than what does. */
static void test_bomb(void **state _unused_)
{
	const size_t bomb_len = 64 << 20;
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_MESSAGE_LEN);
	_cleanup_(freep) uint8_t *zeros = calloc(1, bomb_len);
	size_t len;
	_cleanup_(freep) uint8_t *p = compress_text(zeros, bomb_len, windows[1], &len);
	struct err err = {0};

	assert_true(len < 100000);
	assert_int_equal(rpc_inflate(p, len, &out, &err), ERR_LIMIT);
	assert_true(out.cap <= 2 * LIMIT_MESSAGE_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_bomb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
