/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILTER_OPTION_H
#define RAWSTACK_FILTER_OPTION_H
/* The options by which every command that reads profiles chooses samples and edits stacks: one
 * place for their names, their meaning and their help. */
#include "profile_input.h"

enum {
	FILTER_PID = 512, /* above what commands use for their own */
	FILTER_THREAD,
	FILTER_MODULE,
	FILTER_STATE,
	FILTER_EVENT,
	FILTER_LABEL,
	FILTER_SINCE,
	FILTER_UNTIL,
	FILTER_FOCUS,
	FILTER_IGNORE,
	FILTER_SHOW,
	FILTER_HIDE,
	FILTER_SHOW_FROM,
	FILTER_NO_INLINES,
	FILTER_DEMANGLE,
	FILTER_GROUP_BY,
	FILTER_SCHEMA,
	FILTER_NO_SYMBOLIZE,
	FILTER_SERVER,
	FILTER_EXE = 'e',
	FILTER_DEBUG_DIR = FILTER_SERVER + 1,
};

/* Rows for an array of struct option. */
/* clang-format off */
#define FILTER_OPTIONS                                              \
	{"pid", required_argument, NULL, FILTER_PID},               \
	{"thread", required_argument, NULL, FILTER_THREAD},         \
	{"module", required_argument, NULL, FILTER_MODULE},         \
	{"state", required_argument, NULL, FILTER_STATE},           \
	{"event", required_argument, NULL, FILTER_EVENT},           \
	{"label", required_argument, NULL, FILTER_LABEL},           \
	{"since", required_argument, NULL, FILTER_SINCE},           \
	{"until", required_argument, NULL, FILTER_UNTIL},           \
	{"focus", required_argument, NULL, FILTER_FOCUS},           \
	{"ignore", required_argument, NULL, FILTER_IGNORE},         \
	{"show", required_argument, NULL, FILTER_SHOW},             \
	{"hide", required_argument, NULL, FILTER_HIDE},             \
	{"show-from", required_argument, NULL, FILTER_SHOW_FROM},   \
	{"no-inlines", no_argument, NULL, FILTER_NO_INLINES},       \
	{"demangle", required_argument, NULL, FILTER_DEMANGLE},     \
	{"group-by", required_argument, NULL, FILTER_GROUP_BY},     \
	{"no-symbolize", no_argument, NULL, FILTER_NO_SYMBOLIZE},   \
	{"server", required_argument, NULL, FILTER_SERVER},         \
	{"exe", required_argument, NULL, FILTER_EXE},               \
	{"debug-dir", required_argument, NULL, FILTER_DEBUG_DIR},   \
	{"schema", required_argument, NULL, FILTER_SCHEMA}
/* clang-format on */

#define FILTER_HELP                                                                                \
	"\n"                                                                                       \
	"Which samples, and what of their stacks:\n"                                               \
	"  --pid PID          only this process\n"                                                 \
	"  --thread NAME      only threads of this name\n"                                         \
	"  --module PART      only stacks through a binary whose path contains PART\n"             \
	"  --label KEY=VALUE  only samples with this label; KEY!=VALUE without it, "               \
	"KEY=~REGEX,\n"                                                                            \
	"                     KEY!~REGEX; may be repeated; --state X and --event X are "           \
	"short for\n"                                                                              \
	"                     --label state=X and --label event=X\n"                               \
	"  --since TIME       only files of this time on (of a spool: samples): 2026-01-31,\n"     \
	"                     2026-01-31T12:00:00Z, seconds since 1970, or how long ago: 90s, "    \
	"15m,\n"                                                                                   \
	"                     2h, 7d; files that say no time are left out, and counted\n"          \
	"  --until TIME       and up to this time\n"                                               \
	"  --schema FILE      apply a stack schema first: a file, or copies, locks, tax; may be\n" \
	"                     repeated (see tools/schemas/README.md)\n"                            \
	"  --focus REGEX      only stacks with a frame whose function, file or binary matches\n"   \
	"  --ignore REGEX     only stacks without one\n"                                           \
	"  --show-from REGEX  without the callers of the outermost frame that matches\n"           \
	"  --hide REGEX       without frames that match\n"                                         \
	"  --show REGEX       only frames that match\n"                                            \
	"  --no-inlines       inlined calls count for the function that holds them\n"              \
	"  --demangle HOW     none, short (no parameters) or full; what has no name in the\n"      \
	"                     profile is named short if not given\n"                               \
	"  --group-by WHAT    function, file, line, module, or label:KEY\n"                        \
	"\n"                                                                                       \
	"Names of addresses that come without, by build id:\n"                                     \
	"  --server HOST:PORT from this service (or $RAWSTACK_SERVER), and what it lacks from "    \
	"files\n"                                                                                  \
	"                     of this machine, where the profile says they are or:\n"              \
	"  -e FILE            a binary or its debug file; may be repeated\n"                       \
	"  --debug-dir DIR    where debug files are: DIR/.build-id/ab/cdef.debug\n"                \
	"  --no-symbolize     leave addresses as they are\n"                                       \
	"\n"                                                                                       \
	"REGEX is POSIX extended (regex(7)), without back-references; three repeats behind each\n" \
	"other (x+*+), and what would take long to compile, are refused.\n"                        \
	"A profile may be a pipe, and - is standard input: perf script | rawstack top -\n"         \
	"Files of a directory that cannot be read, or were made to cost, are left out: a line\n"   \
	"says so, and the exit status is 1.\n"

/* What command_option() returned, with `value` for it: 1 when it was a filter's and is taken, 0
 * when it is not, ERR_USAGE. `value` must outlive the filter. */
int filter_option(int option, const char *value, struct profile_filter *f, struct err *err);

#endif
