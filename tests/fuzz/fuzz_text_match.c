/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line with a pattern, a line with a replacement, and a name of any bytes: the pattern is
 * refused, or applied to the name in bounded time.
 */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "text_match.h"
#include "thread_seconds.h"

#define SECONDS_MAX 10

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len);

/* A copy of the next line, with a NUL in place of its end. */
static char *take_line(const uint8_t **p, size_t *len)
{
	const uint8_t *end = memchr(*p, '\n', *len);
	size_t line_len = end ? (size_t)(end - *p) : *len;
	char *line = strndup((const char *)*p, line_len);

	*p += line_len + (end != NULL);
	*len -= line_len + (end != NULL);
	return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(MIB), again = BUF_INIT(MIB);
	_cleanup_(text_match_done) struct text_match m = {.set = false};
	_cleanup_(freep) char *pattern = take_line(&p, &len);
	_cleanup_(freep) char *with = take_line(&p, &len);
	const double begin = thread_seconds();
	struct err err = {0};

	if (!pattern || !with)
		return 0;
	if (text_match_compile(&m, "pattern", pattern, &err)) {
		if (!err.message[0] || text_match(&m, p, len))
			abort();
		return 0;
	}
	/* Where there is a match is asked in another way than whether there is one. */
	if (text_match(&m, p, len) != text_match_replace(&m, p, len, with, &out))
		abort();
	/* A match replaced by itself is the text that was there. */
	if (text_match_replace(&m, p, len, "\\0", &again) &&
	    (again.failed || again.len != len || (len && memcmp(again.p, p, len) != 0)))
		abort();
	if (thread_seconds() - begin > SECONDS_MAX)
		abort();
	return 0;
}
