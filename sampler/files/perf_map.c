/* SPDX-License-Identifier: Apache-2.0 */
#include "perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "bisect.h"
#include "limits.h"
#include "number.h"

/* Most bytes that are read of a perf map: those of large JITs reach some 50 MB. */
#define LIMIT_PERF_MAP_LEN (128 * MIB)

enum {
	READ_LEN = 64 << 10, /* a longer line is passed over */
};

/* Returns the index of the first pc that is not below `at`. */
static size_t first_pc(const uint64_t *pcs, size_t count, uint64_t at)
{
	return BISECT(count, i, pcs[i] < at);
}

/*
 * Cuts the rows of earlier lines at new code from `start` to `end`: rows before `first` end at
 * `start`, rows from `last` on begin at `end`; the caller replaces those between. Rows of different
 * lines do not overlap, so each loop stops at the first row that does not reach the new code.
 */
static void cut_rows(struct perf_map_row *rows, size_t count, size_t first, size_t last,
		     uint64_t start, uint64_t end)
{
	for (size_t i = first; i-- > 0 && rows[i].len && rows[i].start + rows[i].len > start;)
		rows[i].len = start - rows[i].start;
	for (size_t i = last; i < count && rows[i].len && rows[i].start < end; i++) {
		rows[i].len -= end - rows[i].start;
		rows[i].start = end;
	}
}

/* Some programs write 0x before a number. */
static bool take_map_number(const char **at, uint64_t *ret)
{
	*at += strspn(*at, " \t");
	*at += strncmp(*at, "0x", 2) ? 0 : 2;
	return number_take(at, 16, ret);
}

/* Takes a line "<start> <length> <name>", with both numbers in hex. */
static void take_map_line(const char *line, const uint64_t *pcs, size_t count,
			  struct perf_map_row *rows)
{
	const char *at = line;
	uint64_t start, len, end;
	size_t first, last;

	if (!take_map_number(&at, &start) || !take_map_number(&at, &len))
		return;
	at += strspn(at, " \t");
	if (!len || !*at || !CHECKED_ADD(start, len, &end))
		return;
	first = first_pc(pcs, count, start);
	last = first_pc(pcs, count, end);
	cut_rows(rows, count, first, last, start, end);
	for (size_t i = first; i < last; i++) {
		rows[i].start = start;
		rows[i].len = len;
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", at);
	}
}

int perf_map_find(int fd, const uint64_t *pcs, size_t count, struct perf_map_row *ret)
{
	_cleanup_(freep) char *buf = malloc(READ_LEN + 1);
	size_t have = 0, total = 0;
	bool skip = false;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	memset(ret, 0, count * sizeof(*ret));
	while (total < LIMIT_PERF_MAP_LEN && (n = read(fd, buf + have, READ_LEN - have)) > 0) {
		char *line = buf, *end;

		total += (size_t)n;
		have += (size_t)n;
		buf[have] = 0;
		while ((end = memchr(line, '\n', (size_t)(buf + have - line)))) {
			*end = 0;
			if (!skip)
				take_map_line(line, pcs, count, ret);
			skip = false;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == READ_LEN) {
			skip = true;
			have = 0;
		}
	}
	/* A line without its end is still being written. */
	return 0;
}
