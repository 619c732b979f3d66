/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_LOG_H
#define RAWSTACK_RESOLVE_LOG_H
/* Copies a log and adds names behind its addresses, for `resolve --filter`. */
#include "module_set.h"
#include "process_map.h"

struct log_filter {
	struct module_set modules;
	/* Files that the user named: the first for bare addresses, all for modules by base name. */
	const char *const *files;
	size_t file_count;
	const struct process_map *process; /* the process of bare addresses, or NULL */
	bool return_address;               /* all addresses are return addresses */
	size_t found, named;               /* frames seen, and those that got a name */
};

/*
 * Copies the log from a descriptor to standard output, line by line as it arrives, with ` function
 * at file:line` behind each frame that it can name. Lines longer than LIMIT_LOG_LINE_LEN are copied
 * as they are, because a line is held in memory until its end. Returns ERR_IO or ERR_MEMORY.
 */
#define LIMIT_LOG_LINE_LEN ((size_t)65536)
int resolve_log(struct log_filter *f, int fd, struct err *err) _must_check_;

#endif
