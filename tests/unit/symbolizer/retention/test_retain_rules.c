/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of retention as text. */
#include "retain_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DAY_NS (UINT64_C(86400) * 1000000000)

static void test_read(void **state _unused_)
{
	struct retain_rules rules = {.count = 0};
	struct err err;

	assert_int_equal(
		retain_rules_add(&rules, "retain",
				 " age 90d, unused  12h label env=dev label os=,count 5000 ", &err),
		0);
	assert_int_equal(retain_rules_add(&rules, "retain", "releases 10 name nginx", &err), 0);
	assert_int_equal(retain_rules_add(&rules, "retain", "forever label keep=a=b", &err), 0);
	assert_int_equal(rules.count, 5);
	assert_int_equal(rules.list[0].bound, RETAIN_AGE);
	assert_int_equal(rules.list[0].limit, 90 * DAY_NS);
	assert_string_equal(rules.list[0].text, "age 90d");
	assert_int_equal(rules.list[1].bound, RETAIN_UNUSED);
	assert_int_equal(rules.list[1].limit, DAY_NS / 2);
	assert_int_equal(rules.list[1].label_count, 2);
	assert_string_equal(rules.list[1].text, "unused  12h label env=dev label os=");
	assert_int_equal(rules.list[2].limit, 5000);
	assert_string_equal(rules.list[2].text, "count 5000");
	assert_int_equal(rules.list[3].bound, RETAIN_RELEASES);
	assert_string_equal(rules.list[3].words + rules.list[3].name, "nginx");
	assert_string_equal(rules.list[4].words + rules.list[4].labels[0].value, "a=b");
}

static void test_refused(void **state _unused_)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "retain: an empty rule"},
		{"age 90d,", "retain: an empty rule"},
		{"old 90d", "retain: old: a rule begins with age, unused, count, releases or "
			    "forever"},
		{"age", "retain: age needs a time such as 90d behind it"},
		{"age 90", "retain: age 90 is not a time such as 90d (s, m, h, d or w, at most 100 "
			   "years)"},
		{"age 0d", "retain: age 0d is not a time such as 90d (s, m, h, d or w, at most 100 "
			   "years)"},
		{"age -1d", "retain: age -1d is not a time"},
		{"age 1dd", "retain: age 1dd is not a time"},
		{"age 99999999d", "retain: age 99999999d is not a time"},
		{"unused 18446744073709551616s", "retain: unused 18446744073709551616s is not a "},
		{"count 0", "retain: count 0 is not a number from 1 to 1000000000"},
		{"count", "retain: count needs a number behind it"},
		{"releases 101", "retain: releases 101 is not a number from 1 to 100"},
		{"count 5 labels a=b",
		 "retain: labels: only label KEY=VALUE and name NAME narrow "},
		{"count 5 label", "retain: label needs a KEY=VALUE behind it"},
		{"count 5 label a", "retain: label a is not KEY=VALUE"},
		{"count 5 label =a", "retain: label =a is not KEY=VALUE"},
		{"count 5 name", "retain: name needs a NAME behind it"},
		{"count 5 name a name b", "retain: name: a rule has at most one"},
		{"count 5 label a=b label a=b label a=b label a=b label a=b",
		 "retain: label: a rule has at most 4"},
		{"forever", "retain: forever needs a label or a name behind it"},
	};
	struct retain_rules rules = {.count = 0};
	char many[40 * 10] = "count 1", longer[RETAIN_RULE_LEN + 20];
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(retain_rules_check("retain", rows[i].text, &err), ERR_USAGE);
		if (strncmp(err.message, rows[i].says, strlen(rows[i].says)) != 0)
			fail_msg("'%s' says '%s'", rows[i].text, err.message);
	}
	memset(longer, ' ', sizeof(longer));
	memcpy(longer, "count 5 name", 12);
	longer[sizeof(longer) - 2] = 'x';
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(retain_rules_check("retain", longer, &err), ERR_USAGE);
	for (int i = 1; i < RETAIN_RULES; i++)
		strcat(many, ",count 1");
	assert_int_equal(retain_rules_add(&rules, "retain", many, &err), 0);
	assert_int_equal(rules.count, RETAIN_RULES);
	assert_int_equal(retain_rules_add(&rules, "retain", "count 1", &err), ERR_USAGE);
	assert_string_equal(err.message, "retain: more than 32 rules");
}

static ProtobufCBinaryData text(const char *s)
{
	ProtobufCBinaryData d = {.len = strlen(s)};

	memcpy(&d.data, &s, sizeof(d.data));
	return d;
}

static bool selects(const char *rule, const Rawstack__V1__Binary *b)
{
	struct retain_rules rules = {.count = 0};
	struct err err;

	if (retain_rules_add(&rules, "retain", rule, &err))
		fail_msg("%s", err.message);
	return retain_rule_selects(&rules.list[0], b);
}

static void test_selected(void **state _unused_)
{
	Rawstack__V1__Binary b = RAWSTACK__V1__BINARY__INIT;
	Rawstack__V1__Label labels[2] = {RAWSTACK__V1__LABEL__INIT, RAWSTACK__V1__LABEL__INIT};
	Rawstack__V1__Label *pointers[2] = {&labels[0], &labels[1]};

	b.name = text("nginx");
	labels[0].key = text("env");
	labels[0].value = text("dev");
	labels[1].key = text("empty");
	b.labels = pointers;
	b.n_labels = 2;
	assert_true(selects("age 1d", &b));
	assert_true(selects("age 1d name nginx", &b));
	assert_false(selects("age 1d name ngin", &b));
	assert_false(selects("age 1d name nginxx", &b));
	assert_true(selects("age 1d label env=dev", &b));
	assert_true(selects("age 1d label empty= name nginx label env=dev", &b));
	assert_false(selects("age 1d label env=prod", &b));
	assert_false(selects("age 1d label env=dev label env=prod", &b));
	assert_false(selects("age 1d label dev=env", &b));
	assert_false(selects("age 1d label env=dev name other", &b));
	b.n_labels = 0;
	assert_false(selects("forever label env=dev", &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_selected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
