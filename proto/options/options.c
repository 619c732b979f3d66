/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "options_priv.h"
#include "stdout_end.h"

/* The most bytes of an option's name in errors: two dashes and the longest name, or a dash and a
 * letter. */
#define OPTION_NAME_MAX 40

struct command_line {
	const struct option_usage *usage;
	char **argv;
	int argc;
	option_take_fn *take;
	void *ctx;
	struct err *err;
};

int(options_refuse)(const struct option_usage *usage, struct err *err, const char *fmt, ...)
{
	const char *command = strchr(usage->name, ' ');
	char text[ERR_MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(err, ERR_USAGE, "%s%s%s (see %s --help)", command ? command + 1 : "",
		       command ? ": " : "", text, usage->name);
}

/* --- arguments ------------------------------------------------------------------------------- */

int options_number(const char *option, const char *argument, uint64_t min, uint64_t max,
		   uint64_t *ret, struct err *err)
{
	if (number_read(argument, 10, ret) && *ret >= min && *ret <= max)
		return 0;
	return err_set(err, ERR_USAGE, "%s %.*s is not a number from %llu to %llu", option,
		       OPTIONS_SHOWN_MAX, argument, (unsigned long long)min,
		       (unsigned long long)max);
}

static int parse_bytes(const struct option_row *row, const char *option, const char *argument,
		       uint64_t *ret, struct err *err)
{
	static const char suffixes[] = "KMG";
	const char *at = argument, *suffix;

	if (number_take(&at, 10, ret)) {
		suffix = *at ? strchr(suffixes, *at) : NULL;
		if (suffix && CHECKED_MUL(*ret, UINT64_C(1) << (10 * (suffix - suffixes + 1)), ret))
			at++;
		if (!*at && *ret >= row->min && *ret <= row->max)
			return 0;
	}
	return err_set(
		err, ERR_USAGE,
		"%s %.*s is not a number from %llu to %llu, behind which K, M or G may stand",
		option, OPTIONS_SHOWN_MAX, argument, (unsigned long long)row->min,
		(unsigned long long)row->max);
}

int options_word(const char *option, const char *argument, const char *const *words,
		 struct err *err)
{
	_cleanup_(buf_done) struct buf list = BUF_INIT(ERR_MESSAGE_MAX);

	for (int i = 0; words[i]; i++)
		if (strcmp(argument, words[i]) == 0)
			return i;
	for (size_t i = 0; words[i]; i++)
		buf_printf(&list, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	return err_set(err, ERR_USAGE, "%s %.*s is not %s", option, OPTIONS_SHOWN_MAX, argument,
		       buf_cstr(&list));
}

static void store_number(const struct option_row *row, void *at, uint64_t n)
{
	const uint32_t word = (uint32_t)n;
	const bool flag = n != 0;

	if (row->size == sizeof(n))
		memcpy(at, &n, sizeof(n));
	else if (row->size == sizeof(word))
		memcpy(at, &word, sizeof(word));
	else
		memcpy(at, &flag, sizeof(flag));
}

static int add_to_list(const struct option_row *row, const char *option, char *base,
		       const char *argument, struct err *err)
{
	size_t *count = (size_t *)(void *)(base + row->count_offset);

	if (*count == row->max)
		return err_set(err, ERR_USAGE, "more than %llu %s", (unsigned long long)row->max,
			       option);
	((const char **)(void *)(base + row->offset))[(*count)++] = argument;
	return 0;
}

int option_store(const struct option_row *row, const char *option, void *base, const char *argument,
		 struct err *err)
{
	void *at = (char *)base + row->offset;
	uint64_t n = row->min;
	int rc = 0;

	if (row->kind == OPTION_KIND_CALL)
		return row->set(at, option, argument, err);
	if (row->kind == OPTION_KIND_SET)
		store_number(row, at, row->min);
	if (!argument)
		return 0;
	switch (row->kind) {
	case OPTION_KIND_TEXT:
		memcpy(at, &argument, sizeof(argument));
		return 0;
	case OPTION_KIND_LIST:
		return add_to_list(row, option, base, argument, err);
	case OPTION_KIND_WORD:
		rc = options_word(option, argument, row->words, err);
		if (rc < 0)
			return rc;
		n += (uint64_t)rc;
		break;
	case OPTION_KIND_NUMBER:
		rc = options_number(option, argument, row->min, row->max, &n, err);
		break;
	case OPTION_KIND_BYTES:
		rc = parse_bytes(row, option, argument, &n, err);
		break;
	default:
		return 0;
	}
	if (rc < 0)
		return rc;
	if (row->unit)
		assert(n <= UINT64_MAX / row->unit);
	store_number(row, at, row->unit ? n * row->unit : n);
	return 0;
}

/* --- words of the command line --------------------------------------------------------------- */

/* Prints what --complete asks for. Returns 1. */
static int print_completed(const struct option_usage *usage, int argc, char **argv, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(OPTIONS_HELP_MAX);

	options_complete(usage, argv + 2, (size_t)argc - 2, &out);
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 1;
}

/* Prints the help or the version if the row asks for it. Returns 1 if it did, else 0. */
static int print_asked(const struct command_line *c, const struct option_row *row, struct err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(OPTIONS_HELP_MAX);

	if (row == &option_row_help)
		options_help(c->usage, &out);
	else if (row == &option_row_version)
		buf_printf(&out, "%s %s\n", c->usage->name, c->usage->version);
	else
		return 0;
	if (out.failed)
		return err_no_memory(err);
	stdout_put(&out);
	return 1;
}

/* Parses a word `--name` or `--name=argument` at argv[at]; *ret_words is how many words the option
 * takes. */
static int parse_long(const struct command_line *c, int at, int *ret_words)
{
	const char *word = c->argv[at], *name = word + 2, *equals = strchr(name, '=');
	const char *argument = equals ? equals + 1 : NULL;
	const size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row;
	char option[OPTION_NAME_MAX];
	bool is_ambiguous;
	size_t offset;

	*ret_words = 1;
	row = option_find_name(c->usage, name, len, &offset, &is_ambiguous);
	if (!row)
		return options_refuse(c->usage, c->err,
				      is_ambiguous ? "option %.*s begins the names of several"
						   : "unknown option %.*s",
				      OPTIONS_SHOWN_MAX, word);
	if (argument && !row->argument)
		return options_refuse(c->usage, c->err, "option %.*s takes no value",
				      OPTIONS_SHOWN_MAX, word);
	TRY(print_asked(c, row, c->err));
	if (row->argument && !argument && !row->is_optional) {
		if (at + 1 >= c->argc)
			return options_refuse(c->usage, c->err, "option %.*s needs a value",
					      OPTIONS_SHOWN_MAX, word);
		argument = c->argv[at + 1];
		*ret_words = 2;
	}
	snprintf(option, sizeof(option), "--%s", row->name);
	return c->take(c->ctx, row, offset, option, argument, c->err);
}

/* Parses a word `-abc`, `-n5`, or `-n` in front of `5`. */
static int parse_letters(const struct command_line *c, int at, int *ret_words)
{
	*ret_words = 1;
	for (const char *p = c->argv[at] + 1; *p; p++) {
		const char option[] = {'-', *p, 0};
		const char *argument = NULL;
		size_t offset = 0;
		const struct option_row *row = option_find_letter(c->usage, *p, &offset);
		int rc;

		if (!row)
			return options_refuse(c->usage, c->err, "unknown option %s", option);
		TRY(print_asked(c, row, c->err));
		if (row->argument && !row->is_optional) {
			argument = p[1] ? p + 1 : at + 1 < c->argc ? c->argv[at + 1] : NULL;
			if (!argument)
				return options_refuse(c->usage, c->err, "option %s needs a value",
						      option);
			*ret_words = p[1] ? 1 : 2;
		}
		rc = c->take(c->ctx, row, offset, option, argument, c->err);
		if (rc || argument)
			return rc;
	}
	return 0;
}

/* Moves `count` words (1 or 2) from argv[at] in front of the operands, which begin at argv[first].
 */
static void move_words(char **argv, int first, int at, int count)
{
	char *words[2] = {argv[at], count > 1 ? argv[at + 1] : NULL};

	memmove(argv + first + count, argv + first, (size_t)(at - first) * sizeof(*argv));
	memcpy(argv + first, words, (size_t)count * sizeof(*argv));
}

static int check_operands(const struct option_usage *u, char *const *list, size_t count,
			  struct err *err)
{
	if (count >= u->operands_min &&
	    (count <= u->operands_max || u->operands_max == OPERANDS_ANY))
		return 0;
	if (u->operands_wanted)
		return options_refuse(u, err, "%s", u->operands_wanted);
	return count > u->operands_max ? options_refuse(u, err, "unexpected argument %.*s",
							OPTIONS_SHOWN_MAX, list[u->operands_max])
				       : options_refuse(u, err, "an argument is missing");
}

int option_read_line(const struct option_usage *usage, int argc, char **argv, option_take_fn *take,
		     void *ctx, struct operands *ret, struct err *err)
{
	const struct command_line c = {usage, argv, argc, take, ctx, err};
	bool is_over = false; /* -- was seen */
	int first = 1, count;

	/* A program without commands; commands_run() completes the words of others. */
	if (usage->version && argc > 1 && strcmp(argv[1], "--complete") == 0)
		return print_completed(usage, argc, argv, err);
	for (int at = 1; at < argc && !is_over; at += count) {
		count = 1;
		if (argv[at][0] != '-' || !argv[at][1])
			continue;
		is_over = strcmp(argv[at], "--") == 0;
		TRY(is_over              ? 0
		    : argv[at][1] == '-' ? parse_long(&c, at, &count)
					 : parse_letters(&c, at, &count));
		move_words(argv, first, at, count);
		first += count;
	}
	if (first > argc)
		first = argc; /* argv is empty */
	if (ret)
		*ret = (struct operands){argv + first, (size_t)(argc - first)};
	return check_operands(usage, argv + first, (size_t)(argc - first), err);
}

/* Stores an option. ctx is the struct that the rows describe. */
static int store_taken(void *ctx, const struct option_row *row, size_t offset, const char *option,
		       const char *argument, struct err *err)
{
	return option_store(row, option, (char *)ctx + offset, argument, err);
}

int options_parse(const struct option_usage *usage, int argc, char **argv, void *into,
		  struct operands *ret, struct err *err)
{
	return option_read_line(usage, argc, argv, store_taken, into, ret, err);
}
