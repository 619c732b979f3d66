/* SPDX-License-Identifier: Apache-2.0 */
#include "retain_rules.h"

#include <stdio.h>
#include <string.h>

#include "number.h"

#define BLANKS "\t "

/* A hundred years, and the most tables that a store can have. */
#define LIMIT_RETAIN_SECONDS  UINT64_C(3153600000)
#define LIMIT_RETAIN_TABLES   UINT64_C(1000000000)
/* Versions of one name that a round remembers; see retention.c. */
#define LIMIT_RETAIN_RELEASES UINT64_C(100)

#define NS_PER_S UINT64_C(1000000000)

static const char *const bound_names[RETAIN_BOUNDS] = {
	[RETAIN_AGE] = "age",           [RETAIN_UNUSED] = "unused",   [RETAIN_COUNT] = "count",
	[RETAIN_RELEASES] = "releases", [RETAIN_FOREVER] = "forever",
};

const char *retain_bound_name(enum retain_bound bound)
{
	return bound_names[bound];
}

/* Takes the next word, and returns false at the end. */
static bool take_word(char **at, char **ret)
{
	char *start = *at + strspn(*at, BLANKS);
	char *end = start + strcspn(start, BLANKS);

	if (!*start)
		return false;
	*at = *end ? end + 1 : end;
	*end = 0;
	*ret = start;
	return true;
}

/* Reads a time such as 90d. */
static bool read_age(const char *text, uint64_t *ret_ns)
{
	static const struct {
		char letter;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', UINT64_C(7) * 86400}};
	uint64_t n;

	if (!number_take(&text, 10, &n) || !text[0] || text[1] || !n)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (*text == units[i].letter && n <= LIMIT_RETAIN_SECONDS / units[i].seconds) {
			*ret_ns = n * units[i].seconds * NS_PER_S;
			return true;
		}
	return false;
}

/* Reads what follows the word of the bound. */
static int read_limit(struct retain_rule *rule, char **at, struct err *err)
{
	const bool is_time = rule->bound == RETAIN_AGE || rule->bound == RETAIN_UNUSED;
	const uint64_t most =
		rule->bound == RETAIN_RELEASES ? LIMIT_RETAIN_RELEASES : LIMIT_RETAIN_TABLES;
	const char *const bound = bound_names[rule->bound];
	char *word;

	if (rule->bound == RETAIN_FOREVER)
		return 0;
	if (!take_word(at, &word))
		return err_set(err, ERR_USAGE, "%s needs a %s behind it", bound,
			       is_time ? "time such as 90d" : "number");
	if (is_time && !read_age(word, &rule->limit))
		return err_set(err, ERR_USAGE,
			       "%s %.40s is not a time such as 90d (s, m, h, d or w, at most 100 "
			       "years)",
			       bound, word);
	if (!is_time &&
	    (!number_read(word, 10, &rule->limit) || !rule->limit || rule->limit > most))
		return err_set(err, ERR_USAGE, "%s %.40s is not a number from 1 to %llu", bound,
			       word, (unsigned long long)most);
	return 0;
}

static int take_selector(struct retain_rule *rule, const char *what, char *word, struct err *err)
{
	char *equals = strchr(word, '=');

	if (!strcmp(what, "name")) {
		if (rule->name)
			return err_set(err, ERR_USAGE, "name: a rule has at most one");
		rule->name = (uint16_t)(word - rule->words);
		return 0;
	}
	if (!equals || equals == word)
		return err_set(err, ERR_USAGE, "label %.40s is not KEY=VALUE", word);
	if (rule->label_count == RETAIN_LABELS)
		return err_set(err, ERR_USAGE, "label: a rule has at most %d", RETAIN_LABELS);
	*equals = 0;
	rule->labels[rule->label_count].key = (uint16_t)(word - rule->words);
	rule->labels[rule->label_count++].value = (uint16_t)(equals + 1 - rule->words);
	return 0;
}

static int read_rule(struct retain_rule *rule, struct err *err)
{
	char *at = rule->words + 1, *what, *word;
	int bound = 0;

	if (!take_word(&at, &what))
		return err_set(err, ERR_USAGE, "an empty rule");
	while (bound < RETAIN_BOUNDS && strcmp(what, bound_names[bound]) != 0)
		bound++;
	if (bound == RETAIN_BOUNDS)
		return err_set(err, ERR_USAGE,
			       "%.40s: a rule begins with age, unused, count, releases or forever",
			       what);
	rule->bound = (enum retain_bound)bound;
	TRY(read_limit(rule, &at, err));
	while (take_word(&at, &what)) {
		if (strcmp(what, "label") != 0 && strcmp(what, "name") != 0)
			return err_set(err, ERR_USAGE,
				       "%.40s: only label KEY=VALUE and name NAME narrow a rule",
				       what);
		if (!take_word(&at, &word))
			return err_set(err, ERR_USAGE, "%s needs a %s behind it", what,
				       *what == 'l' ? "KEY=VALUE" : "NAME");
		TRY(take_selector(rule, what, word, err));
	}
	if (rule->bound == RETAIN_FOREVER && !rule->name && !rule->label_count)
		return err_set(err, ERR_USAGE, "forever needs a label or a name behind it");
	return 0;
}

static int add_retain_rule(struct retain_rules *rules, const char *option, const char *text,
			   size_t len, struct err *err)
{
	struct retain_rule *rule = &rules->list[rules->count];

	if (rules->count == RETAIN_RULES)
		return err_set(err, ERR_USAGE, "%s: more than %d rules", option, RETAIN_RULES);
	while (len && strchr(BLANKS, *text)) {
		text++;
		len--;
	}
	while (len && strchr(BLANKS, text[len - 1]))
		len--;
	if (len >= sizeof(rule->text))
		return err_set(err, ERR_USAGE, "%s: a rule has at most %zu bytes", option,
			       sizeof(rule->text) - 1);
	*rule = (struct retain_rule){.bound = RETAIN_BOUNDS};
	memcpy(rule->text, text, len);
	memcpy(rule->words + 1, text, len); /* offset 0 stands for none */
	if (read_rule(rule, err) < 0)
		return err_prefix(err, "%s", option);
	rules->count++;
	return 0;
}

int retain_rules_add(void *at, const char *option, const char *argument, struct err *err)
{
	for (;;) {
		const size_t len = strcspn(argument, ",");

		TRY(add_retain_rule(at, option, argument, len, err));
		if (!argument[len])
			return 0;
		argument += len + 1;
	}
}

int retain_rules_check(const char *option, const char *argument, struct err *err)
{
	struct retain_rules rules = {.count = 0};

	return retain_rules_add(&rules, option, argument, err);
}

static bool is_text(ProtobufCBinaryData text, const char *wanted)
{
	return text.len == strlen(wanted) && (!text.len || !memcmp(text.data, wanted, text.len));
}

bool retain_rule_selects(const struct retain_rule *rule, const Rawstack__V1__Binary *b)
{
	if (rule->name && !is_text(b->name, rule->words + rule->name))
		return false;
	for (size_t i = 0; i < rule->label_count; i++) {
		bool has = false;

		for (size_t k = 0; k < b->n_labels && !has; k++)
			has = is_text(b->labels[k]->key, rule->words + rule->labels[i].key) &&
			      is_text(b->labels[k]->value, rule->words + rule->labels[i].value);
		if (!has)
			return false;
	}
	return true;
}
