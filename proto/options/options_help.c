/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --help, for terminals of 80 columns. */
#include <string.h>

#include "options_priv.h"

enum {
	WIDTH = 80,
	INDENT = 2,       /* columns in front of names of options */
	NAMES_WIDTH = 24, /* the most in front of the help; longer names have a line of their own */
};

static void put_blanks(struct buf *out, size_t count)
{
	buf_printf(out, "%*s", (int)count, "");
}

/* Appends text whose lines begin at column `indent`, the first at `column`. It breaks at single
 * blanks, and at newlines. A line that begins with a blank is not broken. Ends its last line. */
static void put_text(struct buf *out, const char *text, size_t column, size_t indent)
{
	while (*text) {
		const size_t line_len = strcspn(text, "\n");
		const char *const line_end = text + line_len;
		bool is_first = true;

		if (column < indent) {
			put_blanks(out, indent - column);
			column = indent;
		}
		if (*text == ' ') {
			buf_append(out, text, line_len);
			text = line_end;
		}
		while (text < line_end) {
			const size_t len = strcspn(text, " \n");

			if (!is_first && column + 1 + len > WIDTH) {
				buf_str(out, "\n");
				put_blanks(out, indent);
				column = indent;
				is_first = true;
			}
			if (!is_first)
				buf_str(out, " ");
			buf_append(out, text, len);
			column += len + !is_first;
			is_first = false;
			text += len;
			text += *text == ' ';
		}
		buf_str(out, "\n");
		column = 0;
		text += *text == '\n';
	}
}

/* Appends the names of an option, such as "-n, --rows N". */
static void put_help_names(struct buf *out, const struct option_row *row)
{
	if (row->letter)
		buf_printf(out, "-%c%s", row->letter, row->name ? ", " : "");
	if (row->name)
		buf_printf(out, "--%s", row->name);
	if (row->argument)
		buf_printf(out, row->is_optional ? "[=%s]" : " %s", row->argument);
}

/* Returns the width of the column of names. Longer names have their help on the next line. */
static size_t names_width(const struct option_usage *usage)
{
	const struct option_row *row;
	struct option_walk w;
	size_t offset, width = 0;

	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));) {
		_cleanup_(buf_done) struct buf names = BUF_INIT(OPTIONS_HELP_MAX);

		if (!row->help || row->kind == OPTION_KIND_HEADING)
			continue;
		put_help_names(&names, row);
		if (names.len > width && names.len <= NAMES_WIDTH)
			width = names.len;
	}
	return width;
}

static void put_row(struct buf *out, const struct option_row *row, size_t width)
{
	const size_t column = INDENT + width + 2, start = out->len;

	if (row->kind == OPTION_KIND_HEADING) {
		buf_str(out, "\n");
		put_text(out, row->help, 0, 0);
		return;
	}
	put_blanks(out, INDENT);
	put_help_names(out, row);
	if (out->len - start + 2 > column) {
		buf_str(out, "\n");
		put_text(out, row->help, 0, column);
	} else {
		put_text(out, row->help, out->len - start, column);
	}
}

static void put_synopsis(struct buf *out, const struct option_usage *usage)
{
	const char *at = usage->synopsis ? usage->synopsis : "";
	const char *begin = "usage: ";

	do {
		const size_t len = strcspn(at, "\n"), name_len = strlen(usage->name);
		_cleanup_(buf_done) struct buf line = BUF_INIT(OPTIONS_HELP_MAX);

		buf_append(&line, at, len);
		buf_printf(out, "%s%s%s", begin, usage->name, len ? " " : "\n");
		put_text(out, buf_cstr(&line), strlen(begin) + name_len + 1,
			 strlen(begin) + name_len + 1);
		begin = "       ";
		at += len;
	} while (*at++);
}

void options_help(const struct option_usage *usage, struct buf *out)
{
	const size_t width = names_width(usage);
	const struct option_row *common[OPTION_COMMON_ROWS + 1];
	const struct option_row *row;
	struct option_walk w;
	bool is_first = true;
	size_t offset;

	put_synopsis(out, usage);
	if (usage->about) {
		buf_str(out, "\n");
		put_text(out, usage->about, 0, 0);
	}
	for (option_walk_init(&w, usage); (row = option_walk_next(&w, &offset));) {
		if (!row->help)
			continue;
		if (is_first && row->kind != OPTION_KIND_HEADING)
			buf_str(out, "\n");
		is_first = false;
		put_row(out, row, width);
	}
	option_common_rows(usage, common);
	for (size_t i = 0; common[i] != &option_row_help; i++)
		put_row(out, common[i], width);
	if (usage->notes) {
		buf_str(out, "\n");
		put_text(out, usage->notes, 0, 0);
	}
}
