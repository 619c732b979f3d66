/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel_modules.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "file_notes.h"
#include "io.h"
#include "limits.h"
#include "number.h"

enum {
	NAME_LEN = 64, /* MODULE_NAME_LEN of the kernel is 56 */
};

struct section {
	uint64_t start;
	char name[NAME_LEN];
};

struct kernel_module {
	uint64_t start, end;
	char name[NAME_LEN];
	bool is_read;
	struct build_id id; /* kind NONE: unknown */
	struct section *sections;
	size_t count, cap;
};

void kernel_modules_done(struct kernel_modules *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->rows[i].sections);
	free(m->rows);
	*m = (struct kernel_modules){.count = 0};
}

static int compare_kernel_modules(const void *a, const void *b)
{
	const struct kernel_module *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int compare_sections(const void *a, const void *b)
{
	const struct section *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Returns the number in "0x<hex>", or 0 when there is none. */
static uint64_t read_proc_address(const char *text)
{
	uint64_t address = 0;

	text += strncmp(text, "0x", 2) ? 0 : 2;
	return number_take(&text, 16, &address) ? address : 0;
}

/* Reads a line "<name> <size> <uses> <used by> <state> 0x<address>[ (<taints>)]", proc_modules(5).
 * Addresses are zero without CAP_SYSLOG. */
static void read_module_line(struct kernel_modules *m, char *line)
{
	char *rest = NULL, *name = strtok_r(line, " ", &rest), *size = strtok_r(NULL, " ", &rest);
	struct kernel_module row = {.start = 0};
	char *address = NULL;
	uint64_t len;

	for (int i = 0; i < 4; i++)
		address = strtok_r(NULL, " \n", &rest);
	if (!address || strlen(name) >= sizeof(row.name) || strchr(name, '/'))
		return;
	row.start = read_proc_address(address);
	if (!row.start || !number_read(size, 10, &len) || !CHECKED_ADD(row.start, len, &row.end) ||
	    !GROW(m->rows, &m->cap, m->count + 1, LIMIT_KERNEL_MODULES))
		return;
	memcpy(row.name, name, strlen(name) + 1);
	m->rows[m->count++] = row;
}

void kernel_modules_read(struct kernel_modules *m, const char *proc_path, const char *sys_dir)
{
	_cleanup_(freep) char *line = NULL;
	FILE *f = fopen(proc_path, "re");
	size_t cap = 0;

	kernel_modules_done(m);
	m->sys_dir = sys_dir;
	if (!f) /* a kernel without modules */
		return;
	while (getline(&line, &cap, f) >= 0)
		read_module_line(m, line);
	fclose(f);
	if (m->count)
		qsort(m->rows, m->count, sizeof(*m->rows), compare_kernel_modules);
}

static void read_module_section(struct kernel_module *row, const char *dir, const char *name)
{
	_cleanup_(freep) uint8_t *text = NULL;
	char path[LIMIT_PATH_LEN];
	struct section s = {.start = 0};
	size_t len;

	if (strlen(name) >= sizeof(s.name) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path) ||
	    io_read_file(path, 64, &text, &len, NULL))
		return;
	s.start = read_proc_address((const char *)text);
	memcpy(s.name, name, strlen(name) + 1);
	if (s.start && GROW(row->sections, &row->cap, row->count + 1, LIMIT_ELF_SECTIONS))
		row->sections[row->count++] = s;
}

static void read_module(const struct kernel_modules *m, struct kernel_module *row)
{
	char path[LIMIT_PATH_LEN];
	struct dirent *entry;
	DIR *dir;

	row->is_read = true;
	snprintf(path, sizeof(path), "%s/%s/notes/.note.gnu.build-id", m->sys_dir, row->name);
	if (file_notes_of_path(path, &row->id, NULL))
		row->id = (struct build_id){.kind = BUILD_ID_NONE};
	snprintf(path, sizeof(path), "%s/%s/sections", m->sys_dir, row->name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			read_module_section(row, path, entry->d_name);
	if (dir)
		closedir(dir);
	if (row->count)
		qsort(row->sections, row->count, sizeof(*row->sections), compare_sections);
}

bool kernel_modules_find(struct kernel_modules *m, uint64_t pc, struct kernel_module_place *ret)
{
	struct kernel_module *row = NULL;
	const struct section *s = NULL;

	for (size_t i = 0; i < m->count && m->rows[i].start <= pc; i++)
		row = &m->rows[i];
	if (!row || pc >= row->end)
		return false;
	if (!row->is_read)
		read_module(m, row);
	for (size_t i = 0; i < row->count && row->sections[i].start <= pc; i++)
		s = &row->sections[i];
	/* .text, .text.unlikely, .init.text, .noinstr.text, ...: nothing else is code. */
	if (!s || !strstr(s->name, "text") || !row->id.len)
		return false;
	*ret = (struct kernel_module_place){row->name, s->name, pc - s->start, row->id};
	return true;
}
