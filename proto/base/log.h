/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOG_H
#define RAWSTACK_LOG_H
/*
 * Writes log lines to stderr: one line per event, `<program>: <message>`, with levels from error to
 * info. Only programs use it; library code returns a struct err and never prints. Safe from any
 * thread; a line is one write(2).
 */
#include "base.h"

enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO
};

/* Sets the program's name, which is borrowed for ever. Call it first in main(). */
void log_init(const char *name);

/* Prints one line. Characters that utf8_shown() refuses become '?'. Warnings and infos begin with
 * the word of their level, errors do not. */
void log_line(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)

/* Shows a line of progress, on a terminal only, that the next call replaces and that
 * log_progress_end() or another line erases. It is cut at the width of the window. Cheap to call
 * often: at most ten a second are shown. */
void log_progress(const char *fmt, ...) _printf_(1, 2);
void log_progress_end(void);

#endif
