/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "number.h"
#include "utf8.h"

#define ERASE "\r\033[K"
#define GAP   "..."

/* The shortest time between lines of progress. Nobody reads faster, and each line slows a remote
 * terminal. */
#define PROGRESS_NS INT64_C(100000000)

static const char *program = "rawstack";
static _Atomic enum log_level level_now = LOG_INFO;
static bool is_journal; /* stderr is that of systemd's journal */
/* Whether a line of progress is on the terminal, and since when. */
static bool is_up;
static int64_t up_ns;

const char *const log_level_words[] = {"error", "warning", "info", "debug", NULL};

/* Returns whether stderr is what systemd connected to its journal: systemd.exec(5),
 * $JOURNAL_STREAM. A program whose stderr went elsewhere since has the variable, too. */
static bool find_journal(void)
{
	const char *at = getenv("JOURNAL_STREAM");
	uint64_t dev, ino;
	struct stat st;

	return at && number_take(&at, 10, &dev) && *at++ == ':' && number_take(&at, 10, &ino) &&
	       !*at && !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void log_init(const char *name)
{
	program = name;
	is_journal = find_journal();
}

void log_set_level(enum log_level level)
{
	level_now = level;
}

bool log_has_level(enum log_level level)
{
	return level <= level_now;
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

/* Writes the priority of a level, as the journal reads it, and the name of the program. */
static size_t put_line_head(char *to, size_t len, enum log_level level)
{
	static const char *const priorities[] = {"<3>", "<4>", "<6>", "<7>"};

	return (size_t)snprintf(to, len, "%s%s: ", is_journal ? priorities[level] : "", program);
}

_printf_(3, 0) static void emit_line(enum log_level level, const char *head, const char *fmt,
				     va_list ap, const char *tail)
{
	char line[1024];
	size_t start, at, len, tail_len = strlen(tail);
	bool was_up = __atomic_exchange_n(&is_up, !*tail, __ATOMIC_RELAXED);
	ssize_t n _unused_;
	int w;

	start = was_up || !*tail ? sizeof(ERASE) - 1 : 0;
	memcpy(line, ERASE, start);
	at = start + put_line_head(line + start, sizeof(line) - start, level);
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
	static const char *const heads[] = {"", "warning: ", "", ""};
	va_list ap;

	if (!log_has_level(level))
		return;
	va_start(ap, fmt);
	emit_line(level, heads[level], fmt, ap, "\n");
	va_end(ap);
}

void log_line_plain(enum log_level level, const char *line, size_t len)
{
	char text[1024];
	size_t at = put_line_head(text, sizeof(text), level);
	ssize_t n _unused_;

	len = len < sizeof(text) - at - 1 ? len : sizeof(text) - at - 1;
	memcpy(text + at, line, len);
	text[at + len] = '\n';
	n = write(STDERR_FILENO, text, at + len + 1);
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
	emit_line(LOG_INFO, "", fmt, ap, "");
	va_end(ap);
}

void log_progress_end(void)
{
	ssize_t n _unused_;

	if (__atomic_exchange_n(&is_up, false, __ATOMIC_RELAXED))
		n = write(STDERR_FILENO, ERASE, sizeof(ERASE) - 1);
}
