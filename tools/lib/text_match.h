/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEXT_MATCH_H
#define RAWSTACK_TEXT_MATCH_H
/* Matches users' regular expressions (POSIX extended, regex(7)) against untrusted bytes. */
#include <regex.h>

#include "buf.h"
#include "err.h"

/* Only this many bytes of a text are searched, and `$` matches only the real end. regexec() may
 * read the whole rest for each possible start, and takes 40 s for 64 KiB. */
#define TEXT_MATCH_LEN 4096

struct text_match {
	regex_t re;
	bool set;
};

/* Compiles a pattern. `what` names the option or line in messages. Returns ERR_USAGE, also for a
 * pattern that would take long: one with back-references, with repeats of many repeats, or slow on
 * a text made from its own letters. A doubtful pattern is tried in a child process, so call this
 * before there are threads and RPC. */
int text_match_compile(struct text_match *m, const char *what, const char *pattern,
		       struct err *err) _must_check_;
void text_match_done(struct text_match *m);

bool text_match(const struct text_match *m, const void *p, size_t len);

/* Appends the text with its first match replaced; \0 to \9 in `with` stand for groups. Returns
 * false if there is no match. */
bool text_match_replace(const struct text_match *m, const void *p, size_t len, const char *with,
			struct buf *out);

#endif
