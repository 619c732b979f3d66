/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_TEXT_MATCH_H
#define RAWSTACK_TEXT_MATCH_H
/* Regular expressions of users (POSIX extended, regex(7)) on untrusted bytes of any content. */
#include <regex.h>

#include "buf.h"
#include "err.h"

/* Only this many bytes of a text are searched, and `$` matches only the real end: for each possible
 * start regexec() may look at all that follows. 64 KiB take 40 s. */
#define TEXT_MATCH_LEN 4096

struct text_match {
	regex_t re;
	bool set;
};

/* `what` names the option or line in the message. ERR_USAGE, also for a pattern that would take
 * long: back-references, repeats of many repeats, and what takes long with a text made of its own
 * letters. Such ones are tried in a child process, so this is for the time before threads and RPC.
 */
int text_match_compile(struct text_match *m, const char *what, const char *pattern,
		       struct err *err) _must_check_;
void text_match_done(struct text_match *m);

bool text_match(const struct text_match *m, const void *p, size_t len);

/* The text with its first match replaced: \0 to \9 in `with` stand for groups. False: no match. */
bool text_match_replace(const struct text_match *m, const void *p, size_t len, const char *with,
			struct buf *out);

#endif
