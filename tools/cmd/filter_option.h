/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILTER_OPTION_H
#define RAWSTACK_FILTER_OPTION_H
/* The options that choose samples and edit stacks, shared by every command that reads profiles:
 * their names, meaning and help. */
#include "options.h"
#include "profile_input.h"

/* Rows that fill a struct profile_filter. */
extern const struct option_row filter_rows[];

/* The paragraphs below these options in help. */
#define FILTER_NOTES                                                                              \
	"REGEX is POSIX extended (regex(7)), without back-references; three repeats in a row "    \
	"(x+*+), and patterns that would take long to compile, are refused.\n"                    \
	"A profile may be a pipe, and - is standard input: perf script | rawstack top -\n"        \
	"Files of a directory that cannot be read, or that would cost too much, are left out: a " \
	"line says so, and the exit status is 1."

#endif
