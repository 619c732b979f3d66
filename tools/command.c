/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>

int command_option(int argc, char **argv, const char *short_options, const struct option *options,
		   struct err *err)
{
	int c;

	opterr = 0;
	c = getopt_long(argc, argv, short_options, options, NULL);
	if (c != '?' && c != ':')
		return c;
	if (c == ':')
		err_set(err, ERR_USAGE, "%s: option %s needs a value", argv[0], argv[optind - 1]);
	else if (optopt && !argv[optind - 1][0])
		err_set(err, ERR_USAGE, "%s: unknown option -%c", argv[0], optopt);
	else
		err_set(err, ERR_USAGE, "%s: unknown option %s (see rawstack %s --help)", argv[0],
			argv[optind - 1], argv[0]);
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
