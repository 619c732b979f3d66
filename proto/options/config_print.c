/* SPDX-License-Identifier: Apache-2.0 */
/* The output of --print-config: a file that gives the same configuration again. */
#include <inttypes.h>
#include <string.h>

#include "config_priv.h"

/* The column of the comments that name the source of a value. */
#define SOURCE_COLUMN 40

static uint64_t load_number(const struct option_row *row, const void *at)
{
	uint64_t n = 0;
	uint32_t word;
	bool flag;

	if (row->size == sizeof(n)) {
		memcpy(&n, at, sizeof(n));
	} else if (row->size == sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		n = word;
	} else {
		memcpy(&flag, at, sizeof(flag));
		n = flag;
	}
	return n;
}

/* Appends a number of bytes, such as 10G or 1500. */
static void put_bytes(struct buf *out, uint64_t n)
{
	static const char suffixes[] = "KMG";
	size_t power = 0;

	while (n && !(n % 1024) && suffixes[power]) {
		n /= 1024;
		power++;
	}
	buf_printf(out, "%" PRIu64, n);
	if (power)
		buf_printf(out, "%c", suffixes[power - 1]);
}

/* Appends the program's own value of a row. Returns false if it has none that can be written. */
static bool put_default(struct buf *out, const struct option_row *row, const void *at)
{
	const char *text;
	uint64_t n;

	switch (row->kind) {
	case OPTION_KIND_SET:
		buf_str(out, load_number(row, at) == row->min ? "yes" : "no");
		return true;
	case OPTION_KIND_TEXT:
		memcpy(&text, at, sizeof(text));
		if (text)
			config_put_value(out, text);
		return text != NULL;
	case OPTION_KIND_NUMBER:
	case OPTION_KIND_BYTES:
		n = load_number(row, at) / (row->unit ? row->unit : 1);
		if (n < row->min)
			return false;
		if (row->kind == OPTION_KIND_BYTES)
			put_bytes(out, n);
		else
			buf_printf(out, "%" PRIu64, n);
		return true;
	case OPTION_KIND_WORD:
		n = load_number(row, at) - row->min;
		for (size_t i = 0; row->words[i]; i++)
			if (i == n)
				buf_str(out, row->words[i]);
		return true;
	case OPTION_KIND_CALL:
		if (row->usual)
			config_put_value(out, row->usual);
		return row->usual != NULL;
	default:
		return false;
	}
}

static void put_source(struct buf *out, size_t line_start, const struct config *c,
		       const struct config_value *v)
{
	const size_t len = out->len - line_start;

	buf_printf(out, "%*s # ", len < SOURCE_COLUMN ? (int)(SOURCE_COLUMN - len) : 0, "");
	if (v->source == CONFIG_FILE)
		buf_printf(out, "%s:%u\n", c->path, v->line);
	else
		buf_str(out, v->source == CONFIG_ENVIRONMENT ? "environment\n" : "command line\n");
}

/* Returns whether a later value is for the same row. */
static bool is_given_again(const struct config *c, size_t i)
{
	for (size_t j = i + 1; j < c->count; j++)
		if (c->values[j].row == c->values[i].row &&
		    c->values[j].offset == c->values[i].offset)
			return true;
	return false;
}

/* Appends one line for each value, or a comment if none was given. */
static void put_values(struct buf *out, const struct config *c, const struct option_row *row,
		       size_t offset, const void *from)
{
	size_t given = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct config_value *const v = &c->values[i];
		const size_t line_start = out->len;

		if (v->row != row || v->offset != offset)
			continue;
		/* The last of several values on a command line counts. */
		if (!config_may_repeat(row) && is_given_again(c, i))
			continue;
		given++;
		buf_printf(out, "%s = ", row->name);
		config_put_value(out, v->text ? v->text : "yes");
		put_source(out, line_start, c, v);
	}
	if (given)
		return;
	buf_printf(out, "# %s = ", row->name);
	buf_str(out, put_default(out, row, (const char *)from + offset + row->offset) ? "\n"
										      : "(none)\n");
}

void config_print(const struct config *c, const struct option_usage *usage, const void *from,
		  struct buf *out)
{
	const struct option_row *row;
	struct option_walk w;
	size_t offset;

	buf_printf(out, "# %s: what is in force, and from where; what nobody set is a comment.\n",
		   usage->name);
	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));)
		if (row->name && row->kind != OPTION_KIND_HEADING &&
		    row->kind != OPTION_KIND_IGNORE)
			put_values(out, c, row, offset, from);
}
