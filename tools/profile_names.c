/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_names.h"

#include <stdio.h>
#include <string.h>

#include "demangle.h"
#include "kernel_symbols.h"

void profile_names_init(struct profile_names *n, bool use_cache)
{
	*n = (struct profile_names){.modules = {.use_cache = use_cache}};
}

void profile_names_done(struct profile_names *n)
{
	module_set_done(&n->modules);
	free(n->by_module);
	*n = (struct profile_names){0};
}

static bool has_id(const struct module *m, const struct profile *p, uint32_t build_id)
{
	struct profile_text t = profile_text(p, build_id);
	char hex[BUILD_ID_HEX_MAX];

	build_id_hex(&m->table.id, hex);
	/* perf cuts ids to 20 bytes and fills shorter ones up with zeros. */
	return t.len && strlen(hex) <= t.len && memcmp(hex, t.p, strlen(hex)) == 0 &&
	       strspn(t.p + strlen(hex), "0") >= t.len - strlen(hex);
}

/* The debug file of a build id, when the binary itself is not here. */
static struct module *installed(struct profile_names *n, struct profile_text id)
{
	char path[BUILD_ID_HEX_MAX + 64];

	if (id.len < 4 || id.len >= BUILD_ID_HEX_MAX || strspn(id.p, "0123456789abcdef") < id.len)
		return NULL;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%.*s.debug", id.p,
		 (int)id.len - 2, id.p + 2);
	return module_set_get(&n->modules, path, strlen(path), NULL, NULL);
}

static struct module *find(struct profile_names *n, const struct profile *p, uint32_t module)
{
	const struct profile_module *pm = &p->modules[module];
	struct profile_text path = profile_text(p, pm->path), id = profile_text(p, pm->build_id);
	struct module *m = NULL;

	if (!id.len)
		return NULL;
	if (path.len == strlen(PROFILE_KERNEL_TEXT) &&
	    memcmp(path.p, PROFILE_KERNEL_TEXT, path.len) == 0)
		m = module_set_kernel(&n->modules, NULL);
	else if (path.len && path.p[0] == '/')
		m = module_set_get(&n->modules, path.p, path.len, NULL, NULL);
	if (m && has_id(m, p, pm->build_id))
		return m;
	m = installed(n, id);
	return m && has_id(m, p, pm->build_id) ? m : NULL;
}

/* The address as the table has it. Of a debug file only the whole table knows the segments. */
static bool vaddr_of(const struct module *m, const struct profile_module *pm, uint64_t address,
		     uint64_t *ret)
{
	uint64_t file_off = address - pm->start + pm->file_off;

	if (m->table.kernel) {
		*ret = address + m->table.rsym.text_base;
		return m->table.whole;
	}
	return module_vaddr(m, file_off, ret) ||
	       (m->table.whole && rsym_vaddr_of_file_off(&m->table.rsym, file_off, ret) == 1);
}

static int want_all(struct profile_names *n, const struct profile *p, struct err *err)
{
	for (uint32_t i = 0; i < p->locations.count; i++) {
		struct profile_location l = profile_location(p, i);
		struct module *m;
		uint64_t vaddr;

		if (l.line_count || l.module == PROFILE_NONE)
			continue;
		m = n->by_module[l.module];
		if (!m || !vaddr_of(m, &p->modules[l.module], l.address, &vaddr))
			vaddr = 0; /* any: the table is needed all the same */
		if (m && !module_want(m, vaddr))
			return err_set(err, ERR_MEMORY, "out of memory for names");
	}
	return 0;
}

int profile_names_prepare(struct profile_names *n, const struct profile *p, struct err *err)
{
	bool any = false;
	int rc;

	free(n->by_module);
	n->by_module = NULL;
	n->count = 0;
	for (uint32_t i = 0; !any && i < p->locations.count; i++) {
		struct profile_location l = profile_location(p, i);

		any = !l.line_count && l.module != PROFILE_NONE;
	}
	if (!any)
		return 0;
	n->by_module = calloc(p->module_keys.count + 1, sizeof(struct module *));
	if (!n->by_module)
		return err_set(err, ERR_MEMORY, "out of memory for names");
	n->count = p->module_keys.count;
	for (uint32_t i = 0; i < n->count; i++) {
		n->by_module[i] = find(n, p, i);
		/* The kernel's symbols, and a debug file's segments, are in whole tables only. */
		if (n->by_module[i] &&
		    (n->by_module[i]->table.kernel || n->by_module[i]->table.debug_only) &&
		    module_whole(&n->modules, n->by_module[i], NULL))
			n->by_module[i] = NULL;
	}
	rc = want_all(n, p, err);
	return rc ? rc : module_set_prepare(&n->modules, err);
}

static uint32_t add_function(const struct rsym *t, struct rsym_frame frame, struct profile *into)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_NAME_LEN);
	_cleanup_(buf_done) struct buf shown = BUF_INIT(LIMIT_NAME_LEN + LIMIT_DEMANGLE_OUT);
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_STRING_LEN);
	struct rsym_function f = {0};

	if (rsym_name(t, frame.function, &name, NULL) ||
	    rsym_function(t, frame.function, &f, NULL) ||
	    (frame.file != RSYM_NONE && rsym_file(t, frame.file, &file, NULL)))
		return PROFILE_NONE;
	demangle_append(DEMANGLE_FULL, name.p, name.len, &shown);
	return profile_add_function(into,
				    &(struct profile_function){
					    .name = profile_string(into, shown.p, shown.len),
					    .system_name = profile_string(into, name.p, name.len),
					    .file = profile_string(into, file.p, file.len),
					    .start_line = f.start_line,
				    });
}

size_t profile_names_lines(void *ctx, const struct profile *from, const struct profile_location *l,
			   struct profile *into, struct profile_line *lines, size_t max)
{
	struct profile_names *n = ctx;
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	const struct module *m = l->module < n->count ? n->by_module[l->module] : NULL;
	uint64_t vaddr;
	int count;

	if (!m || m->failed || !m->table.p ||
	    !vaddr_of(m, &from->modules[l->module], l->address, &vaddr))
		return 0;
	count = rsym_lookup(&m->table.rsym, vaddr, frames,
			    max < ARRAY_LEN(frames) ? max : ARRAY_LEN(frames));
	for (int i = 0; i < count; i++) {
		lines[i] = (struct profile_line){add_function(&m->table.rsym, frames[i], into),
						 frames[i].line};
		if (lines[i].function == PROFILE_NONE)
			return 0;
	}
	return count > 0 ? (size_t)count : 0;
}
