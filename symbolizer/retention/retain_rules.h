/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RETAIN_RULES_H
#define RAWSTACK_RETAIN_RULES_H
/*
 * The rules of an operator about how long tables stay, as text and as a struct. A rule is a bound
 * and whatever narrows it:
 *
 *	age 90d                        not uploaded for so long
 *	unused 30d label env=dev       not asked for for so long, of those with this label
 *	count 5000                     so many stay, those that were used last
 *	releases 10 name nginx         of each name, so many versions stay, those uploaded last
 *	forever label keep=yes         no other rule takes these
 *
 * A time is a number with s, m (minutes), h, d or w behind it. Several `label` of one rule have to
 * hold together. Words end at a blank, and a comma ends the rule. Rules are values: copy them. Each
 * rule stands for itself: a table goes if any of them says so.
 */
#include "err.h"
#include "rawstack/v1/binaries.pb-c.h"

enum {
	RETAIN_RULES = 32,     /* an operator writes a handful */
	RETAIN_RULE_LEN = 240, /* bytes of a rule's text, with the 0 */
	RETAIN_LABELS = 4,     /* labels of one rule */
};

enum retain_bound {
	RETAIN_AGE,
	RETAIN_UNUSED,
	RETAIN_COUNT,
	RETAIN_RELEASES,
	RETAIN_FOREVER, /* the last one, because it removes nothing */
	RETAIN_BOUNDS,
};

struct retain_rule {
	enum retain_bound bound;
	uint64_t limit;             /* ns, or how many stay */
	char text[RETAIN_RULE_LEN]; /* as it was given, without blanks at the ends */
	/* Lie in `words`, by offset, so that the rule may be copied; 0: none. */
	char words[RETAIN_RULE_LEN + 1];
	uint16_t name;
	struct {
		uint16_t key, value;
	} labels[RETAIN_LABELS];
	size_t label_count;
};

struct retain_rules {
	struct retain_rule list[RETAIN_RULES];
	size_t count;
};

/* Adds the rules of a text, with commas between them, to the struct retain_rules at `at`. This is
 * an option_set_fn. Returns ERR_USAGE. */
int retain_rules_add(void *at, const char *option, const char *argument, struct err *err);

/* Does the same without a place for the rules. This is an option_check_fn. */
int retain_rules_check(const char *option, const char *argument, struct err *err);

/* Returns whether a binary has the name and the labels of the rule. */
bool retain_rule_selects(const struct retain_rule *rule, const Rawstack__V1__Binary *b);

/* Returns the word of a bound: "age". */
const char *retain_bound_name(enum retain_bound bound);

#endif
