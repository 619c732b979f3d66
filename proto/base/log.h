/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOG_H
#define RAWSTACK_LOG_H
/*
 * What programs say on stderr: one line per event, `<program>: <message>`, levels error to info.
 * For programs only: library code returns a struct err and never prints. Safe from any thread; a
 * line is one write.
 */
#include "base.h"

enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO
};

/* Once, first in main(). name is kept, not copied. */
void log_init(const char *name);

/* What utf8_shown() keeps from a terminal is printed as '?'. An error is printed as it is; the
 * other levels put their word in front. */
void log_line(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)

/* A line that replaces itself, on a terminal only, until log_progress_end() or another line erases
 * it; cut at the end of the window. Cheap to call often: ten in a second are shown. */
void log_progress(const char *fmt, ...) _printf_(1, 2);
void log_progress_end(void);

#endif
