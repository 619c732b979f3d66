/* SPDX-License-Identifier: Apache-2.0 */
#include "schema.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "limits.h"
#include "number.h"
#include "schema_assets.h"

/* A schema has one rule per line; the shipped ones have 2 KB. */
#define LIMIT_SCHEMA_LEN (4 * MIB)

/* The longest rule of the language, a tag with `unless under`, has 14 words without `and`. */
#define LIMIT_SCHEMA_WORDS 64

/* The words of a line. A quoted word keeps its blanks. */
struct words {
	char *list[LIMIT_SCHEMA_WORDS];
	bool quoted[LIMIT_SCHEMA_WORDS];
	size_t count, at;
	const char *name;
	unsigned int line;
};

static void words_done(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->list[i]);
	w->count = 0;
}

static int wrong_word(const struct words *w, const char *what, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s: line %u: %s", w->name, w->line, what);
}

static int split_words(struct words *w, const char *p, size_t len, struct err *err)
{
	for (size_t i = 0; i < len;) {
		bool quoted = p[i] == '"';
		size_t start = i + quoted, end = start;

		if (p[i] == ' ' || p[i] == '\t' || p[i] == '\r') {
			i++;
			continue;
		}
		if (p[i] == '#')
			break;
		while (end < len &&
		       (quoted ? p[end] != '"' : p[end] != ' ' && p[end] != '\t' && p[end] != '\r'))
			end++;
		if (quoted && end == len)
			return wrong_word(w, "a quote is not closed", err);
		if (w->count == LIMIT_SCHEMA_WORDS)
			return wrong_word(w, "too many words", err);
		w->quoted[w->count] = quoted;
		w->list[w->count] = strndup(p + start, end - start);
		if (!w->list[w->count])
			return err_no_memory(err);
		w->count++;
		i = end + quoted;
	}
	return 0;
}

/* Takes the next word if it is `word` and is not quoted. */
static bool next_is(struct words *w, const char *word)
{
	if (w->at == w->count || w->quoted[w->at] || strcmp(w->list[w->at], word) != 0)
		return false;
	w->at++;
	return true;
}

static const char *next_word(struct words *w)
{
	return w->at < w->count ? w->list[w->at++] : NULL;
}

static int parse_pattern(struct words *w, struct text_match *m, const char *what, struct err *err)
{
	const char *pattern;
	struct err why;

	if (!next_is(w, "~"))
		return wrong_word(w, "~ \"REGEX\" is missing", err);
	pattern = next_word(w);
	if (!pattern)
		return wrong_word(w, "a pattern is missing", err);
	if (m->set)
		return wrong_word(w, "two patterns for the same", err);
	return text_match_compile(m, what, pattern, &why) ? wrong_word(w, why.message, err) : 0;
}

/* Parses function|file|module ~ "REGEX" [and ...] */
static int parse_match(struct words *w, struct frame_match *m, struct err *err)
{
	do {
		if (next_is(w, "function"))
			TRY(parse_pattern(w, &m->function, "function", err));
		else if (next_is(w, "file"))
			TRY(parse_pattern(w, &m->file, "file", err));
		else if (next_is(w, "module"))
			TRY(parse_pattern(w, &m->module, "module", err));
		else
			return wrong_word(w, "function, file or module is expected", err);
	} while (next_is(w, "and"));
	return 0;
}

static int take_schema_text(struct words *w, char **ret, const char *what, struct err *err)
{
	const char *text = next_word(w);

	if (!text || !*text)
		return wrong_word(w, what, err);
	*ret = strdup(text);
	return *ret ? 0 : err_no_memory(err);
}

/* Parses KEY=VALUE [priority N]. */
static int parse_tag(struct words *w, struct schema_rule *r, struct err *err)
{
	char *equal;

	TRY(take_schema_text(w, &r->key, "a tag KEY=VALUE is missing", err));
	equal = strchr(r->key, '=');
	if (!equal || equal == r->key || !equal[1])
		return wrong_word(w, "a tag is KEY=VALUE", err);
	r->text = strdup(equal + 1);
	if (!r->text)
		return err_no_memory(err);
	*equal = 0;
	if (next_is(w, "priority")) {
		const char *number = next_word(w);
		const bool is_negative = number && *number == '-';
		uint64_t n;

		if (!number || !number_read(number + is_negative, 10, &n) || n > LONG_MAX)
			return wrong_word(w, "priority is a number", err);
		r->priority = is_negative ? -(long)n : (long)n;
	}
	return 0;
}

static int parse_where(struct words *w, struct schema_rule *r, struct err *err)
{
	if (next_is(w, "leaf"))
		r->where = SCHEMA_LEAF;
	else if (next_is(w, "root"))
		r->where = SCHEMA_ROOT;
	TRY(parse_match(w, &r->match, err));
	if (next_is(w, "unless"))
		TRY(next_is(w, "under") ? parse_match(w, &r->not_under, err)
					: wrong_word(w, "unless under is expected", err));
	return 0;
}

static int parse_rule(struct words *w, struct schema_rule *r, struct err *err)
{
	if (next_is(w, "tag")) {
		r->action = SCHEMA_TAG;
		TRY(parse_tag(w, r, err));
		if (!next_is(w, "when"))
			return wrong_word(w, "when is missing", err);
		TRY(parse_where(w, r, err));
	} else if (next_is(w, "mark")) {
		r->action = SCHEMA_MARK;
		TRY(take_schema_text(w, &r->text, "a mark is missing", err));
		if (!next_is(w, "on"))
			return wrong_word(w, "on is missing", err);
		TRY(parse_where(w, r, err));
	} else if (next_is(w, "rename")) {
		r->action = SCHEMA_RENAME;
		TRY(parse_where(w, r, err));
		if (!next_is(w, "to"))
			return wrong_word(w, "to is missing", err);
		TRY(take_schema_text(w, &r->text, "a name is missing", err));
	} else if (next_is(w, "collapse")) {
		r->action = SCHEMA_COLLAPSE;
		TRY(parse_where(w, r, err));
		if (next_is(w, "to"))
			TRY(take_schema_text(w, &r->text, "a name is missing", err));
	} else if (next_is(w, "drop")) {
		bool stack = next_is(w, "stack");

		if (!stack && !next_is(w, "frame"))
			return wrong_word(w, "drop frame or drop stack is expected", err);
		r->action = stack ? SCHEMA_DROP_STACK : SCHEMA_DROP_FRAME;
		TRY(parse_where(w, r, err));
	} else {
		return wrong_word(w, "not tag, mark, rename, collapse or drop", err);
	}
	return w->at < w->count ? wrong_word(w, "more than a rule", err) : 0;
}

static void rule_reset(struct schema_rule *r)
{
	frame_match_reset(&r->match);
	frame_match_reset(&r->not_under);
	free(r->renamed);
	r->renamed = NULL;
	r->renamed_cap = 0;
}

void schema_reset(struct schema *s)
{
	for (size_t i = 0; i < s->count; i++)
		rule_reset(&s->rules[i]);
}

static void rule_done(struct schema_rule *r)
{
	rule_reset(r);
	frame_match_done(&r->match);
	frame_match_done(&r->not_under);
	free(r->key);
	free(r->text);
}

static int parse_schema_line(struct schema *s, struct words *w, const char *p, size_t len,
			     struct err *err)
{
	struct schema_rule r = {0};
	int rc = split_words(w, p, len, err);

	if (rc || !w->count)
		return rc;
	w->at = 0;
	rc = parse_rule(w, &r, err);
	if (!rc && !GROW(s->rules, &s->cap, s->count + 1, LIMIT_SCHEMA_RULES))
		rc = wrong_word(w, "too many rules", err);
	if (rc)
		rule_done(&r);
	else
		s->rules[s->count++] = r;
	return rc;
}

int schema_parse(struct schema *s, const char *name, const char *text, size_t len, struct err *err)
{
	struct words w = {.name = name};
	int rc = 0;

	while (len && !rc) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		w.line++;
		rc = memchr(text, 0, n) ? wrong_word(&w, "not text", err)
					: parse_schema_line(s, &w, text, n, err);
		words_done(&w);
		n += newline != NULL;
		text += n;
		len -= n;
	}
	return rc;
}

static const struct shipped {
	const char *name;
	const uint8_t *text;
	const size_t *len;
} shipped[] = {
	{"copies", copies_schema, &copies_schema_len},
	{"locks", locks_schema, &locks_schema_len},
	{"tax", tax_schema, &tax_schema_len},
};

int schema_read(struct schema *s, const char *name, struct err *err)
{
	_cleanup_(freep) uint8_t *text = NULL;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(shipped); i++)
		if (strcmp(name, shipped[i].name) == 0)
			return schema_parse(s, name, (const char *)shipped[i].text, *shipped[i].len,
					    err);
	if (!strchr(name, '/') && access(name, F_OK))
		return err_set(err, ERR_NOT_FOUND,
			       "%s: No such file or directory, and none of copies, locks, tax",
			       name);
	TRY(io_read_file(name, LIMIT_SCHEMA_LEN, &text, &len, err));
	return schema_parse(s, name, (const char *)text, len, err);
}

void schema_done(struct schema *s)
{
	for (size_t i = 0; i < s->count; i++)
		rule_done(&s->rules[i]);
	free(s->rules);
	*s = (struct schema){0};
}
