/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_SEND_H
#define RAWSTACK_PUSH_SEND_H
/*
 * Sends files to the service, several at a time, and prints what was understood of each: a line on
 * stdout when its table is built, a line on stderr for what failed.
 */
#include "build_id.h"
#include "push_files.h"
#include "remote.h"

struct push_options {
	const char *server, *name, *version;
	bool json, pin, replace;
	bool table;    /* build here, send only the table */
	bool alone;    /* without the files that go with them */
	uint32_t jobs; /* files at a time */
	uint32_t patience_ms;
	Rawstack__V1__Label **labels;
	size_t label_count;
};

/* Symbols of a kernel, which are no file of the list. */
struct push_kallsyms {
	int fd;
	const char *path;
	struct build_id id;
};

/*
 * All of them, and the kernel's symbols unless they are NULL. On failure *err is one of the
 * failures, and the others were printed: some file could not be sent, or not all of it was
 * understood. A service that stays away ends all of it.
 */
int push_send(const struct push_options *o, const struct push_files *files,
	      const struct push_kallsyms *kernel, struct err *err) _must_check_;

#endif
