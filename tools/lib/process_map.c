/* SPDX-License-Identifier: Apache-2.0 */
#include "process_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bisect.h"
#include "io.h"
#include "limits.h"
#include "number.h"

/* Executable mappings of one process: vm.max_map_count is 65530 by default. */
#define LIMIT_MAPPINGS LIMIT(65536)
/* /proc/PID/maps as text: LIMIT_MAPPINGS lines, few of which are long. */
#define LIMIT_MAPS_LEN (64 * MIB)

void process_map_done(struct process_map *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->list[i].path);
	free(m->list);
	*m = (struct process_map){0};
}

/* Parses a line like "55d7-55d8 r-xp 00001000 fe:01 131 /usr/bin/x". Returns 1 if it is an
 * executable mapping of a file, 0 if it is not, or -1 if memory is out. */
static int parse_maps_line(const char *line, struct process_mapping *ret)
{
	const char *permissions, *at = line;

	if (!number_take(&at, 16, &ret->start) || *at++ != '-' ||
	    !number_take(&at, 16, &ret->end) || *at++ != ' ')
		return 0;
	permissions = at;
	if (strnlen(permissions, 5) < 5 || permissions[2] != 'x')
		return 0;
	at += 5;
	if (!number_take(&at, 16, &ret->file_off))
		return 0;
	for (int word = 0; word < 2; word++) { /* device, inode */
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	at += strspn(at, " ");
	if (*at != '/' || ret->start >= ret->end)
		return 0;
	ret->path = strdup(at);
	return ret->path ? 1 : -1;
}

int process_map_parse(struct process_map *m, const char *text, size_t len, struct err *err)
{
	while (len) {
		const char *newline = memchr(text, '\n', len);
		size_t line_len = newline ? (size_t)(newline - text) : len;
		char line[LIMIT_PATH_LEN + 128];
		struct process_mapping one;
		int found = 0;

		if (line_len < sizeof(line)) {
			memcpy(line, text, line_len);
			line[line_len] = 0;
			found = parse_maps_line(line, &one);
		}
		if (found > 0 && !GROW(m->list, &m->cap, m->count + 1, LIMIT_MAPPINGS)) {
			free(one.path);
			found = -1;
		}
		if (found < 0)
			return err_no_memory(err);
		if (found)
			m->list[m->count++] = one;
		line_len += newline != NULL;
		text += line_len;
		len -= line_len;
	}
	return 0;
}

int process_map_read(struct process_map *m, int64_t pid, struct err *err)
{
	_cleanup_(freep) uint8_t *text = NULL;
	char path[64];
	size_t len;

	m->pid = pid;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/maps", pid);
	if (access(path, F_OK))
		return err_set(err, ERR_NOT_FOUND, "there is no process %" PRId64, pid);
	TRY(io_read_file(path, LIMIT_MAPS_LEN, &text, &len, err));
	return process_map_parse(m, (const char *)text, len, err);
}

const struct process_mapping *process_map_find(const struct process_map *m, uint64_t pc)
{
	size_t at = BISECT(m->count, i, m->list[i].end <= pc);

	return at < m->count && m->list[at].start <= pc ? &m->list[at] : NULL;
}
