/* SPDX-License-Identifier: Apache-2.0 */
#include "module_set.h"

#include <string.h>
#include <sys/mman.h>

#include "file_notes.h"
#include "image_debug_file.h"
#include "kernel_symbols.h"

/* The name of the kernel, which cannot be a path. */
#define KERNEL_NAME "[kernel]"

static void module_free(struct module *m)
{
	frame_printer_free(m->frame_printer);
	local_table_close(&m->table);
	free(m->wanted);
	free(m->path);
	free(m);
}

void module_set_done(struct module_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		module_free(s->list[i]);
	free(s->list);
	*s = (struct module_set){0};
}

static struct module *find_module(const struct module_set *s, const char *path, size_t len)
{
	for (size_t i = 0; i < s->count; i++)
		if (strlen(s->list[i]->path) == len && memcmp(s->list[i]->path, path, len) == 0)
			return s->list[i];
	return NULL;
}

/* Forgets unreadable files first, because a log may name any number of files that are not here. A
 * caller holds such a module only after it wanted an address of it. */
static bool make_module_room(struct module_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i]->failed && !s->list[i]->wanted_count) {
			module_free(s->list[i]);
			memmove(s->list + i, s->list + i + 1,
				(--s->count - i) * sizeof(struct module *));
			return true;
		}
	return false;
}

static struct module *add_set_module(struct module_set *s, const char *path, size_t len,
				     struct err *err)
{
	struct module *m = NULL;

	if (s->count == LIMIT_OPEN_MODULES && !make_module_room(s)) {
		err_set(err, ERR_LIMIT, "more than %d files", LIMIT_OPEN_MODULES);
		return NULL;
	}
	if (GROW(s->list, &s->cap, s->count + 1, LIMIT_OPEN_MODULES))
		m = calloc(1, sizeof(*m));
	if (m) {
		m->table = (struct local_table)LOCAL_TABLE_NONE;
		m->path = strndup(path, len);
	}
	if (!m || !m->path) {
		free(m);
		err_no_memory(err);
		return NULL;
	}
	s->list[s->count++] = m;
	return m;
}

struct module *module_set_get(struct module_set *s, const char *path, size_t path_len,
			      const char *open_path, struct err *err)
{
	struct module *m = find_module(s, path, path_len);
	struct err why;

	if (!m) {
		m = add_set_module(s, path, path_len, err);
		if (!m)
			return NULL;
		m->failed = local_table_open(&m->table, open_path ? open_path : m->path,
					     s->use_cache, &why) != 0;
		/* The caller's path may go; the file is open. */
		m->table.path = m->path;
		if (m->failed)
			err_set(err, why.code, "%s", why.message);
	} else if (m->failed) {
		err_set(err, ERR_NOT_FOUND, "%s: cannot be read", m->path);
	}
	return m->failed ? NULL : m;
}

struct module *module_set_kernel(struct module_set *s, struct err *err)
{
	struct module *m = find_module(s, KERNEL_NAME, strlen(KERNEL_NAME));
	_cleanup_(closep) int fd = -1;
	struct build_id id;
	int rc = 0;

	if (!m) {
		m = add_set_module(s, KERNEL_NAME, strlen(KERNEL_NAME), err);
		if (!m)
			return NULL;
		rc = file_notes_of_path(FILE_NOTES_KERNEL, &id, err);
		if (!rc)
			rc = kernel_symbols_open("/proc/kallsyms", &fd, err);
		if (!rc)
			rc = local_table_open_kernel(&m->table, TAKE_FD(fd), &id, err);
		m->table.path = m->path;
		m->failed = rc != 0;
	} else if (m->failed) {
		err_set(err, ERR_NOT_FOUND, "the running kernel: its symbols cannot be read");
	}
	return m->failed ? NULL : m;
}

bool module_want(struct module *m, uint64_t vaddr)
{
	if (!GROW(m->wanted, &m->wanted_cap, m->wanted_count + 1, SIZE_MAX / sizeof(*m->wanted)))
		return false;
	m->wanted[m->wanted_count++] = vaddr;
	return true;
}

static int prepare_module(const struct module_set *s, struct module *m, const uint64_t *vaddrs,
			  size_t count, struct err *err)
{
	const void *before = m->table.p;
	int rc = local_table_need(&m->table, vaddrs, count, err);

	if (rc || (m->frame_printer && before == m->table.p && m->table.whole))
		return rc;
	frame_printer_free(m->frame_printer);
	m->frame_printer = frame_printer_new(&m->table.rsym, s->demangle, err);
	return m->frame_printer ? 0 : err->code;
}

int module_set_prepare(struct module_set *s, struct err *err)
{
	for (size_t i = 0; i < s->count; i++) {
		struct module *m = s->list[i];
		struct err why;
		int rc = m->wanted_count && !m->failed
				 ? prepare_module(s, m, m->wanted, m->wanted_count, &why)
				 : 0;

		m->wanted_count = 0;
		if (rc == ERR_MEMORY)
			return err_set(err, rc, "%s", why.message);
		/* A file that cannot be read does not affect the others. */
		if (rc)
			m->failed = true;
	}
	return 0;
}

void module_set_leave(const struct module_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		local_table_leave(&s->list[i]->table);
}

int module_whole(const struct module_set *s, struct module *m, struct err *err)
{
	return prepare_module(s, m, NULL, 0, err);
}

int module_vaddr(const struct module *m, uint64_t file_off, uint64_t *ret)
{
	return image_debug_file_vaddr(m->table.fd, file_off, ret);
}
