/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling of each language, and what must stay mangled. */
#include "demangle.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "limits.h"

static const char *demangled(enum demangle_style style, const void *name, size_t len)
{
	static char text[LIMIT_DEMANGLE_OUT + LIMIT_NAME_LEN];
	_cleanup_(buf_done) struct buf out = BUF_INIT(sizeof(text) - 1);

	assert_true(demangle_append(style, name, len, &out));
	memcpy(text, buf_cstr(&out), out.len + 1);
	return text;
}

static void test_styles(void **state _unused_)
{
	static const struct {
		const char *name, *brief, *full;
	} rows[] = {
		{"main", "main", "main"},
		{"_ZN1S1fEi", "S::f", "S::f(int)"},
		{"_Z3maxIiET_S0_S0_", "max<int>", "int max<int>(int, int)"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
		 "core::fmt::Write::write_fmt"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
		{"_D3foo3barFZv", "foo.bar()", "foo.bar()"},
		{"_Zbroken", "_Zbroken", "_Zbroken"},
		{"_", "_", "_"},
		{"", "", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *name = rows[i].name;
		size_t len = strlen(name);

		assert_string_equal(demangled(DEMANGLE_NONE, name, len), name);
		assert_string_equal(demangled(DEMANGLE_SHORT, name, len), rows[i].brief);
		assert_string_equal(demangled(DEMANGLE_FULL, name, len), rows[i].full);
	}
}

/* Too long, exponential, too deep, or with a NUL: as it was. */
static void test_hostile(void **state _unused_)
{
	char name[LIMIT_DEMANGLE_IN + 2];
	size_t len = 0;

	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = 'i';
	assert_memory_equal(demangled(DEMANGLE_FULL, name, sizeof(name)), name, sizeof(name));
	/* Each std::pair<S, S> refers to the one before it twice: 2^n text from n bytes. */
	len = (size_t)snprintf(name, sizeof(name), "_Z1fSt4pairIiiE");
	for (int i = 0; i < 60; i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "St4pairIS%c_S%c_E",
					"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
					"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	demangled(DEMANGLE_FULL, name, len);
	assert_memory_equal(demangled(DEMANGLE_FULL, "_ZN1S1fEi\0x", 11), "_ZN1S1fEi\0x", 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
