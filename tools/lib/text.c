/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "err.h"
#include "limits.h"
#include "utf8.h"

/* Returns the number of bytes at the front that are shown as they are, nearly always all. */
static size_t printable_len(const uint8_t *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

void text_append(struct buf *out, const void *p, size_t len)
{
	const uint8_t *s = p;

	while (len) {
		size_t n = printable_len(s, len);

		if (n) {
			buf_append(out, s, n);
			s += n;
			len -= n;
			continue;
		}
		n = utf8_sequence(s, len);
		if (utf8_shown(s, len))
			buf_append(out, s, n);
		else if (n > 1)
			buf_printf(out, "\\u{%x}", utf8_code_point(s, n));
		else
			buf_printf(out, "\\x%02x", s[0]);
		n = n ? n : 1;
		s += n;
		len -= n;
	}
}

void text_cstr(struct buf *out, const char *s)
{
	text_append(out, s, strlen(s));
}

/* Returns whether this byte continues a UTF-8 character. */
static bool is_inside(const uint8_t *s, size_t at, size_t len)
{
	return at < len && (s[at] & 0xc0) == 0x80;
}

void text_name(struct buf *out, const void *p, size_t len)
{
	const uint8_t *s = p;
	size_t head = TEXT_NAME_MAX * 3 / 4, tail = len - TEXT_NAME_MAX / 4;

	if (len <= TEXT_NAME_MAX) {
		text_append(out, s, len);
		return;
	}
	for (int i = 0; i < 3 && is_inside(s, head, len); i++)
		head--;
	for (int i = 0; i < 3 && is_inside(s, tail, len); i++)
		tail++;
	text_append(out, s, head);
	buf_printf(out, "[... %zu bytes ...]", tail - head);
	text_append(out, s + tail, len - tail);
}

void text_shell_word(struct buf *out, const void *p, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:=@%+,-";
	const char *s = p;
	bool quoted = !len || s[0] == '-';

	for (size_t i = 0; i < len && !quoted; i++)
		quoted = !s[i] || !strchr(plain, s[i]);
	if (quoted)
		buf_str(out, "'");
	for (size_t i = 0; i < len;) {
		const char *quote = memchr(s + i, '\'', len - i);
		size_t n = quote ? (size_t)(quote - s) - i : len - i;

		text_append(out, s + i, n);
		if (quote)
			buf_str(out, "'\\''");
		i += n + (quote != NULL);
	}
	if (quoted)
		buf_str(out, "'");
}

void text_bytes(struct buf *out, uint64_t n)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double v = (double)n;
	size_t unit = 0;

	while (v >= 1024 && unit + 1 < ARRAY_LEN(units)) {
		v /= 1024;
		unit++;
	}
	buf_printf(out, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

void text_age(struct buf *out, uint64_t unix_ns, uint64_t now_ns)
{
	static const struct {
		const char *unit;
		uint64_t seconds, until;
	} rows[] = {
		{"s", 1, 120}, {"min", 60, 7200}, {"h", 3600, 172800}, {"d", 86400, UINT64_MAX}};
	uint64_t seconds = now_ns > unix_ns ? (now_ns - unix_ns) / 1000000000 : 0;
	size_t i = 0;

	if (!unix_ns) {
		buf_str(out, "-");
		return;
	}
	while (seconds >= rows[i].until)
		i++;
	buf_printf(out, "%" PRIu64 " %s ago", seconds / rows[i].seconds, rows[i].unit);
}

/* Returns whether output may have colours: stdout is a terminal, not a dumb one, and $NO_COLOR is
 * not set (no-color.org). */
static bool text_has_colours(void)
{
	static int known = -1; /* only the thread that prints asks */

	if (known < 0) {
		const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

		known = isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0 &&
			(!no || !*no);
	}
	return known;
}

void text_share(struct buf *out, double part, double whole)
{
	double share = whole > 0 ? 100 * part / whole : 0.0;
	const char *colour = share >= 5 ? "\033[31m" : share >= 0.5 ? "\033[32m" : "";

	if (!text_has_colours() || !*colour)
		buf_printf(out, "%5.1f %%", share);
	else
		buf_printf(out, "%s%5.1f %%\033[m", colour, share);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* The widest padded cell. A wider one shifts its line, so nothing is lost. */
#define WIDTH_MAX 72

void text_table_init(struct text_table *t, size_t columns, uint32_t right)
{
	struct winsize w;

	assert(columns <= TABLE_COLUMNS);
	*t = (struct text_table){.columns = columns, .right = right, .width_max = WIDTH_MAX};
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_col / 2 < WIDTH_MAX)
		t->width_max = w.ws_col / 2;
	buf_init(&t->text, GIB);
}

void text_table_done(struct text_table *t)
{
	buf_done(&t->text);
	free(t->ends);
}

struct buf *text_table_cell(struct text_table *t)
{
	return &t->text;
}

void text_table_end(struct text_table *t)
{
	if (!GROW(t->ends, &t->cap, t->count + 1, LIMIT_PROFILE_ENTRIES)) {
		t->text.failed = true;
		return;
	}
	t->ends[t->count++] = t->text.len;
}

void text_table_cstr(struct text_table *t, const char *s)
{
	text_cstr(&t->text, s);
	text_table_end(t);
}

/* Returns the width in characters: one column each is right for what names hold. Escapes are our
 * own colours, because text_append() lets no others pass. */
static size_t width_of(const uint8_t *p, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++) {
		if (p[i] == 0x1b)
			while (i + 1 < len && p[i] != 'm')
				i++;
		else
			width += (p[i] & 0xc0) != 0x80;
	}
	return width;
}

static const uint8_t *table_cell(const struct text_table *t, size_t i, size_t *ret_len)
{
	size_t start = i ? t->ends[i - 1] : 0;

	*ret_len = t->ends[i] - start;
	return t->text.p + start;
}

static void pad_text(struct buf *out, size_t n)
{
	while (n--)
		buf_u8(out, ' ');
}

/* Cuts the blanks behind the last cell that has text: they are invisible, and wrap in narrow
 * windows. */
static void end_table_row(struct buf *out)
{
	while (out->len && out->p[out->len - 1] == ' ')
		out->len--;
	buf_u8(out, '\n');
}

int text_table_print(const struct text_table *t, struct buf *out)
{
	size_t widths[TABLE_COLUMNS] = {0}, len;

	if (t->text.failed)
		return ERR_MEMORY;
	for (size_t i = 0; i < t->count; i++) {
		const uint8_t *p = table_cell(t, i, &len);
		size_t width = width_of(p, len);

		if (width > widths[i % t->columns] && width <= t->width_max)
			widths[i % t->columns] = width;
	}
	for (size_t i = 0; i < t->count; i++) {
		const uint8_t *p = table_cell(t, i, &len);
		size_t column = i % t->columns, width = width_of(p, len);
		size_t space = widths[column] > width ? widths[column] - width : 0;

		if (t->right & UINT32_C(1) << column)
			pad_text(out, space);
		buf_append(out, p, len);
		if (column + 1 == t->columns) {
			end_table_row(out);
			continue;
		}
		if (!(t->right & UINT32_C(1) << column))
			pad_text(out, space);
		pad_text(out, 2);
	}
	return out->failed ? ERR_MEMORY : 0;
}
