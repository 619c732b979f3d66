/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CONFIG_H
#define RAWSTACK_CONFIG_H
/*
 * Reads the configuration of a daemon. The rows that describe its command line also describe its
 * file and its environment, so every option is a key, and none of the three knows one that the
 * others do not. The command line overrides the environment, and that overrides the file; a lower
 * value of an option that a higher source sets is checked and ignored.
 *
 *	# mole.conf: a key is the long name of an option.
 *	depth = 12
 *	where = "/srv/a # in the name"    # text behind a blank and # is a comment
 *	fast = yes                        # an option without argument: yes or no
 *	file = one                        # what may be repeated on the command line
 *	file = two                        # may be repeated here
 *
 * In the environment the option --store-bytes of a program whose prefix is RAWSTACK_MOLE_ is
 * RAWSTACK_MOLE_STORE_BYTES, and holds one value. A row may name another variable besides, which
 * several programs read; the one of the program overrides it.
 *
 * A program with a file (struct option_usage .config) has the options --config FILE, --check-config
 * and --print-config besides its own.
 *
 *	rc = config_parse(&usage, argc, argv, &d, &config, err);
 *	if (rc)
 *		return rc;
 *	rc = check_what_goes_together(&d, err);
 *	if (rc)
 *		return rc;
 *	rc = config_answer(&config, &usage, &d, err);
 *	if (rc)
 *		return rc;
 *
 * An empty variable is as if it were not set. On the command line and in a file, a row that
 * .may_be_empty takes an empty text for none, which overrides lower sources as any value does;
 * other rows without a value are an error in a file.
 *
 * Clients have no prefix: only rows with a variable of their own are in the environment, and the
 * program names the file (server_options.h), so they lack the three options.
 *
 * A file has at most CONFIG_FILE_MAX bytes. Several threads may use different structs.
 */
#include "options.h"

#define CONFIG_FILE_MAX 65536

/* The source of a value; a later one overrides an earlier one. */
enum config_source {
	CONFIG_DEFAULT,
	CONFIG_FILE,
	CONFIG_ENVIRONMENT,
	CONFIG_COMMAND_LINE,
};

extern const char CONFIG_NO[];

/* One given value, in the order of reading. */
struct config_value {
	const struct option_row *row;
	size_t offset;    /* offset of the struct that the row fills, in the outermost one */
	const char *text; /* NULL: an option without argument, or without its optional one;
			     CONFIG_NO itself: not this option, whatever a lower source says */
	uint32_t line;    /* line of the file */
	enum config_source source;
};

/* Zero it before the first call. It may hold the texts of options, so it has to live as long as
 * they are used. */
struct config {
	const char *path; /* path of the file, borrowed from argv or the caller; or NULL */
	char *text;       /* content of the file, cut into strings; or NULL */
	struct config_value *values;
	size_t count, cap;
	bool wants_check, wants_print;
};

/*
 * Reads the command line as options_parse() does, without operands, then the environment, then the
 * file of --config, and stores the values that count into the struct that the rows describe.
 *
 * Returns 0; 1 if help or the version is printed; ERR_USAGE for an argument, a variable (named) or
 * a line (FILE:LINE); the code of a setter; ERR_NOT_FOUND, ERR_IO or ERR_LIMIT if the file cannot
 * be read; or ERR_MEMORY. The caller calls config_done() in each case.
 */
int config_parse(const struct option_usage *usage, int argc, char **argv, void *into,
		 struct config *ret, struct err *err) _must_check_;

/* Adds the texts of a struct that options_parse() filled, as values of the command line. The rows
 * of `usage` describe that struct, or the part of it at `from`. */
int config_add_given(const struct option_usage *usage, const void *from, struct config *c,
		     struct err *err) _must_check_;

/* Does the part of config_parse() that follows the command line: reads the environment and the file
 * at ret->path, if that is not NULL, and stores all values. */
int config_complete(const struct option_usage *usage, void *into, struct config *ret,
		    struct err *err) _must_check_;

/* Returns the source of the option of this name. */
enum config_source config_source_of(const struct config *c, const char *name);

/* Answers --check-config and --print-config, after all checks of the program itself: prints what
 * was asked for and returns 1, which leaves nothing to do. Returns 0 if neither was asked for, or
 * ERR_MEMORY. `from` is the struct that config_parse() filled. */
int config_answer(const struct config *c, const struct option_usage *usage, const void *from,
		  struct err *err) _must_check_;

/* Calls each() with the rows whose values differ, as after the file was read again. */
void config_compare(const struct option_usage *usage, const struct config *a,
		    const struct config *b, void (*each)(void *ctx, const struct option_row *row),
		    void *ctx);

void config_done(struct config *c);

#endif
