/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people read them in a table: what a demangler makes, in both styles, and damage. */
#include "rsym_shown.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "demangle.h"
#include "rsym_writer.h"

enum {
	COUNT = 100
};

static bool show(enum rsym_shown_style style, const void *name, size_t len, struct buf *out)
{
	return demangle_append(style == RSYM_SHOWN_FULL ? DEMANGLE_FULL : DEMANGLE_SHORT, name, len,
			       out);
}

/* Of which the short text is no part of the full one. */
static bool show_apart(enum rsym_shown_style style, const void *name, size_t len, struct buf *out)
{
	return buf_printf(out, style == RSYM_SHOWN_FULL ? "%.*s long" : "short %.*s", (int)len,
			  (const char *)name);
}

static void put_name(char *name, unsigned int i)
{
	static const char *const forms[][2] = {
		{"plain_", ""},
		{"_ZN5space4nameILi", "EEEiPKc"},
		{"_ZNK5space4name5thingILi", "EEEvv"},
		{"_RNvCs1234_7mycrate4f", ""},
	};
	size_t form = i % ARRAY_LEN(forms);

	snprintf(name, 64, "%s%03u%s", forms[form][0], i, forms[form][1]);
}

static void make_table(struct buf *out, rsym_show_fn fn)
{
	struct rsym_writer *w = rsym_writer_new(NULL);
	struct rsym_writer_info info = {.flags = RSYM_HAS_SYMBOLS, .show = fn};
	struct err err = {0};

	assert_non_null(w);
	for (unsigned int i = 0; i < COUNT; i++) {
		char name[64];
		uint32_t function;

		put_name(name, i);
		function = rsym_writer_function(
			w, &(struct rsym_writer_function){.name = name,
							  .name_len = strlen(name),
							  .vaddr = 0x1000 + 16 * i,
							  .file = RSYM_NONE,
							  .from_symbol = true,
							  .has_entry = true});
		rsym_writer_row(w, 0x1000 + 16 * i,
				rsym_writer_node(w, RSYM_NONE, function, RSYM_NONE, 0), RSYM_NONE,
				0);
	}
	assert_int_equal(rsym_writer_finish(w, &info, NULL, out, &err), 0);
	rsym_writer_free(w);
}

static void assert_shown(const struct rsym *t, rsym_show_fn fn)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		struct rsym_frame frame[RSYM_FRAMES_MAX];
		char name[64];

		put_name(name, i);
		assert_int_equal(rsym_lookup(t, 0x1000 + 16 * i + 3, frame, ARRAY_LEN(frame)), 1);
		for (enum rsym_shown_style style = 0; style <= RSYM_SHOWN_FULL; style++) {
			_cleanup_(buf_done) struct buf seen = BUF_INIT(1024);
			_cleanup_(buf_done) struct buf wanted = BUF_INIT(1024);

			/* It is appended. */
			buf_str(&seen, "before ");
			buf_str(&wanted, "before ");
			assert_true(fn(style, name, strlen(name), &wanted));
			assert_int_equal(
				rsym_shown(t, rsym_name_id(t, frame[0].function), style, &seen), 1);
			assert_string_equal(buf_cstr(&seen), buf_cstr(&wanted));
		}
	}
}

static void test_texts(void **state _unused_)
{
	static const rsym_show_fn fns[] = {show, show_apart};

	for (size_t i = 0; i < ARRAY_LEN(fns); i++) {
		_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
		_cleanup_(buf_done) struct buf small = BUF_INIT(10);
		struct err err = {0};
		struct rsym t;

		make_table(&out, fns[i]);
		assert_int_equal(rsym_open(&t, out.p, out.len, &err), 0);
		assert_true(rsym_has_shown(&t));
		assert_shown(&t, fns[i]);
		assert_int_equal(rsym_shown(&t, t.names.count, RSYM_SHOWN_FULL, &out), 0);
		assert_int_equal(rsym_shown(&t, 0, RSYM_SHOWN_FULL, &small), ERR_LIMIT);
	}
}

static void test_without(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	_cleanup_(buf_done) struct buf text = BUF_INIT(MIB);
	struct err err = {0};
	struct rsym t;

	make_table(&out, NULL);
	assert_int_equal(rsym_open(&t, out.p, out.len, &err), 0);
	assert_false(rsym_has_shown(&t));
	assert_int_equal(rsym_shown(&t, 0, RSYM_SHOWN_FULL, &text), 0);
}

/* Any byte of the section changed: it is refused, or answers something that is no longer than a
 * name may be. */
static void test_damage(void **state _unused_)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB);
	struct err err = {0};
	struct rsym t;
	uint8_t *section;
	unsigned int refused = 0;

	make_table(&out, show);
	assert_int_equal(rsym_open(&t, out.p, out.len, &err), 0);
	section = out.p + (t.shown.p - out.p);
	for (size_t at = 0; at < t.shown.len; at++) {
		static const uint8_t flips[] = {0x01, 0x80, 0xff};

		for (size_t f = 0; f < sizeof(flips); f++) {
			bool is_good;

			section[at] ^= flips[f];
			is_good = !rsym_shown_open(&t, &err) && !rsym_shown_check(&t, &err);
			refused += !is_good;
			for (uint32_t name = 0; name < t.names.count; name++) {
				_cleanup_(buf_done) struct buf text = BUF_INIT(LIMIT_NAME_LEN);
				int rc = rsym_shown(&t, name, RSYM_SHOWN_FULL, &text);

				rsym_shown_fetch_text(&t, name);
				assert_true(!is_good || rc == 1);
			}
			section[at] ^= flips[f];
		}
	}
	assert_true(refused > COUNT);
	t.shown.len = 7;
	assert_int_equal(rsym_shown_open(&t, &err), ERR_DATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
