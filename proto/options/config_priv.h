/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_CONFIG_PRIV_H
#define RAWSTACK_CONFIG_PRIV_H
/* The grammar of configuration files, and the output of --print-config. Private to this room. */
#include "config.h"
#include "options_priv.h"

/* A line of a file, cut into strings in place. */
struct config_line {
	const char *name;  /* NULL: an empty line, or a comment */
	const char *value; /* NULL: nothing behind the name */
};

/* Takes the next line at *text, which ends in NUL, and moves *text behind it, or to NULL behind the
 * last. Returns false if the line is wrong, and why in *ret_why. */
bool config_take_line(char **text, struct config_line *ret, const char **ret_why);

/* Appends a value as in a file: in quotes if they are needed. */
void config_put_value(struct buf *out, const char *value);

/* Returns the row of a key, by its whole name, or NULL. */
const struct option_row *config_find_row(const struct option_usage *usage, const char *name,
					 size_t *ret_offset);

/* The most bytes of the name of a variable: a prefix and the name of an option. */
#define CONFIG_VARIABLE_MAX 100

/* Returns the text of the variable that counts for a row, and its name in ret_name[], or NULL if
 * there is none. An empty variable is as if it were not set. */
const char *config_find_variable(const struct option_usage *usage, const struct option_row *row,
				 char ret_name[static CONFIG_VARIABLE_MAX]);

/* Returns whether an option may be given several times. */
bool config_may_repeat(const struct option_row *row);

/* Appends the lines of --print-config. */
void config_print(const struct config *c, const struct option_usage *usage, const void *from,
		  struct buf *out);

#endif
