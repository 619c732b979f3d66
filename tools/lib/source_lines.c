/* SPDX-License-Identifier: Apache-2.0 */
#include "source_lines.h"

#include <string.h>

#include "io.h"
#include "limits.h"

/* A source file whose lines are shown: amalgamated ones reach 10 MB. */
#define LIMIT_SOURCE_LEN (32 * MIB)

static void file_done(struct source_file *f)
{
	free(f->path);
	free(f->text);
	free(f->starts);
	*f = (struct source_file){0};
}

void source_lines_done(struct source_lines *s)
{
	for (size_t i = 0; i < SOURCE_FILES; i++)
		file_done(&s->files[i]);
}

/* Finds where each line begins; the end of the file is one more entry. */
static void index_lines(struct source_file *f)
{
	size_t cap = 0;

	for (size_t at = 0; at < f->len;) {
		const uint8_t *newline = memchr(f->text + at, '\n', f->len - at);

		if (!GROW(f->starts, &cap, f->line_count + 2, LIMIT_SOURCE_LEN + 2))
			return;
		f->starts[f->line_count++] = at;
		at = newline ? (size_t)(newline - f->text) + 1 : f->len;
	}
	if (f->line_count)
		f->starts[f->line_count] = f->len;
}

static struct source_file *find_source_file(struct source_lines *s, const void *path, size_t len)
{
	struct source_file *oldest = &s->files[0];

	for (size_t i = 0; i < SOURCE_FILES; i++) {
		struct source_file *f = &s->files[i];

		if (f->path && strlen(f->path) == len && memcmp(f->path, path, len) == 0)
			return f;
		if (f->used < oldest->used)
			oldest = f;
	}
	file_done(oldest);
	oldest->path = strndup(path, len);
	if (oldest->path &&
	    !io_read_file(oldest->path, LIMIT_SOURCE_LEN, &oldest->text, &oldest->len, NULL))
		index_lines(oldest);
	return oldest;
}

bool source_line(struct source_lines *s, const void *path, size_t path_len, uint32_t line,
		 const char **ret, size_t *ret_len)
{
	struct source_file *f;

	if (!path_len || !line || memchr(path, 0, path_len))
		return false;
	f = find_source_file(s, path, path_len);
	f->used = ++s->clock;
	if (line > f->line_count)
		return false;
	*ret = (const char *)f->text + f->starts[line - 1];
	*ret_len = f->starts[line] - f->starts[line - 1];
	while (*ret_len && ((*ret)[*ret_len - 1] == '\n' || (*ret)[*ret_len - 1] == '\r'))
		--*ret_len;
	return true;
}
