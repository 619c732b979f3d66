/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of configuration files. */
#include <string.h>

#include "config_priv.h"

#define BLANKS " \t\r"

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

/* Cuts off the blanks at the end. */
static void cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len && strchr(BLANKS, text[len - 1]))
		text[--len] = 0;
}

/* Takes a value in quotes, in which \" and \\ stand for themselves, and nothing but a comment
 * behind it. */
static bool take_quoted(char *at, const char **ret, const char **ret_why)
{
	char *out = at;

	*ret = out;
	for (at++; *at && *at != '"'; at++) {
		if (at[0] == '\\' && (at[1] == '"' || at[1] == '\\'))
			at++;
		*out++ = *at;
	}
	if (!*at) {
		*ret_why = "the quote is not closed";
		return false;
	}
	at++;
	at += strspn(at, BLANKS);
	*out = 0;
	if (*at && *at != '#') {
		*ret_why = "something stands behind the closing quote";
		return false;
	}
	return true;
}

/* Takes a value without quotes, to the end of the line or a blank and #. */
static void take_plain(char *at, const char **ret)
{
	*ret = at;
	for (char *p = at; *p; p++)
		if (*p == '#' && (p == at || strchr(BLANKS, p[-1]))) {
			*p = 0;
			break;
		}
	cut_blanks(at);
}

bool config_take_line(char **text, struct config_line *ret, const char **ret_why)
{
	char *at = *text, *end = strchr(at, '\n'), *name_end;

	*ret = (struct config_line){0};
	*text = end ? end + 1 : NULL;
	if (end)
		*end = 0;
	at += strspn(at, BLANKS);
	if (!*at || *at == '#')
		return true;
	for (name_end = at; is_name_byte(*name_end);)
		name_end++;
	ret->name = at;
	at = name_end + strspn(name_end, BLANKS);
	if (name_end == ret->name || *at != '=') {
		*ret_why = "this is not NAME = VALUE, nor NAME = yes";
		return false;
	}
	*name_end = 0;
	at += 1 + strspn(at + 1, BLANKS);
	if (*at == '"')
		return take_quoted(at, &ret->value, ret_why);
	take_plain(at, &ret->value);
	if (!*ret->value)
		ret->value = NULL;
	return true;
}

void config_put_value(struct buf *out, const char *value)
{
	const size_t len = strlen(value);

	if (len && !strpbrk(value, "\"#\\") && !strchr(BLANKS, value[0]) &&
	    !strchr(BLANKS, value[len - 1])) {
		buf_str(out, value);
		return;
	}
	buf_str(out, "\"");
	for (; *value; value++)
		buf_printf(out, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
	buf_str(out, "\"");
}
