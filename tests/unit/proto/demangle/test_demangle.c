/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling of each language, and what must stay mangled. */
#include "demangle.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "demangle_bound.h"
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
	char name[LIMIT_DEMANGLE_IN + 100];
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t len;

	/* One identifier, as long as is allowed, and one byte longer. */
	memset(name, 'x', sizeof(name));
	memcpy(name, "_Z4090", 6);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, LIMIT_DEMANGLE_IN), "xxxx", 4);
	memcpy(name, "_Z4091", 6);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, LIMIT_DEMANGLE_IN + 1), "_Z4091", 6);
	/* f(int, int, ...): five times as long as its name */
	memset(name, 'i', sizeof(name));
	memcpy(name, "_Z1f", 4);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, 1000), "f(int, int", 10);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, LIMIT_DEMANGLE_IN), "_Z1fiii", 7);
	/* Each pair<S, S> refers twice to the one before it: 2^34 of text. */
	len = (size_t)snprintf(name, sizeof(name), "_Z1fSt4pairIiiE");
	for (int i = 0; i < 34; i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "S_IS%c_S%c_E", digits[i],
					digits[i]);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, len), "_Z1fSt4pair", 11);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, 15 + 12), "f(std::pair<int, int>, ", 23);
	/* Pointers to pointers, 4000 deep. */
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[4000] = 'i';
	assert_memory_equal(demangled(DEMANGLE_FULL, name, 4001), "_Z1fPP", 6);
	assert_memory_equal(demangled(DEMANGLE_FULL, "_ZN1S1fEi\0x", 11), "_ZN1S1fEi\0x", 11);
}

/* The name stays as it is, in each style. */
static void assert_stays(const char *name)
{
	for (enum demangle_style style = DEMANGLE_NONE; style <= DEMANGLE_FULL; style++)
		assert_string_equal(demangled(style, name, strlen(name)), name);
}

static size_t repeat(char *name, size_t len, const char *part, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++)
		len += (size_t)sprintf(name + len, "%s", part);
	return len;
}

/*
 * What would keep libiberty busy for years, each part twice as long as the one before it, or end
 * it by a signal. That this test ends is what it shows.
 */
static void test_work(void **state _unused_)
{
	char name[LIMIT_DEMANGLE_IN + 1];
	size_t len;

	/* Arguments of a conversion operator's parameter are parsed twice, at each level. */
	len = repeat(name, 0, "_ZN1AcvT_I", 1);
	len = repeat(name, len, "T_I", 60);
	len = repeat(name, len, "i", 1);
	len = repeat(name, len, "E", 61);
	repeat(name, len, "Ev", 1);
	assert_stays(name);
	/* A D function's parameters are tried as the rest of a name first. */
	repeat(name, 0, "_D", 1);
	repeat(name, 2, "1aFC", 60);
	assert_stays(name);
	/* for<'a, ...> with 62^8 lifetimes in what is not shown */
	assert_stays("_RNvMC1aFGzzzzzzzz_EuC1a1b");
	/* NULL is read where a lambda asks how long a pack is that it does not have. */
	assert_stays("_ZN1AUlDTsZT_EE_1fEv");
	/* Memory on the stack for each template and each reference: 300 times 600 of 16 bytes, four
	 * times. */
	len = repeat(name, 0, "_Z1fIiEv", 1);
	len = repeat(name, len, "RT_OT_", 300);
	repeat(name, len, "1aIiE", 300);
	assert_string_equal(demangled(DEMANGLE_FULL, name, strlen(name)), name);
}

static size_t put_base_62(char *name, size_t len, size_t n)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (n > 62)
		name[len++] = digits[(n - 1) / 62];
	if (n > 0)
		name[len++] = digits[(n - 1) % 62];
	name[len++] = '_';
	return len;
}

/* a::f<(..)>, each tuple of two that are both the one before it. */
static void put_doubled(char *name, unsigned int times)
{
	size_t len = (size_t)sprintf(name, "_RINvC1a1f"), last = len - 2, at;

	len += (size_t)sprintf(name + len, "TuuE");
	for (unsigned int i = 0; i < times; i++) {
		at = len - 2;
		len = repeat(name, len, "TB", 1);
		len = put_base_62(name, len, last);
		name[len++] = 'B';
		len = put_base_62(name, len, last);
		len = repeat(name, len, "E", 1);
		last = at;
	}
	repeat(name, len, "E", 1);
}

/*
 * What a name may cost grows with its length: short ones that repeat themselves stay as they are
 * long before LIMIT_DEMANGLE_OUT.
 */
static void test_work_by_length(void **state _unused_)
{
	char name[LIMIT_DEMANGLE_IN + 1];
	size_t len;

	put_doubled(name, 2);
	assert_string_equal(demangled(DEMANGLE_FULL, name, strlen(name)),
			    "a::f::<((), ()), (((), ()), ((), ())), "
			    "((((), ()), ((), ())), (((), ()), ((), ())))>");
	for (unsigned int times = 8; times < 20; times++) {
		put_doubled(name, times);
		assert_stays(name);
	}
	/* f(A<..>), of 7 doublings, and of 2 */
	len = repeat(name, 0, "_Z1f1AIiiE", 1);
	for (int i = 0; i < 7; i++)
		len += (size_t)sprintf(name + len, "S_IS%d_S%d_E", i, i);
	assert_memory_equal(demangled(DEMANGLE_FULL, name, len), "_Z1f1A", 6);
	len = (size_t)sprintf(name, "_Z1f1AIiiES_IS0_S0_ES_IS1_S1_E");
	assert_memory_equal(demangled(DEMANGLE_FULL, name, len), "f(A<int, int>, A<A<", 19);
}

/* What D tries in vain is read again with all that follows: where that is long, few tries cost as
 * much as many. */
static void test_work_of_d(void **state _unused_)
{
	char name[LIMIT_DEMANGLE_IN + 1];

	for (unsigned int tries = 0; tries < 20; tries++) {
		size_t len = repeat(name, 0, "_D", 1);

		len = repeat(name, len, "1aFC", tries);
		repeat(name, len, "1x", 1950);
		assert_int_equal(demangle_is_bounded(name, 0), tries <= 7);
		repeat(name, len, "1x", 4);
		assert_int_equal(demangle_is_bounded(name, 0), tries <= 8);
	}
}

/* Names like those, as compilers make them. */
static void test_work_of_real_names(void **state _unused_)
{
	static const struct {
		const char *name, *full;
	} rows[] = {
		{"_ZN1AcvT_IiEEv", "A::operator int<int>()"},
		{"_ZZ4mainENKUlT_E_clIiEEDaS_",
		 "auto main::{lambda(auto:1)#1}::operator()<int>(int) const"},
		{"_Z3sumIJiiiEEDTfrplfp_EDpT_",
		 "decltype (({parm#1}+...)) sum<int, int, int>(int, int, int)"},
		{"_RNvMNtC1b3cfgNtB2_3CFG11push_assign", "<b::cfg::CFG>::push_assign"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(demangled(DEMANGLE_FULL, rows[i].name, strlen(rows[i].name)),
				    rows[i].full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work),      cmocka_unit_test(test_work_by_length),
		cmocka_unit_test(test_work_of_d), cmocka_unit_test(test_work_of_real_names),
		cmocka_unit_test(test_styles),    cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
