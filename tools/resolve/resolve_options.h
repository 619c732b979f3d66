/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_RESOLVE_OPTIONS_H
#define RAWSTACK_RESOLVE_OPTIONS_H
/* The options of `rawstack resolve`, in its own form and in addr2line's, read and checked. */
#include "err.h"
#include "limits.h"
#include "options.h"
#include "resolve_print.h"
#include "server_options.h"

/* The most files of --filter: a program, and libraries that are not where the log says. */
#define RESOLVE_FILES_MAX 64

struct resolve_options {
	struct server_options service;
	const char *build_id, *name;
	const char *labels[LIMIT_LABELS];
	size_t label_count;
	const char *files[RESOLVE_FILES_MAX]; /* one, except with --filter */
	size_t file_count;
	const char *pid, *section;
	enum resolve_style style;
	uint32_t asked_style; /* the style that was asked for, plus 1; 0: none */
	struct resolve_gnu gnu;
	bool file_off, return_address;
	bool drop_in; /* called as addr2line, or with its option letters */
	bool mangled, demangled, no_cache;
	bool filter, kernel, source, links;
};

/* The options of `rawstack resolve`. */
extern const struct option_usage resolve_usage;

/* Reads and checks a command line; if argv[0] is addr2line, that program's. `o` borrows from argv,
 * and *ret are the addresses. Returns what options_parse() does. */
int resolve_options_parse(int argc, char **argv, struct resolve_options *o, struct operands *ret,
			  struct err *err) _must_check_;

#endif
