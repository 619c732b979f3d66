/* SPDX-License-Identifier: Apache-2.0 */
#include "log_scan.h"

#include <string.h>

struct scan {
	const char *p;
	size_t len;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads hex of at most 64 bits at `at`. Returns the place behind it, or `at` if there is none. */
static size_t scan_hex(const struct scan *s, size_t at, uint64_t *ret)
{
	size_t end = at;

	*ret = 0;
	while (end < s->len && hex_digit(s->p[end]) >= 0 && end - at < 16)
		*ret = *ret << 4 | (uint64_t)hex_digit(s->p[end++]);
	if (end < s->len && hex_digit(s->p[end]) >= 0)
		return at;
	return end;
}

static bool scan_is(const struct scan *s, size_t at, const char *text)
{
	size_t len = strlen(text);

	return at <= s->len && len <= s->len - at && memcmp(s->p + at, text, len) == 0;
}

/* Returns whether a character ends a path that is read backwards. */
static bool is_break(char c)
{
	return is_blank(c) || c == '(' || c == '[' || c == '<' || c == '"' || c == '\'' ||
	       c == '=' || c == '`';
}

static size_t word_start(const struct scan *s, size_t end, size_t floor)
{
	while (end > floor && !is_break(s->p[end - 1]))
		end--;
	return end;
}

static struct log_text text_between(const struct scan *s, size_t start, size_t end)
{
	return (struct log_text){s->p + start, end - start};
}

/* Reads "[0x...]" or "[<...>]" at `at`. Returns the place behind it, or `at` if there is none. */
static size_t scan_bracket(const struct scan *s, size_t at, uint64_t *ret)
{
	bool angle = scan_is(s, at, "[<");
	size_t start = at + (angle ? 2 : 1), end;

	if (!angle && !scan_is(s, at, "[0x"))
		return at;
	if (scan_is(s, start, "0x"))
		start += 2;
	end = scan_hex(s, start, ret);
	if (end == start || !scan_is(s, end, angle ? ">]" : "]"))
		return at;
	return end + (angle ? 2 : 1);
}

/* Returns the place behind the blanks at `at`. */
static size_t skip_space(const struct scan *s, size_t at)
{
	while (at < s->len && is_blank(s->p[at]))
		at++;
	return at;
}

/* Reads "name+0x12/0x40", which Linux prints, and "[module]" if it follows. */
static bool kernel_frame(const struct scan *s, size_t start, size_t plus, size_t at,
			 uint64_t offset, struct log_frame *ret)
{
	uint64_t size;
	size_t end = scan_hex(s, at + 3, &size), next = skip_space(s, end), close;
	/* In "0010:do_exit" the segment stands before the name. */
	const char *colon;

	if (end == at + 3 || start == plus)
		return false;
	colon = memrchr(s->p + start, ':', plus - start);
	if (colon)
		start = (size_t)(colon + 1 - s->p);
	*ret = (struct log_frame){
		.kind = LOG_KERNEL,
		.symbol = text_between(s, start, plus),
		.address = offset,
		.return_address = !(s->len >= 4 && memmem(s->p, start, "RIP:", 4)),
		.end = end,
	};
	if (next < s->len && s->p[next] == '[') {
		close = next + 1;
		while (close < s->len && (s->p[close] == '_' || s->p[close] == '-' ||
					  (s->p[close] >= '0' && s->p[close] <= '9') ||
					  (s->p[close] >= 'a' && s->p[close] <= 'z') ||
					  (s->p[close] >= 'A' && s->p[close] <= 'Z')))
			close++;
		if (close < s->len && s->p[close] == ']' && close > next + 1) {
			ret->module = text_between(s, next + 1, close);
			ret->end = close + 1;
		}
	}
	return true;
}

/* Reads "path(+0x12) [0x...]" or "path(symbol+0x12) [0x...]", whose parenthesis is at `open`. */
static bool glibc_frame(const struct scan *s, size_t open, size_t plus, size_t end, size_t floor,
			struct log_frame *ret)
{
	size_t start = open, next;
	uint64_t pc;

	/* This check comes before the search backwards, so that only a real frame pays for it. */
	if (end >= s->len || s->p[end] != ')')
		return false;
	while (start > floor && !is_blank(s->p[start - 1]))
		start--;
	if (start == open)
		return false;
	ret->module = text_between(s, start, open);
	ret->symbol = text_between(s, open + 1, plus);
	ret->kind = ret->symbol.len ? LOG_SYMBOL : LOG_MODULE;
	ret->return_address = true;
	next = skip_space(s, end + 1);
	ret->end = scan_bracket(s, next, &pc);
	if (ret->end == next)
		ret->end = end + 1;
	return true;
}

/* Returns where a path that ends in ')' begins: behind the open parenthesis, even if it has blanks,
 * or else at its last word. */
static size_t path_start(const struct scan *s, size_t word, size_t floor)
{
	for (size_t at = word; at > floor && !strchr(")[]<>\"'", s->p[at - 1]); at--)
		if (s->p[at - 1] == '(')
			return s->p[at] == '/' ? at : word;
	return word;
}

static bool begins_path(const struct scan *s, size_t at)
{
	return scan_is(s, at, "/") || scan_is(s, at, "./") || scan_is(s, at, "../");
}

/* If the module may be only the last word of a path with blanks, also sets spaced_module to the
 * whole path. */
static void read_spaced(const struct scan *s, size_t floor, struct log_frame *f)
{
	size_t start = (size_t)(f->module.p - s->p), at = start;

	if (!f->module.len || begins_path(s, start))
		return;
	while (at > floor && (is_blank(s->p[at - 1]) || !is_break(s->p[at - 1]))) {
		at--;
		if ((at == floor || is_break(s->p[at - 1])) && begins_path(s, at)) {
			f->spaced_module = text_between(s, at, start + f->module.len);
			return;
		}
	}
}

/* Reads a frame around the '+' at `plus`. `floor` is where the frame before ended, `word` where the
 * text right before the '+' begins. */
static bool plus_frame(const struct scan *s, size_t plus, size_t floor, size_t word,
		       struct log_frame *ret)
{
	size_t at = skip_space(s, plus + 1), word_end = plus, start, end;
	bool spaced = at > plus + 1;
	uint64_t offset;

	if (!scan_is(s, at, "0x"))
		return false;
	end = scan_hex(s, at + 2, &offset);
	if (end == at + 2)
		return false;
	while (spaced && word_end > floor && is_blank(s->p[word_end - 1]))
		word_end--;
	/* Blanks end words, so each word is searched backwards only once. */
	start = spaced ? word_start(s, word_end, floor) : word;
	*ret = (struct log_frame){.address = offset, .end = end};
	if (!spaced && scan_is(s, end, "/0x"))
		return kernel_frame(s, start, plus, end, offset, ret);
	if (!spaced && start > floor && s->p[start - 1] == '(' &&
	    glibc_frame(s, start - 1, plus, end, floor, ret))
		return true;
	if (start == word_end)
		return false;
	/* The offset has to end a word, or text in parentheses. */
	if (end < s->len && !is_blank(s->p[end]) && !strchr(")]>,;:\"'`\r", s->p[end]))
		return false;
	ret->kind = LOG_MODULE;
	if (end < s->len && s->p[end] == ')') {
		ret->end = end + 1;
		start = spaced ? start : path_start(s, start, floor);
	}
	ret->module = text_between(s, start, word_end);
	return true;
}

static bool bare_frame(const struct scan *s, size_t at, struct log_frame *ret)
{
	uint64_t pc;
	size_t end;

	if (s->p[at] == '[') {
		end = scan_bracket(s, at, &pc);
		if (end == at)
			return false;
	} else {
		end = scan_hex(s, at + 5, &pc);
		if (end == at + 5)
			return false;
	}
	*ret = (struct log_frame){.kind = LOG_PC, .address = pc, .end = end};
	return true;
}

size_t log_scan(const char *line, size_t len, struct log_frame frames[static LIMIT_LOG_FRAMES])
{
	struct scan s = {line, len};
	size_t count = 0, floor = 0, word = 0;

	for (size_t at = 0; at < len && count < LIMIT_LOG_FRAMES; at++) {
		struct log_frame *f = &frames[count];
		bool found = false;

		if (line[at] == '+')
			found = plus_frame(&s, at, floor, word, f);
		else if (line[at] == '[' || scan_is(&s, at, "pc=0x"))
			found = bare_frame(&s, at, f);
		if (is_break(line[at]))
			word = at + 1;
		if (!found)
			continue;
		if (f->kind != LOG_KERNEL)
			read_spaced(&s, floor, f);
		count++;
		floor = word = f->end;
		at = f->end - 1;
	}
	return count;
}
