/* SPDX-License-Identifier: Apache-2.0 */
#include "text_match.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "limits.h"
#include "sanitizer.h"

#define GROUPS 10

/*
 * regcomp() expands a repeated part as often as {m,n} says, and a group with + twice. Nested
 * repeats multiply, and the work grows faster than the number of parts: forty bytes can take
 * minutes and gigabytes. So the expanded parts are counted, and a pattern with more than a few is
 * first tried in another process; more than LIMIT_PATTERN_PARTS are refused. Two constructs are
 * refused: repeats of repeats of repeats
 * ("x+*+"), which regcomp() treats as groups and nobody writes, and references to groups (\1),
 * which take exponential time to match.
 */
#define LIMIT_PATTERN_PARTS ((size_t)20000)

#define TRIAL_MEMORY (512 * MIB)
#define TEXT_SECONDS 0.1 /* CPU time for one text of TEXT_MATCH_LEN bytes */

enum {
	PARTS_FEW = 100, /* at most so many parts need no trial */
	TRIAL_SECONDS = 1,
	TRIALS_US = 10000000,
	GROUPS_DEEP = 64,
	LETTERS_TRIED = 8,
	PLUS = 4, /* a part with + counts for so many */
};

/* Returns the largest number in {m,n}, and moves *at behind the brace. */
static size_t most_of(const char **at)
{
	size_t most = 1, n = 0;

	for (; (**at >= '0' && **at <= '9') || **at == ','; (*at)++) {
		n = **at == ',' ? 0 : n * 10 + (size_t)(**at - '0');
		n = n < LIMIT_PATTERN_PARTS ? n : LIMIT_PATTERN_PARTS;
		most = n > most ? n : most;
	}
	*at += **at == '}';
	return most;
}

/* Returns the place behind the bracket expression that begins here. */
static const char *after_brackets(const char *at)
{
	at += 1 + (at[1] == '^');
	if (*at == ']')
		at++;
	for (; *at && *at != ']'; at++)
		if (*at == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=')) {
			const char close[] = {at[1], ']', 0};
			const char *end = strstr(at + 2, close);

			at = end ? end + 1 : at;
		}
	return at + (*at == ']');
}

static bool is_bounded(const char *pattern, size_t *ret_parts)
{
	size_t sums[GROUPS_DEEP] = {0}, deep = 0, last = 0, repeats = 0;

	for (const char *at = pattern; *at;) {
		size_t factor = *at == '+' ? PLUS : *at == '*' || *at == '?' ? 1 : 0;

		if (*at == '{' && last) {
			at++;
			factor = most_of(&at);
		} else if (factor) {
			at++;
		}
		if (factor && last) {
			last *= factor;
			if (last > LIMIT_PATTERN_PARTS || ++repeats > 2)
				return false;
			continue;
		}
		sums[deep] += last;
		last = repeats = 0;
		if (sums[deep] > LIMIT_PATTERN_PARTS)
			return false;
		if (factor)
			continue;
		if (*at == '(') {
			if (++deep == GROUPS_DEEP)
				return false;
			sums[deep] = 1;
			at++;
		} else if (*at == ')' && deep) {
			last = sums[deep--];
			at++;
		} else if (*at == '[') {
			last = 1;
			at = after_brackets(at);
		} else if (*at == '\\' && at[1]) {
			if (at[1] >= '1' && at[1] <= '9')
				return false;
			last = 1;
			at += 2;
		} else {
			last = 1;
			at++;
		}
	}
	while (deep) {
		last += sums[deep--];
	}
	*ret_parts = sums[0] + last;
	return *ret_parts <= LIMIT_PATTERN_PARTS;
}

static double process_cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns whether regexec() is quick with texts that keep many parts of the pattern active at once:
 * its own letters, each by itself, all in turn, and in random order. regexec() makes a state for
 * each set of parts that it meets, so the first text of a kind costs more than all later ones. */
static bool is_quick_with_texts(const regex_t *re, const char *pattern)
{
	char letters[LETTERS_TRIED], text[TEXT_MATCH_LEN + 1] = "";
	uint32_t random = 1;
	size_t count = 0;

	for (const char *at = pattern; *at && count < LETTERS_TRIED; at++)
		if (isalnum((unsigned char)*at) && !memchr(letters, *at, count))
			letters[count++] = *at;
	for (size_t i = 0; count && i < count + 2; i++) {
		const double began = process_cpu_seconds();

		for (size_t k = 0; k < TEXT_MATCH_LEN; k++) {
			random = random * 1664525 + 1013904223;
			text[k] = letters[i < count    ? i
					  : i == count ? k % count
						       : (random >> 16) % count];
		}
		(void)regexec(re, text, 0, NULL, 0);
		if (process_cpu_seconds() - began > TEXT_SECONDS)
			return false;
	}
	return true;
}

/*
 * Tries a pattern in a process that may be killed, because the time that regcomp() and regexec()
 * take, above all with nested repeats of parts that may be empty, can only be measured. A file may
 * have thousands of patterns, so the time of all trials together is bounded too.
 */
static bool is_quick(const char *pattern)
{
	const struct rlimit cpu = {TRIAL_SECONDS, TRIAL_SECONDS},
			    memory = {TRIAL_MEMORY, TRIAL_MEMORY};
	const struct rlimit no_core = {0, 0};
	static int64_t spent_us;
	struct rusage used;
	pid_t pid, done;
	int status, rc;

	if (spent_us > TRIALS_US)
		return false;
	pid = fork();

	if (pid == 0) {
		regex_t re;

		if (setrlimit(RLIMIT_CORE, &no_core) || setrlimit(RLIMIT_CPU, &cpu) ||
		    (!UNDER_SANITIZER && setrlimit(RLIMIT_AS, &memory)))
			_exit(1);
		rc = regcomp(&re, pattern, REG_EXTENDED);
		_exit(rc == REG_ESPACE || (!rc && !is_quick_with_texts(&re, pattern)));
	}
	if (pid < 0)
		return false;
	do
		done = wait4(pid, &status, 0, &used);
	while (done < 0 && errno == EINTR);
	if (done == pid)
		spent_us += 1000000 * (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			    used.ru_utime.tv_usec + used.ru_stime.tv_usec;
	return done == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int text_match_compile(struct text_match *m, const char *what, const char *pattern, struct err *err)
{
	size_t parts;
	int rc;

	text_match_done(m);
	if (!is_bounded(pattern, &parts) || (parts > PARTS_FEW && !is_quick(pattern)))
		return err_set(err, ERR_USAGE,
			       "%s: the pattern is too long, repeats too often, or refers to "
			       "its own groups",
			       what);
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

/* Runs the match. With count 0 regexec() only tells whether there is one, which is much faster.
 * groups[0] is always written. */
static bool run_match(const struct text_match *m, const void *p, size_t len, regmatch_t *groups,
		      size_t count)
{
	const size_t seen = len < TEXT_MATCH_LEN ? len : TEXT_MATCH_LEN;
	char copy[TEXT_MATCH_LEN + 1];

	groups[0] = (regmatch_t){.rm_so = 0, .rm_eo = (regoff_t)seen};
	if (!m->set || len > LIMIT_NAME_LEN) /* longer texts match nothing */
		return false;
	/* regexec() needs a NUL behind the text. */
	if (seen)
		memcpy(copy, p, seen);
	copy[seen] = 0;
	return regexec(&m->re, copy, count, groups,
		       seen < len ? REG_STARTEND | REG_NOTEOL : REG_STARTEND) == 0;
}

bool text_match(const struct text_match *m, const void *p, size_t len)
{
	regmatch_t range;

	return run_match(m, p, len, &range, 0);
}

bool text_match_replace(const struct text_match *m, const void *p, size_t len, const char *with,
			struct buf *out)
{
	const char *text = p;
	regmatch_t groups[GROUPS];

	if (!run_match(m, p, len, groups, GROUPS))
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
