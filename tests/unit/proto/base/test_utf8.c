/* SPDX-License-Identifier: Apache-2.0 */
/* Masking of what may not be shown on a terminal, wherever it stands in a text. */
#include "utf8.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
	TEXT = 27
};

/* The same, a character at a time. */
static void mask_slowly(char *s, size_t len)
{
	uint8_t *p = (uint8_t *)s;

	for (size_t at = 0, n; at < len; at += n) {
		n = utf8_shown(p + at, len - at);
		if (n)
			continue;
		n = utf8_sequence(p + at, len - at);
		n = n ? n : 1;
		memset(p + at, '?', n);
	}
}

static void assert_masked_alike(const char *text, size_t len)
{
	/* On the heap, so that a byte behind the text is noticed. */
	char *got = malloc(len ? len : 1), *want = malloc(len ? len : 1);

	assert_true(got && want);
	memcpy(got, text, len);
	memcpy(want, text, len);
	utf8_mask(got, len);
	mask_slowly(want, len);
	assert_memory_equal(got, want, len);
	free(got);
	free(want);
}

static void test_each_byte_at_each_place(void **state _unused_)
{
	for (size_t place = 0; place < TEXT; place++)
		for (unsigned int byte = 0; byte < 256; byte++) {
			char text[TEXT + 1] = "std::vector<T>::push_back()";

			text[place] = (char)byte;
			for (size_t len = place; len <= TEXT; len++)
				assert_masked_alike(text, len);
		}
}

static void test_characters_across_words(void **state _unused_)
{
	static const char *const characters[] = {"\xc3\xa9",     "\xe2\x82\xac", "\xf0\x9f\x98\x80",
						 "\xe2\x80\xae", "\xc2\x85",     "\xff\xfe\x20"};

	for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++)
		for (size_t place = 0; place + 4 < TEXT; place++) {
			char text[TEXT + 1] = "                           ";

			memcpy(text + place, characters[i], strlen(characters[i]));
			assert_masked_alike(text, TEXT);
		}
}

static void test_what_is_masked(void **state _unused_)
{
	char text[] = "operator new \x1b[31m \xc3\xa9 \x7f \xff";

	utf8_mask(text, sizeof(text) - 1);
	assert_string_equal(text, "operator new ?[31m \xc3\xa9 ? ?");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_byte_at_each_place),
		cmocka_unit_test(test_characters_across_words),
		cmocka_unit_test(test_what_is_masked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
