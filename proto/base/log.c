/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "utf8.h"

#define ERASE "\r\033[K"
#define GAP   "..."

/* The shortest time between lines of progress. Nobody reads faster, and each line slows a remote
 * terminal. */
#define PROGRESS_NS INT64_C(100000000)

static const char *program = "rawstack";
/* Whether a line of progress is on the terminal, and since when. */
static bool is_up;
static int64_t up_ns;

void log_init(const char *name)
{
	program = name;
}

/* Returns the width of the window. A wider line would wrap, and its second row would stay. */
static size_t window_columns(void)
{
	struct winsize w;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || !w.ws_col ? 80 : w.ws_col;
}

/* Returns the length in bytes of the first `columns` characters. One column for each is right for
 * most paths. */
static size_t columns_byte_len(const char *p, size_t len, size_t columns)
{
	size_t i = 0;

	for (; i < len; i++)
		if ((p[i] & 0xc0) != 0x80 && !columns--)
			break;
	return i;
}

/* Cuts the middle out of a line that is too long: its beginning says what is done, its end how far
 * it is. Returns the remaining length. */
static size_t shorten_line(char *line, size_t len, size_t columns)
{
	size_t count = 0, head, at, tail;

	for (size_t i = 0; i < len; i++)
		count += (line[i] & 0xc0) != 0x80;
	if (count <= columns)
		return len;
	if (columns <= sizeof(GAP) - 1)
		return columns_byte_len(line, len, columns);
	columns -= sizeof(GAP) - 1;
	head = columns / 2;
	at = columns_byte_len(line, len, head);
	tail = columns_byte_len(line, len, count - (columns - head));
	memcpy(line + at, GAP, sizeof(GAP) - 1);
	at += sizeof(GAP) - 1;
	memmove(line + at, line + tail, len - tail);
	return at + len - tail;
}

_printf_(2, 0) static void emit_line(const char *head, const char *fmt, va_list ap,
				     const char *tail)
{
	char line[1024];
	size_t start, at, len, tail_len = strlen(tail);
	bool was_up = __atomic_exchange_n(&is_up, !*tail, __ATOMIC_RELAXED);
	ssize_t n _unused_;
	int w;

	start = was_up || !*tail ? sizeof(ERASE) - 1 : 0;
	memcpy(line, ERASE, start);
	at = start + (size_t)snprintf(line + start, sizeof(line) - start, "%s: ", program);
	w = snprintf(line + at, sizeof(line) - at, "%s", head);
	len = at + (size_t)w;
	w = vsnprintf(line + len, sizeof(line) - len - tail_len, fmt, ap);
	if (w > 0)
		len += (size_t)w < sizeof(line) - len - tail_len
			       ? (size_t)w
			       : sizeof(line) - len - tail_len - 1;
	utf8_mask(line + at, len - at);
	if (!*tail)
		len = start + shorten_line(line + start, len - start, window_columns() - 1);
	memcpy(line + len, tail, tail_len);
	n = write(STDERR_FILENO, line, len + tail_len);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const heads[] = {"", "warning: ", ""};
	va_list ap;

	va_start(ap, fmt);
	emit_line(heads[level], fmt, ap, "\n");
	va_end(ap);
}

void log_progress(const char *fmt, ...)
{
	struct timespec now;
	int64_t now_ns;
	va_list ap;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	if (__atomic_load_n(&is_up, __ATOMIC_RELAXED) &&
	    now_ns - __atomic_load_n(&up_ns, __ATOMIC_RELAXED) < PROGRESS_NS)
		return;
	if (!isatty(STDERR_FILENO))
		return;
	__atomic_store_n(&up_ns, now_ns, __ATOMIC_RELAXED);
	va_start(ap, fmt);
	emit_line("", fmt, ap, "");
	va_end(ap);
}

void log_progress_end(void)
{
	ssize_t n _unused_;

	if (__atomic_exchange_n(&is_up, false, __ATOMIC_RELAXED))
		n = write(STDERR_FILENO, ERASE, sizeof(ERASE) - 1);
}
