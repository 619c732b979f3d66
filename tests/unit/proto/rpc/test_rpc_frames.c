/* SPDX-License-Identifier: Apache-2.0 */
/* What clients do with frames of HTTP/2, however they are cut, is let through; floods are not. */
#include "rpc_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"

#define NS_PER_S UINT64_C(1000000000)

enum {
	DATA = 0,
	HEADERS = 1,
	RESET = 3,
	SETTINGS = 4,
	PING = 6,
	WINDOW = 8,
	CONTINUATION = 9,
	ACK = 1,
};

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct client {
	struct rpc_frames frames;
	uint64_t now_ns;
	size_t step; /* so many bytes are looked at together */
};

/* NULL, or what there was too much of. */
static const char *see(struct client *c, const void *p, size_t len)
{
	for (size_t at = 0; at < len; at += c->step) {
		size_t n = len - at < c->step ? len - at : c->step;
		const char *flood = rpc_frames_look(&c->frames, (const char *)p + at, n, c->now_ns);

		if (flood)
			return flood;
	}
	return NULL;
}

static const char *frame(struct client *c, uint8_t type, uint8_t flags, uint32_t len)
{
	static uint8_t bytes[9 + (1 << 17)];
	const uint8_t head[9] = {
		(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags, 0, 0, 0, 1};

	memcpy(bytes, head, sizeof(head));
	return see(c, bytes, sizeof(head) + len);
}

static struct client begun(size_t step)
{
	struct client c = {.now_ns = 1000 * NS_PER_S, .step = step};

	assert_null(see(&c, preface, sizeof(preface) - 1));
	assert_null(frame(&c, SETTINGS, 0, 18));
	return c;
}

/* Many calls one after another, with what belongs to them, in pieces of each size. */
static void test_calls(void **state _unused_)
{
	static const size_t steps[] = {1, 2, 7, 9, 10, 4096, SIZE_MAX / 2};

	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct client c = begun(steps[i]);

		assert_null(frame(&c, SETTINGS, ACK, 0));
		for (size_t n = 0; n < 20000; n++) {
			assert_null(frame(&c, HEADERS, 4, 60));
			assert_null(frame(&c, DATA, 0, 30));
			assert_null(frame(&c, DATA, 1, 0)); /* the end of a request */
			c.now_ns += NS_PER_S / LIMIT_WINDOW_UPDATES_1S;
			assert_null(frame(&c, WINDOW, 0, 4));
			assert_null(frame(&c, PING, ACK, 8));
		}
	}
}

/* Calls that are taken back: some at once, and a few all the time. */
static void test_resets(void **state _unused_)
{
	struct client c = begun(4096);
	size_t n;

	assert_null(frame(&c, SETTINGS, ACK, 0));
	for (n = 0; n < LIMIT_RESETS; n++) {
		assert_null(frame(&c, HEADERS, 4, 60));
		assert_null(frame(&c, RESET, 0, 4));
	}
	for (n = 0; n < 100; n++) {
		c.now_ns += NS_PER_S;
		for (size_t k = 0; k < LIMIT_RESETS_1S; k++)
			assert_null(frame(&c, RESET, 0, 4));
	}
	/* After a pause it is as at first. */
	c.now_ns += 3600 * NS_PER_S;
	for (n = 0; n < LIMIT_RESETS; n++)
		assert_null(frame(&c, RESET, 0, 4));
	assert_string_equal(frame(&c, RESET, 0, 4), "calls taken back");
}

/* Many connections that each take back less than one may: they are ended, and who takes back a few
 * is not. */
static void test_resets_of_all(void **state _unused_)
{
	size_t ended = 0, n;

	for (n = 0; n < 1000; n++) {
		struct client c = begun(4096);
		const char *flood = NULL;

		c.now_ns = 10000 * NS_PER_S;
		for (size_t k = 0; !flood && k < LIMIT_RESETS - 1; k++)
			flood = frame(&c, RESET, 0, 4);
		ended += flood != NULL;
	}
	assert_true(ended > n - 2 * LIMIT_RESETS_ALL / LIMIT_RESETS);
	for (n = 0; n < 100; n++) {
		struct client c = begun(4096);

		c.now_ns = 10000 * NS_PER_S;
		for (size_t k = 0; k < LIMIT_RESETS_EACH; k++)
			assert_null(frame(&c, RESET, 0, 4));
	}
}

static void test_unsettled(void **state _unused_)
{
	struct client c = begun(9);

	for (size_t n = 0; n < LIMIT_CONNECTION_CALLS; n++)
		assert_null(frame(&c, HEADERS, 4, 60));
	assert_non_null(frame(&c, HEADERS, 4, 60));
}

static void test_header_blocks(void **state _unused_)
{
	struct client c = begun(4096);
	size_t n;

	assert_null(frame(&c, SETTINGS, ACK, 0));
	for (n = 0; n < 1000; n++) {
		assert_null(frame(&c, HEADERS, 0, 16384));
		assert_null(frame(&c, CONTINUATION, 0, 100));
		assert_null(frame(&c, CONTINUATION, 4, 100));
	}
	assert_null(frame(&c, HEADERS, 0, 10));
	for (n = 0; n < 100 && !frame(&c, CONTINUATION, 0, 0); n++)
		;
	assert_true(n > 4 && n < 100);
	c = begun(4096);
	assert_string_equal(frame(&c, HEADERS, 4, 1 << 17), "bytes of headers");
}

static void test_pings_and_others(void **state _unused_)
{
	static const struct {
		uint8_t type, flags;
		uint32_t len;
		size_t may;
	} cases[] = {
		{PING, 0, 8, LIMIT_PINGS},
		{SETTINGS, 0, 6, LIMIT_RESETS - 1},
		{SETTINGS, ACK, 0, LIMIT_RESETS - 1},
		{DATA, 0, 0, LIMIT_RESETS},
		{2, 0, 5, LIMIT_RESETS},
		{WINDOW, 0, 4, LIMIT_WINDOW_UPDATES},
		{200, 0, 0, LIMIT_RESETS},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct client c = begun(4096);

		for (size_t n = 0; n < cases[i].may; n++)
			assert_null(frame(&c, cases[i].type, cases[i].flags, cases[i].len));
		assert_non_null(frame(&c, cases[i].type, cases[i].flags, cases[i].len));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),         cmocka_unit_test(test_resets),
		cmocka_unit_test(test_resets_of_all), cmocka_unit_test(test_unsettled),
		cmocka_unit_test(test_header_blocks), cmocka_unit_test(test_pings_and_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
