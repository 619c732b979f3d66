/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "addr2line.h"

/* Whether the last argument is a long option of these rows, with a value it does not take. */
static bool has_needless_value(const char *text, int letter, const struct option *options)
{
	size_t len = strcspn(text, "=");

	for (; text[len] && options->name; options++)
		if (options->val == letter && !options->has_arg && len > 2 &&
		    strncmp(text + 2, options->name, len - 2) == 0)
			return true;
	return false;
}

int command_option(int argc, char **argv, const char *short_options, const struct option *options,
		   struct err *err)
{
	/* By that name it is no command, but a program. */
	const char *own = addr2line_is_name(argv[0]) ? "" : "rawstack ";
	int c;

	opterr = 0;
	c = getopt_long(argc, argv, short_options, options, NULL);
	if (c != '?' && c != ':')
		return c;
	if (c == ':')
		err_set(err, ERR_USAGE, "%s: option %s needs a value", argv[0], argv[optind - 1]);
	else if (optopt && has_needless_value(argv[optind - 1], optopt, options))
		err_set(err, ERR_USAGE, "%s: option %s takes no value", argv[0], argv[optind - 1]);
	else if (optopt)
		err_set(err, ERR_USAGE, "%s: unknown option -%c (see %s%s --help)", argv[0], optopt,
			own, argv[0]);
	else
		err_set(err, ERR_USAGE, "%s: unknown option %s (see %s%s --help)", argv[0],
			argv[optind - 1], own, argv[0]);
	return '?';
}

int command_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
		   struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || *ret < min || *ret > max)
		return err_set(err, ERR_USAGE, "%s %s: not a number from %llu to %llu", option,
			       text, (unsigned long long)min, (unsigned long long)max);
	return 0;
}

int command_usage(const struct command *c, const char *what, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s: %s (see rawstack %s --help)", c->name, what, c->name);
}
