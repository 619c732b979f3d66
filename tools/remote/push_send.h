/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PUSH_SEND_H
#define RAWSTACK_PUSH_SEND_H
/*
 * Sends files to the service, several at a time. It prints a line on stdout for each file whose
 * table is built, and a line on stderr for each failure.
 */
#include "build_id.h"
#include "push_files.h"
#include "remote.h"

/* The texts and labels are borrowed. */
struct push_options {
	struct server_options service;
	/* The name to store in place of the file's, and the release that the files belong to; NULL:
	 * none is given. */
	const char *name, *version;
	bool json, pin, replace; /* json: print objects; the others are as in BeginRequest */
	bool table;              /* build the table here and send only that */
	bool alone;              /* send no companion files */
	uint32_t jobs;           /* files at a time */
	uint32_t patience_ms, contact_ms; /* upload.h */
	Rawstack__V1__Label **labels;
	size_t label_count;
};

/* The symbols of a kernel, which are not a file of the list. */
struct push_kallsyms {
	int fd;
	const char *path;
	struct build_id id;
};

/*
 * Sends all files, and the kernel's symbols unless they are NULL. It fails if a file could not be
 * sent or was not wholly understood; *err is one of the failures, and the others have been printed.
 * Sending ends if the service stays away.
 */
int push_send(const struct push_options *o, const struct push_files *files,
	      const struct push_kallsyms *kernel, struct err *err) _must_check_;

#endif
