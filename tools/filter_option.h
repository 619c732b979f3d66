/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_FILTER_OPTION_H
#define RAWSTACK_FILTER_OPTION_H
/* The options by which every command that reads profiles chooses samples: one place for their
 * names, their meaning and their help. */
#include "profile_input.h"

enum {
	FILTER_PID = 512, /* above what commands use for their own */
	FILTER_THREAD,
	FILTER_MODULE,
};

/* Rows for an array of struct option. */
#define FILTER_OPTIONS                                              \
	{"pid", required_argument, NULL, FILTER_PID},               \
		{"thread", required_argument, NULL, FILTER_THREAD}, \
	{                                                           \
		"module", required_argument, NULL, FILTER_MODULE    \
	}

#define FILTER_HELP                                      \
	"  --pid PID        only this process\n"         \
	"  --thread NAME    only threads of this name\n" \
	"  --module PART    only stacks through a binary whose path contains PART\n"

/* What command_option() returned, with `value` for it: 1 when it was a filter's and is taken, 0
 * when it is not, ERR_USAGE. */
int filter_option(int option, const char *value, struct profile_filter *f, struct err *err);

#endif
