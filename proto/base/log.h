/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOG_H
#define RAWSTACK_LOG_H
/*
 * Writes log lines to stderr: one line per event, `<program>: <message>`, with levels from error to
 * debug. Where stderr is the journal of systemd, each line begins with its priority, "<4>"
 * (sd-daemon(3)). Only programs use it; library code returns a struct err and never prints. Safe
 * from any thread; a line is one write(2).
 */
#include "base.h"

enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG
};

/* The words of the levels, for an option; the last is NULL. */
extern const char *const log_level_words[];

/* Sets the program's name, which is borrowed for ever. Call it first in main(). */
void log_init(const char *name);

/* Lines above the level are left away; LOG_INFO until it is called. */
void log_set_level(enum log_level level);
bool log_has_level(enum log_level level);

/* Prints one line. Characters that utf8_shown() refuses become '?'. Warnings and infos begin with
 * the word of their level, errors do not. */
void log_line(enum log_level level, const char *fmt, ...) _printf_(2, 3);

/* Prints a line that may be shown as it is. Its level is not put in words. */
void log_line_plain(enum log_level level, const char *line, size_t len);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)

/* Shows a line of progress, on a terminal only, that the next call replaces and that
 * log_progress_end() or another line erases. It is cut at the width of the window. Cheap to call
 * often: at most ten a second are shown. */
void log_progress(const char *fmt, ...) _printf_(1, 2);
void log_progress_end(void);

#endif
