/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OPTIONS_PRIV_H
#define RAWSTACK_OPTIONS_PRIV_H
/* Iterates over the rows of a usage as one sequence. Private to this room. */
#include "options.h"

/* The depth of tables in tables: profile filters are in a view, which is in a command. */
#define OPTION_DEPTH 4

/* The most characters that an error shows of a word that somebody typed. */
#define OPTIONS_SHOWN_MAX 60

/* The most bytes of a help text. The text is ours, so more is a bug. */
#define OPTIONS_HELP_MAX 65536

/* Goes through the rows of a table, and of the tables in it, in the order of help. */
struct option_walk {
	struct {
		const struct option_row *next;
		size_t offset; /* offset of the struct that the rows fill, in the outermost one */
	} tables[OPTION_DEPTH];
	size_t depth;
};

void option_walk_init(struct option_walk *w, const struct option_usage *usage);

/* Returns the next row that is not a table, or NULL behind the last; *ret_offset as in struct
 * option_walk. */
const struct option_row *option_walk_next(struct option_walk *w, size_t *ret_offset);

/* The rows of --help, and of --version for a usage that has one. They come after its own rows. */
extern const struct option_row option_row_help, option_row_version;

/* Find the row of a letter, or of the beginning of a long name. NULL if there is none, or if
 * several names begin so, which sets *is_ambiguous. */
const struct option_row *option_find_letter(const struct option_usage *usage, char letter,
					    size_t *ret_offset);
const struct option_row *option_find_name(const struct option_usage *usage, const char *name,
					  size_t len, size_t *ret_offset, bool *is_ambiguous);

#endif
