/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OPTIONS_PRIV_H
#define RAWSTACK_OPTIONS_PRIV_H
/* The rows of a usage as one sequence, for the files beside this one. */
#include "options.h"

/* Tables in tables: profile filters in a view in a command. */
#define OPTION_DEPTH 4

/* Bytes of a whole help text, which is ours: more is a mistake. */
#define OPTIONS_HELP_MAX 65536

/* Goes through the rows of a table and of those in it, in the order of help. */
struct option_walk {
	struct {
		const struct option_row *next;
		size_t offset; /* of the struct that the rows are for, in the outermost one */
	} tables[OPTION_DEPTH];
	size_t depth;
};

void option_walk_init(struct option_walk *w, const struct option_usage *usage);

/* The next row that is no table, NULL behind the last; *ret_offset as in struct option_walk. */
const struct option_row *option_walk_next(struct option_walk *w, size_t *ret_offset);

/* --help, and --version where the usage has one: after its own rows. */
extern const struct option_row option_row_help, option_row_version;

/* The row of a letter or of the beginning of a long name; NULL: there is none, or (*is_ambiguous)
 * several begin so. */
const struct option_row *option_find_letter(const struct option_usage *usage, char letter,
					    size_t *ret_offset);
const struct option_row *option_find_name(const struct option_usage *usage, const char *name,
					  size_t len, size_t *ret_offset, bool *is_ambiguous);

#endif
