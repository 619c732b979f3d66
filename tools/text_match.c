/* SPDX-License-Identifier: Apache-2.0 */
#include "text_match.h"

#include <string.h>

#include "limits.h"

#define GROUPS 10

/* regcomp() writes a repeated part out as often as {m,n} says, and twice for a group with +; parts
 * in parts multiply, so that forty bytes take gigabytes. The length times the product of all of
 * them is more than it can come to; this many are some 100 MiB. */
#define PARTS_MAX ((size_t)1000000)

/* The largest number of {m,n}. */
static size_t most_of(const char *at)
{
	size_t most = 1, n = 0;

	for (; (*at >= '0' && *at <= '9') || *at == ','; at++) {
		n = *at == ',' ? 0 : n * 10 + (size_t)(*at - '0');
		n = n < PARTS_MAX ? n : PARTS_MAX;
		most = n > most ? n : most;
	}
	return most;
}

static bool is_bounded(const char *pattern)
{
	size_t parts = strlen(pattern);

	for (const char *at = pattern; *at && parts <= PARTS_MAX; at++) {
		if (*at == '{')
			parts *= most_of(at + 1);
		else if (*at == '+' && at > pattern && (at[-1] == ')' || at[-1] == '+'))
			parts *= 2;
	}
	return parts <= PARTS_MAX;
}

int text_match_compile(struct text_match *m, const char *what, const char *pattern, struct err *err)
{
	int rc;

	text_match_done(m);
	if (!is_bounded(pattern))
		return err_set(err, ERR_USAGE,
			       "%s: a pattern that is too long, or repeats too often", what);
	rc = regcomp(&m->re, pattern, REG_EXTENDED);
	if (rc) {
		char why[128];

		regerror(rc, &m->re, why, sizeof(why));
		return err_set(err, ERR_USAGE, "%s %s: %s", what, pattern, why);
	}
	m->set = true;
	return 0;
}

void text_match_done(struct text_match *m)
{
	if (m->set)
		regfree(&m->re);
	m->set = false;
}

/* Whether there is a match is found much sooner than where: count 0. groups[0] is always written.
 */
static bool run(const struct text_match *m, const void *p, size_t len, regmatch_t *groups,
		size_t count)
{
	_cleanup_(buf_done) struct buf copy = BUF_INIT(LIMIT_NAME_LEN + 1);

	groups[0] = (regmatch_t){.rm_so = 0, .rm_eo = (regoff_t)len};
	/* Longer names say nothing more, and take long. regexec() looks for a NUL behind them. */
	if (!m->set || len > LIMIT_NAME_LEN || (len && !buf_append(&copy, p, len)))
		return false;
	return regexec(&m->re, buf_cstr(&copy), count, groups, REG_STARTEND) == 0;
}

bool text_match(const struct text_match *m, const void *p, size_t len)
{
	regmatch_t range;

	return run(m, p, len, &range, 0);
}

bool text_match_replace(const struct text_match *m, const void *p, size_t len, const char *with,
			struct buf *out)
{
	const char *text = p;
	regmatch_t groups[GROUPS];

	if (!run(m, p, len, groups, GROUPS))
		return false;
	buf_append(out, text, (size_t)groups[0].rm_so);
	for (const char *w = with; *w; w++) {
		if (w[0] == '\\' && w[1] >= '0' && w[1] <= '9') {
			const regmatch_t *g = &groups[*++w - '0'];

			if (g->rm_so >= 0)
				buf_append(out, text + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
		} else {
			buf_append(out, w, 1);
		}
	}
	buf_append(out, text + groups[0].rm_eo, len - (size_t)groups[0].rm_eo);
	return true;
}
