/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_OPTIONS_PRIV_H
#define RAWSTACK_OPTIONS_PRIV_H
/* Iterates over the rows of a usage as one sequence. Private to this room. */
#include "options.h"

/* The depth of tables in tables: the files for the service are in profile filters, which are in a
 * view, which is in a command. */
#define OPTION_DEPTH 5

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

/* Rows that programs have besides their own: --help; and --version and the options of a file if the
 * usage has them. */
extern const struct option_row option_row_help, option_row_version;
extern const struct option_row option_row_config, option_row_check, option_row_print;

/* Returns those of these rows that `usage` has, ended by NULL. */
#define OPTION_COMMON_ROWS 5
void option_common_rows(const struct option_usage *usage,
			const struct option_row *ret[static OPTION_COMMON_ROWS + 1]);

/* Stores an argument in the struct at `base` that the row describes. Errors name the option as
 * `option`. Returns 0 or a negative code. */
int option_store(const struct option_row *row, const char *option, void *base, const char *argument,
		 struct err *err) _must_check_;

/* Takes an option of a command line, with its argument or NULL. `option` is its name with dashes.
 * Returns 0 or a negative code. */
typedef int option_take_fn(void *ctx, const struct option_row *row, size_t offset,
			   const char *option, const char *argument, struct err *err);

/* Reads a command line as options_parse() does, and hands its options to take(). */
int option_read_line(const struct option_usage *usage, int argc, char **argv, option_take_fn *take,
		     void *ctx, struct operands *ret, struct err *err) _must_check_;

/* Returns the name, of `count`, that is most like the mistyped `word`, or NULL if none is. */
const char *option_nearest(const char *word, const char *const *names, size_t count);

/* Find the row of a letter, or of the beginning of a long name. NULL if there is none, or if
 * several names begin so, which sets *is_ambiguous. */
const struct option_row *option_find_letter(const struct option_usage *usage, char letter,
					    size_t *ret_offset);
const struct option_row *option_find_name(const struct option_usage *usage, const char *name,
					  size_t len, size_t *ret_offset, bool *is_ambiguous);

#endif
