/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "utf8.h"

static const char *program = "rawstack";

void log_init(const char *name)
{
	program = name;
}

_printf_(2, 0) static void emit(const char *head, const char *fmt, va_list ap, const char *tail)
{
	char line[1024];
	size_t at, len, tail_len = strlen(tail);
	ssize_t n _unused_;
	int w;

	at = (size_t)snprintf(line, sizeof(line), "%s%s: ", *tail ? "" : "\r\033[K", program);
	w = snprintf(line + at, sizeof(line) - at, "%s", head);
	len = at + (size_t)w;
	w = vsnprintf(line + len, sizeof(line) - len - tail_len, fmt, ap);
	if (w > 0)
		len += (size_t)w < sizeof(line) - len - tail_len
			       ? (size_t)w
			       : sizeof(line) - len - tail_len - 1;
	utf8_mask(line + at, len - at);
	memcpy(line + len, tail, tail_len);
	n = write(STDERR_FILENO, line, len + tail_len);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	static const char *const heads[] = {"", "warning: ", ""};
	va_list ap;

	va_start(ap, fmt);
	emit(heads[level], fmt, ap, "\n");
	va_end(ap);
}

void log_progress(const char *fmt, ...)
{
	va_list ap;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	emit("", fmt, ap, "");
	va_end(ap);
}

void log_progress_end(void)
{
	ssize_t n _unused_;

	if (isatty(STDERR_FILENO))
		n = write(STDERR_FILENO, "\r\033[K", 4);
}
