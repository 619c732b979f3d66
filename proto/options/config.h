/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CONFIG_H
#define RAWSTACK_CONFIG_H
/*
 * The configuration of a daemon: the same rows that describe its command line describe its file and
 * its environment, so that every option is a key, and none of the three knows one that the others
 * do not. The command line goes over the environment, and that over the file; what a lower one says
 * of an option that a higher one names counts for nothing.
 *
 *	# /etc/rawstack/mole.conf: a key is the long name of an option.
 *	depth = 12
 *	where = "/srv/a # in the name"    # text behind a blank and # is a comment
 *	fast = yes                        # an option without argument: yes or no
 *	file = one                        # what may be repeated on the command line
 *	file = two                        # may be repeated here
 *
 * In the environment the option --store-bytes of a program whose prefix is RAWSTACK_MOLE_ is
 * RAWSTACK_MOLE_STORE_BYTES, and holds one value.
 *
 * A program with a file (struct option_usage .config) has the options --config FILE, --check-config
 * and --print-config besides its own.
 *
 *	rc = config_parse(&usage, argc, argv, &d, &config, &err);
 *	if (!rc)
 *		rc = check_what_goes_together(&d, &err);
 *	if (!rc)
 *		rc = config_answer(&config, &usage, &d);
 *	if (rc)
 *		return stdout_end(rc, &err);
 *
 * A file has at most CONFIG_FILE_MAX bytes. Not for threads, but for different structs.
 */
#include "options.h"

#define CONFIG_FILE_MAX 65536

/* Where a value is from; a later one goes over an earlier one. */
enum config_source {
	CONFIG_DEFAULT,
	CONFIG_FILE,
	CONFIG_ENVIRONMENT,
	CONFIG_COMMAND_LINE,
};

extern const char CONFIG_NO[];

/* One value that somebody gave, in the order in which they were read. */
struct config_value {
	const struct option_row *row;
	size_t offset;    /* of the struct that the row is for, in the outermost one */
	const char *text; /* NULL: an option without argument, or without its optional one;
			     CONFIG_NO itself: not this option, whatever a lower source says */
	uint32_t line;    /* of the file */
	enum config_source source;
};

/* Zero before the first call. The texts that options were given may lie in it: it has to live as
 * long as they are used. */
struct config {
	const char *path; /* the file's, borrowed from the command line or the usage; NULL: none */
	char *text;       /* its contents, cut into strings; NULL: there is none */
	struct config_value *values;
	size_t count, cap;
	bool wants_check, wants_print;
};

/*
 * Reads the command line as options_parse() does, which is to have no operands, then the
 * environment, then the file of --config, or that of the usage if it is there; and stores what
 * counts into the struct that the rows describe.
 *
 * 0; 1: help or the version was asked for, and is printed; ERR_USAGE: an argument, a variable (it
 * is named) or a line (FILE:LINE); the code of a setter; ERR_NOT_FOUND, ERR_IO, ERR_LIMIT: the file
 * cannot be read; ERR_MEMORY. The caller calls config_done() in each case.
 */
int config_parse(const struct option_usage *usage, int argc, char **argv, void *into,
		 struct config *ret, struct err *err) _must_check_;

/* For --check-config and --print-config, after the program has made all checks of its own: prints
 * what was asked for, and returns 1: nothing else is to be done. 0: neither was asked for. `from`
 * is the struct that config_parse() filled. ERR_MEMORY. */
int config_answer(const struct config *c, const struct option_usage *usage, const void *from,
		  struct err *err) _must_check_;

/* Calls each() with the rows of which the two say different things, as after the file was read
 * again. */
void config_compare(const struct option_usage *usage, const struct config *a,
		    const struct config *b, void (*each)(void *ctx, const struct option_row *row),
		    void *ctx);

void config_done(struct config *c);

#endif
