/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_priv.h"
#include "io.h"
#include "stdout_end.h"

/* The most values: a command line may have as many words as the system allows. */
#define VALUES_MAX (1U << 20)

/* The most names of rows that an error may propose. */
#define NAMES_MAX 100

const char CONFIG_NO[] = "no";

static int add_config_value(struct config *c, const struct config_value *v, struct err *err)
{
	if (!GROW(c->values, &c->cap, c->count + 1, VALUES_MAX))
		return err_no_memory(err);
	c->values[c->count++] = *v;
	return 0;
}

/* Returns whether a file may name the row. */
static bool is_key(const struct option_row *row)
{
	return row->name && row->kind != OPTION_KIND_HEADING && row->kind != OPTION_KIND_IGNORE;
}

bool config_may_repeat(const struct option_row *row)
{
	return row->kind == OPTION_KIND_LIST || row->kind == OPTION_KIND_CALL;
}

const struct option_row *config_find_row(const struct option_usage *usage, const char *name,
					 size_t *ret_offset)
{
	const struct option_row *row;
	struct option_walk w;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, ret_offset));)
		if (is_key(row) && strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

/* Returns the first value that was given for a row, or NULL. */
static const struct config_value *find_value(const struct config *c, const struct option_row *row,
					     size_t offset)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->values[i].row == row && c->values[i].offset == offset)
			return &c->values[i];
	return NULL;
}

/* Reads yes or no into *ret_given: whether the option is given. Returns false for other words. */
static bool read_yes(const char *text, bool *ret_given)
{
	static const char *const words[] = {"yes", "no", "true", "false", "on", "off", "1", "0"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*ret_given = i % 2 == 0;
			return true;
		}
	return false;
}

/* Checks a value that does not count, because a higher source has another: a mistake in a file
 * would otherwise show on the day when nobody overrides it any more. */
static int check_hidden(const struct option_row *row, const char *text, struct err *err)
{
	struct option_row alone = *row;
	uint64_t unused;

	if (!row->argument || !text)
		return 0;
	switch (row->kind) {
	case OPTION_KIND_CALL:
		return row->check ? row->check(row->name, text, err) : 0;
	case OPTION_KIND_NUMBER:
	case OPTION_KIND_BYTES:
	case OPTION_KIND_WORD:
		alone.offset = 0;
		return option_store(&alone, row->name, &unused, text, err);
	default:
		return 0;
	}
}

/* Adds the value of a row from a file or a variable, unless a higher source has one. */
static int add_value(struct config *c, const struct option_row *row, size_t offset,
		     const char *text, enum config_source source, uint32_t line, struct err *err)
{
	const struct config_value *other = find_value(c, row, offset);
	struct config_value v = {row, offset, text, line, source};

	if (!text && row->may_be_empty)
		v.text = text = "";
	if (!text)
		return err_set(err, ERR_USAGE, "%s has no value", row->name);
	if (other && other->source == source && !config_may_repeat(row))
		return err_set(err, ERR_USAGE, "%s has a value in line %u already", row->name,
			       other->line);
	if (!row->argument) {
		bool is_given;

		if (!read_yes(text, &is_given))
			return err_set(err, ERR_USAGE, "%s %.*s is not yes or no", row->name,
				       OPTIONS_SHOWN_MAX, text);
		v.text = is_given ? NULL : CONFIG_NO;
	}
	if (other && other->source > source)
		return check_hidden(row, text, err);
	return add_config_value(c, &v, err);
}

/* --- the environment ------------------------------------------------------------------------- */

/* Returns the name of a row's variable of a program, such as RAWSTACK_MOLE_STORE_BYTES. */
static const char *name_variable(const char *prefix, const struct option_row *row,
				 char ret[static CONFIG_VARIABLE_MAX])
{
	size_t at = (size_t)snprintf(ret, CONFIG_VARIABLE_MAX, "%s%s", prefix, row->name);

	if (at >= CONFIG_VARIABLE_MAX)
		at = CONFIG_VARIABLE_MAX - 1;
	for (char *p = ret + strlen(prefix); p < ret + at; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
	return ret;
}

/* Refuses a variable that no option has, because it is a slip. PREFIX_OPTIONS is allowed: units
 * pass further options in it. */
static int check_variables(const struct option_usage *usage, struct err *err)
{
	const char *const prefix = usage->config->prefix;
	const size_t len = prefix ? strlen(prefix) : 0;

	for (char **v = environ; prefix && v && *v; v++) {
		const size_t name_len = strcspn(*v, "=");
		const struct option_row *row;
		char name[CONFIG_VARIABLE_MAX];
		struct option_walk w;
		size_t offset;

		if (strncmp(*v, prefix, len) != 0 || strncmp(*v + len, "OPTIONS=", 8) == 0)
			continue;
		for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));)
			if (is_key(row) && strlen(name_variable(prefix, row, name)) == name_len &&
			    strncmp(*v, name, name_len) == 0)
				break;
		if (!row)
			return err_set(err, ERR_USAGE, "unknown variable %.*s",
				       (int)(name_len < CONFIG_VARIABLE_MAX ? name_len
									    : CONFIG_VARIABLE_MAX),
				       *v);
	}
	return 0;
}

const char *config_find_variable(const struct option_usage *usage, const struct option_row *row,
				 char ret_name[static CONFIG_VARIABLE_MAX])
{
	const char *const prefix = usage->config->prefix;
	const char *text = prefix ? getenv(name_variable(prefix, row, ret_name)) : NULL;

	if ((!text || !*text) && row->variable) {
		snprintf(ret_name, CONFIG_VARIABLE_MAX, "%s", row->variable);
		text = getenv(row->variable);
	}
	return text && *text ? text : NULL;
}

static int read_environment(const struct option_usage *usage, struct config *c, struct err *err)
{
	const struct option_row *row;
	struct option_walk w;
	size_t offset;
	int rc;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));) {
		char name[CONFIG_VARIABLE_MAX];
		const char *text;

		if (!is_key(row))
			continue;
		text = config_find_variable(usage, row, name);
		if (!text)
			continue;
		rc = add_value(c, row, offset, text, CONFIG_ENVIRONMENT, 0, err);
		if (rc < 0)
			return err_prefix(err, "%s", name);
	}
	return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static int refuse_key(const struct option_usage *usage, const char *name, struct err *err)
{
	const char *names[NAMES_MAX];
	const struct option_row *row;
	struct option_walk w;
	const char *nearest;
	size_t offset, count = 0;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));)
		if (is_key(row) && count < NAMES_MAX)
			names[count++] = row->name;
	nearest = option_nearest(name, names, count);
	return err_set(err, ERR_USAGE, "unknown key %.*s%s%s%s", OPTIONS_SHOWN_MAX, name,
		       nearest ? " (is " : "", nearest ? nearest : "", nearest ? " meant?)" : "");
}

static int read_line(const struct option_usage *usage, struct config *c, char **text,
		     uint32_t line_number, struct err *err)
{
	struct config_line line;
	const struct option_row *row;
	const char *why;
	size_t offset;

	if (!config_take_line(text, &line, &why))
		return err_set(err, ERR_USAGE, "%s", why);
	if (!line.name)
		return 0;
	row = config_find_row(usage, line.name, &offset);
	if (!row)
		return refuse_key(usage, line.name, err);
	return add_value(c, row, offset, line.value, CONFIG_FILE, line_number, err);
}

/* Returns a byte that no line of text has, or NULL. */
static const char *find_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' && !strchr("\t\r\n", text[i]))
			return text + i;
	return memchr(text, 0, len);
}

/* Refuses a file that everybody may write to: who does decides what a daemon runs, as its user. */
static int refuse_open_file(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & S_IWOTH))
		return 0;
	return err_set(err, ERR_DENIED, "%s: others may write to it (mode %04o): chmod o-w it",
		       path, (unsigned int)st.st_mode & 07777);
}

static int read_file(const struct option_usage *usage, struct config *c, struct err *err)
{
	uint32_t line = 1;
	uint8_t *bytes;
	const char *bad;
	size_t len;
	char *at;
	int rc;

	if (!c->path)
		return 0;
	TRY(refuse_open_file(c->path, err));
	rc = io_read_file(c->path, CONFIG_FILE_MAX, &bytes, &len, err);
	if (rc < 0)
		return rc;
	c->text = (char *)bytes;
	bad = find_control(c->text, len);
	for (at = c->text; bad && (at = memchr(at, '\n', (size_t)(bad - at))); at++)
		line++;
	if (bad)
		return err_set(err, ERR_USAGE, "%s:%u: a byte that is no text", c->path, line);
	at = c->text + (strncmp(c->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0); /* a byte order mark */
	for (; at; line++) {
		rc = read_line(usage, c, &at, line, err);
		if (rc < 0)
			return err_prefix(err, "%s:%u", c->path, line);
	}
	return 0;
}

/* --- all of them ----------------------------------------------------------------------------- */

static int store_value(const struct option_usage *usage, const struct config *c,
		       const struct config_value *v, void *into, struct err *err)
{
	char option[CONFIG_VARIABLE_MAX];
	int rc;

	if (v->text == CONFIG_NO)
		return 0;
	if (v->source == CONFIG_ENVIRONMENT)
		(void)config_find_variable(usage, v->row, option);
	else
		snprintf(option, sizeof(option), "%s%s",
			 v->source == CONFIG_COMMAND_LINE ? "--" : "", v->row->name);
	rc = option_store(v->row, option, (char *)into + v->offset, v->text, err);
	if (rc < 0 && v->source == CONFIG_FILE)
		return err_prefix(err, "%s:%u", c->path, v->line);
	return rc;
}

/* Takes an option of the command line. ctx is the struct config. */
static int take_config_option(void *ctx, const struct option_row *row, size_t offset,
			      const char *option _unused_, const char *argument, struct err *err)
{
	struct config *const c = ctx;

	if (row == &option_row_config)
		c->path = argument;
	else if (row == &option_row_check)
		c->wants_check = true;
	else if (row == &option_row_print)
		c->wants_print = true;
	else
		return add_config_value(c,
					&(struct config_value){.row = row,
							       .offset = offset,
							       .text = argument,
							       .source = CONFIG_COMMAND_LINE},
					err);
	return 0;
}

int config_parse(const struct option_usage *usage, int argc, char **argv, void *into,
		 struct config *ret, struct err *err)
{
	TRY(option_read_line(usage, argc, argv, take_config_option, ret, NULL, err));
	return config_complete(usage, into, ret, err);
}

int config_add_given(const struct option_usage *usage, const void *from, struct config *c,
		     struct err *err)
{
	struct config_value v = {.source = CONFIG_COMMAND_LINE};
	struct option_walk w;

	for (option_walk_init(&w, usage); (v.row = option_walk_next(&w, &v.offset));) {
		if (v.row->kind != OPTION_KIND_TEXT)
			continue;
		memcpy(&v.text, (const char *)from + v.offset + v.row->offset, sizeof(v.text));
		if (v.text)
			TRY(add_config_value(c, &v, err));
	}
	return 0;
}

int config_complete(const struct option_usage *usage, void *into, struct config *ret,
		    struct err *err)
{
	int rc;

	TRY(check_variables(usage, err));
	TRY(read_environment(usage, ret, err));
	TRY(read_file(usage, ret, err));
	/* Goes from the lowest source up, because several options may fill one member. */
	for (int source = CONFIG_FILE; source <= CONFIG_COMMAND_LINE; source++)
		for (size_t i = 0; i < ret->count; i++) {
			if (ret->values[i].source != (enum config_source)source)
				continue;
			rc = store_value(usage, ret, &ret->values[i], into, err);
			if (rc < 0)
				return rc;
		}
	return 0;
}

enum config_source config_source_of(const struct config *c, const char *name)
{
	enum config_source source = CONFIG_DEFAULT;

	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->values[i].row->name, name) == 0 && c->values[i].source > source)
			source = c->values[i].source;
	return source;
}

int config_answer(const struct config *c, const struct option_usage *usage, const void *from,
		  struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(OPTIONS_HELP_MAX + 8 * CONFIG_FILE_MAX);

	if (!c->wants_print && !c->wants_check)
		return 0;
	if (c->wants_print)
		config_print(c, usage, from, &out);
	else if (c->text)
		buf_printf(&out, "%s: no errors\n", c->path);
	else
		buf_str(&out, "no file, no errors\n");
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 1;
}

/* Returns whether both have the same values for a row. */
static bool says_the_same(const struct config *a, const struct config *b,
			  const struct option_row *row, size_t offset)
{
	size_t i = 0, j = 0;

	for (;; i++, j++) {
		const char *a_text, *b_text;

		while (i < a->count && (a->values[i].row != row || a->values[i].offset != offset))
			i++;
		while (j < b->count && (b->values[j].row != row || b->values[j].offset != offset))
			j++;
		if (i == a->count || j == b->count)
			return i == a->count && j == b->count;
		a_text = a->values[i].text;
		b_text = b->values[j].text;
		if (!a_text != !b_text || (a_text && strcmp(a_text, b_text) != 0))
			return false;
	}
}

void config_compare(const struct option_usage *usage, const struct config *a,
		    const struct config *b, void (*each)(void *ctx, const struct option_row *row),
		    void *ctx)
{
	const struct option_row *row;
	struct option_walk w;
	size_t offset;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));)
		if (!says_the_same(a, b, row, offset))
			each(ctx, row);
}

void config_done(struct config *c)
{
	free(c->text);
	free(c->values);
	*c = (struct config){0};
}
