/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_LOG_H
#define RAWSTACK_RESOLVE_LOG_H
/* A log with addresses, given out with their names behind them: `resolve --filter`. */
#include "module_set.h"
#include "process_map.h"

struct log_filter {
	struct module_set modules;
	/* Files that were named: for bare addresses the first, for others by their base name. */
	const char *const *files;
	size_t file_count;
	const struct process_map *process; /* whose bare addresses are, or NULL */
	bool return_address;               /* all are of the instruction after a call */
	size_t found, named;               /* frames seen, and of them named */
};

/*
 * Copies the log from a descriptor to standard output, each line as it is with ` function at
 * file:line` behind each frame that could be named, as it comes. Lines longer than
 * LOG_LINE_MAX are copied untouched. ERR_IO, ERR_MEMORY.
 */
#define LOG_LINE_MAX ((size_t)65536)
int resolve_log(struct log_filter *f, int fd, struct err *err) _must_check_;

#endif
