/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_script_head.h"

#include <string.h>

struct profile_text perf_script_trim(struct profile_text t)
{
	while (t.len && is_blank(t.p[0])) {
		t.p++;
		t.len--;
	}
	while (t.len && is_blank(t.p[t.len - 1]))
		t.len--;
	return t;
}

/* Cuts the first word off *rest and returns it; it is empty at the end. */
struct profile_text perf_script_word(struct profile_text *rest)
{
	struct profile_text w;

	*rest = perf_script_trim(*rest);
	w = (struct profile_text){rest->p, 0};
	while (w.len < rest->len && !is_blank(w.p[w.len]))
		w.len++;
	rest->p += w.len;
	rest->len -= w.len;
	return w;
}

/* Returns whether the whole word is a number below 2^64 in this base (10 or 16). */
bool perf_script_number(struct profile_text w, unsigned int base, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < w.len; i++) {
		unsigned int c = (unsigned char)w.p[i], digit = 99;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		if (digit >= base || !CHECKED_MUL(v, base, &v) || !CHECKED_ADD(v, digit, &v))
			return false;
	}
	*ret = v;
	return w.len > 0;
}

/* Parses "4711", a thread, or "4711/4712", a process and a thread. */
static bool parse_ids(struct profile_text w, struct perf_script_head *h)
{
	const char *slash = memchr(w.p, '/', w.len);
	struct profile_text left = {w.p, slash ? (size_t)(slash - w.p) : 0}, right = w;

	if (slash)
		right = (struct profile_text){slash + 1, w.len - left.len - 1};
	h->has_pid = slash && perf_script_number(left, 10, &h->pid);
	return perf_script_number(right, 10, &h->tid) && (!slash || h->has_pid);
}

/* Parses a time such as "13795.288363:". */
static bool parse_script_time(struct profile_text w, uint64_t *ret_us)
{
	const char *dot = memchr(w.p, '.', w.len);
	uint64_t s, part, scale = 1000000;
	struct profile_text left, right;

	if (!dot || w.p[w.len - 1] != ':')
		return false;
	left = (struct profile_text){w.p, (size_t)(dot - w.p)};
	right = (struct profile_text){dot + 1, w.len - left.len - 2};
	if (right.len > 6) /* nanoseconds with --ns */
		right.len = 6;
	if (!perf_script_number(left, 10, &s) || !perf_script_number(right, 10, &part) ||
	    !CHECKED_MUL(s, scale, &s))
		return false;
	for (size_t i = right.len; i < 6; i++)
		part *= 10;
	return CHECKED_ADD(s, part, ret_us);
}

/* Returns whether a word is the flags (".....") or the cpu ("[001]"), which may stand between the
 * ids and the time. */
static bool is_filler(struct profile_text w)
{
	return (w.len > 2 && w.p[0] == '[' && w.p[w.len - 1] == ']') ||
	       (w.len == 5 && memchr(w.p, '.', 5) && !memchr(w.p, ':', 5));
}

/* Parses the words behind the ids: [cpu] time: period event: ... */
static bool parse_behind_ids(struct profile_text rest, struct perf_script_head *h)
{
	struct profile_text w = perf_script_word(&rest);

	while (w.len && is_filler(w))
		w = perf_script_word(&rest);
	h->has_time = parse_script_time(w, &h->time_us);
	if (h->has_time)
		w = perf_script_word(&rest);
	h->has_period = perf_script_number(w, 10, &h->period);
	if (h->has_period)
		w = perf_script_word(&rest);
	if (w.len < 2 || w.p[w.len - 1] != ':')
		return false;
	h->event = (struct profile_text){w.p, w.len - 1};
	h->frame = perf_script_trim(rest);
	return true;
}

/* Parses the first line of a sample. A thread's name may contain anything, so the ids are the first
 * word behind it after which the rest of the line fits. */
bool perf_script_head_parse(struct profile_text line, struct perf_script_head *h)
{
	struct profile_text rest = perf_script_trim(line), w;
	const char *start = rest.p;

	w = perf_script_word(&rest);
	while (w.len) {
		struct profile_text before =
			perf_script_trim((struct profile_text){start, (size_t)(rest.p - start)});

		w = perf_script_word(&rest);
		*h = (struct perf_script_head){.comm = before};
		if (w.len && parse_ids(w, h) && parse_behind_ids(rest, h))
			return true;
	}
	return false;
}
