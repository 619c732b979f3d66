/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "demangle_budget.h"
#include "kernel_symbols.h"
#include "log.h"

enum {
	/* Frames whose function is kept for the next address that has the same frame; 80 MiB with
	 * their keys. For others the function is looked up again each time. */
	LIMIT_KNOWN_FRAMES = 1 << 22,
	KNOWN_KEY_LEN = 4 * sizeof(uint32_t),
};

void profile_names_init(struct profile_names *n, const struct name_options *options)
{
	*n = (struct profile_names){
		.options = options,
		.modules = {.use_cache = !options->no_cache},
		.known = INTERN_INIT(LIMIT_KNOWN_FRAMES, LIMIT_KNOWN_FRAMES * KNOWN_KEY_LEN)};
}

void profile_names_done(struct profile_names *n)
{
	module_set_done(&n->modules);
	free(n->by_module);
	intern_done(&n->known);
	free(n->rows);
	*n = (struct profile_names){0};
}

static bool module_has_id(const struct module *m, const struct profile *p, uint32_t build_id)
{
	struct profile_text t = profile_text(p, build_id);

	return local_table_is(&m->table, t.p, t.len);
}

/* Makes the path DIR/.build-id/ab/cdef.debug. Returns false if id is no build id. */
static bool debug_path(struct buf *path, const char *dir, const char *id, size_t len)
{
	if (len < 4 || len >= BUILD_ID_HEX_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!id[i] || !strchr("0123456789abcdef", id[i]))
			return false;
	buf_reset(path);
	return buf_printf(path, "%s/.build-id/%.2s/%.*s.debug", dir, id, (int)len - 2, id + 2);
}

/* Finds the debug file of a build id whose binary is not on this machine. */
static struct module *find_debug_file(struct profile_names *n, const struct profile *p,
				      uint32_t build_id)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT(LIMIT_PATH_LEN + BUILD_ID_HEX_MAX + 64);
	struct profile_text id = profile_text(p, build_id);

	for (size_t i = 0; i <= n->options->debug_dir_count; i++) {
		const char *dir = i < n->options->debug_dir_count ? n->options->debug_dirs[i]
								  : "/usr/lib/debug";
		struct module *m;

		if (!debug_path(&path, dir, id.p, id.len))
			return NULL;
		m = module_set_get(&n->modules, buf_cstr(&path), path.len, NULL, NULL);
		if (m && module_has_id(m, p, build_id))
			return m;
	}
	return NULL;
}

/* Gives a binary its debug file, if one is in the directories that the user named. Returns m. */
static struct module *with_debug_file(struct profile_names *n, struct module *m)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT(LIMIT_PATH_LEN + BUILD_ID_HEX_MAX + 64);
	char hex[BUILD_ID_HEX_MAX];

	build_id_hex(&m->table.id, hex);
	for (size_t i = 0; m->table.debug_fd < 0 && i < n->options->debug_dir_count; i++) {
		int fd;

		if (!debug_path(&path, n->options->debug_dirs[i], hex, strlen(hex)))
			break;
		fd = open(buf_cstr(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd >= 0)
			local_table_debug_file(&m->table, fd);
	}
	return m;
}

/* Finds the module of a build id among the files that the user named. */
static struct module *find_given(struct profile_names *n, const struct profile *p,
				 uint32_t build_id)
{
	for (size_t i = 0; i < n->options->file_count; i++) {
		const char *path = n->options->files[i];
		struct module *m = module_set_get(&n->modules, path, strlen(path), NULL, NULL);

		if (m && module_has_id(m, p, build_id))
			return m;
	}
	return NULL;
}

static const char *module_base_name(const char *path, size_t len, size_t *ret_len)
{
	const char *slash = memrchr(path, '/', len);
	const char *base = slash ? slash + 1 : path;

	*ret_len = len - (size_t)(base - path);
	return base;
}

/* Finds the named file for a binary whose build id the profile lacks: the file of the same path,
 * or, because the binary may have been elsewhere, of the same base name. */
static struct module *find_given_path(struct profile_names *n, struct profile_text path)
{
	const char *given = NULL, *wanted;
	size_t len, wanted_len;

	wanted = module_base_name(path.p, path.len, &wanted_len);
	for (size_t i = 0; i < n->options->file_count; i++) {
		const char *file = n->options->files[i];
		const char *base = module_base_name(file, strlen(file), &len);

		if (strlen(file) == path.len && memcmp(file, path.p, path.len) == 0) {
			given = file;
			break;
		}
		if (!given && len && len == wanted_len && memcmp(base, wanted, len) == 0)
			given = file;
	}
	return given ? module_set_get(&n->modules, given, strlen(given), NULL, NULL) : NULL;
}

/* Opens the files that the user named, which must exist, unlike those that a profile names. */
static int open_given(struct profile_names *n, struct err *err)
{
	for (size_t i = 0; i < n->options->file_count; i++) {
		const char *path = n->options->files[i];

		if (!module_set_get(&n->modules, path, strlen(path), NULL, err))
			return err->code;
	}
	return 0;
}

static struct module *find_profile_module(struct profile_names *n, const struct profile *p,
					  uint32_t module)
{
	const struct profile_module *pm = &p->modules[module];
	struct profile_text path = profile_text(p, pm->path), id = profile_text(p, pm->build_id);
	struct module *m = NULL;

	m = id.len ? find_given(n, p, pm->build_id) : find_given_path(n, path);
	if (m)
		return with_debug_file(n, m);
	if (!id.len)
		return NULL;
	if (path.len == strlen(PROFILE_KERNEL_TEXT) &&
	    memcmp(path.p, PROFILE_KERNEL_TEXT, path.len) == 0)
		m = module_set_kernel(&n->modules, NULL);
	else if (path.len && path.p[0] == '/')
		m = module_set_get(&n->modules, path.p, path.len, NULL, NULL);
	if (m && module_has_id(m, p, pm->build_id))
		return with_debug_file(n, m);
	return find_debug_file(n, p, pm->build_id);
}

/* Translates the address to one of the table. Only the whole table may know the segments of a debug
 * file; if it was made from that file alone, a spool has the segments that the host read. */
static bool vaddr_of_location(const struct module *m, const struct profile *p, uint32_t module,
			      uint64_t address, uint64_t *ret)
{
	const struct profile_module *pm = &p->modules[module];
	uint64_t file_off = address - pm->start + pm->file_off;
	const struct file_segment *segments;
	size_t count;

	if (m->table.kernel) {
		*ret = address + m->table.rsym.text_base;
		return m->table.whole;
	}
	segments = profile_module_segments(p, module, &count);
	/* The program headers of a debug file describe its own bytes at most. */
	if (m->table.debug_only && count && !(m->table.rsym.flags & RSYM_HAS_SEGMENTS))
		return file_segments_vaddr(segments, count, file_off, ret) == 1;
	return module_vaddr(m, file_off, ret) ||
	       (m->table.whole && rsym_vaddr_of_file_off(&m->table.rsym, file_off, ret) == 1);
}

static bool source_names(const struct profile_names *n, const struct profile *p,
			 const struct profile_location *l)
{
	const struct name_source *source = n->options->source;

	return source && source->lines(source->ctx, p, l, NULL, NULL, SIZE_MAX);
}

/* Finds the file of a module, and makes its whole table if only that can answer. Returns NULL if
 * that fails. */
static struct module *ready_profile_module(struct profile_names *n, const struct profile *p,
					   uint32_t module)
{
	struct module *m = find_profile_module(n, p, module);

	/* The kernel's symbols, and a debug file's segments, are in whole tables only. */
	if (m && (m->table.kernel || m->table.debug_only) && module_whole(&n->modules, m, NULL))
		return NULL;
	return m;
}

static int want_all(struct profile_names *n, const struct profile *p, struct err *err)
{
	_cleanup_(freep) bool *looked = calloc(n->count + 1, sizeof(*looked));

	if (!looked)
		return err_no_memory(err);
	for (uint32_t i = 0; i < p->locations.count; i++) {
		struct profile_location l = profile_location(p, i);
		struct module *m;
		uint64_t vaddr;

		if (!profile_is_unnamed(p, &l) || source_names(n, p, &l))
			continue;
		if (!looked[l.module])
			n->by_module[l.module] = ready_profile_module(n, p, l.module);
		looked[l.module] = true;
		m = n->by_module[l.module];
		if (!m || !vaddr_of_location(m, p, l.module, l.address, &vaddr))
			vaddr = 0; /* any address: the table is needed in any case */
		if (m && (!module_want(m, vaddr) || (l.is_return && !module_want(m, vaddr + 1))))
			return err_no_memory(err);
	}
	return 0;
}

static int ask_source(struct profile_names *n, const struct profile *p, struct err *err)
{
	const struct name_source *source = n->options->source;
	struct err why;
	int rc = source ? source->prepare(source->ctx, p, &why) : 0;

	if (rc == ERR_UNAVAILABLE && n->options->may_be_away) {
		log_warn("%s: only files of this machine give names", why.message);
		return 0;
	}
	return rc ? err_set(err, rc, "%s", why.message) : 0;
}

int profile_names_prepare(struct profile_names *n, const struct profile *p, struct err *err)
{
	bool any = false;
	int rc;

	free(n->by_module);
	n->by_module = NULL;
	n->count = 0;
	rc = open_given(n, err);
	for (uint32_t i = 0; !any && i < p->locations.count; i++) {
		struct profile_location l = profile_location(p, i);

		any = profile_is_unnamed(p, &l);
	}
	if (rc || !any)
		return rc;
	n->by_module = calloc(p->module_keys.count + 1, sizeof(struct module *));
	if (!n->by_module)
		return err_no_memory(err);
	n->count = p->module_keys.count;
	TRY(ask_source(n, p, err));
	TRY(want_all(n, p, err));
	return module_set_prepare(&n->modules, err);
}

static uint32_t make_table_function(const struct rsym *t, struct rsym_frame frame,
				    enum demangle_style style, struct profile *into)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_NAME_LEN);
	_cleanup_(buf_done) struct buf shown = BUF_INIT(LIMIT_NAME_LEN + LIMIT_DEMANGLE_OUT);
	_cleanup_(buf_done) struct buf file = BUF_INIT(LIMIT_STRING_LEN);
	_cleanup_(buf_done) struct buf decl = BUF_INIT(LIMIT_STRING_LEN);
	struct rsym_function f = {0};

	if (rsym_name(t, frame.function, &name, NULL) ||
	    rsym_function(t, frame.function, &f, NULL) ||
	    (frame.file != RSYM_NONE && rsym_file(t, frame.file, &file, NULL)))
		return PROFILE_NONE;
	if (f.file != RSYM_NONE && f.file != frame.file && rsym_file(t, f.file, &decl, NULL))
		return PROFILE_NONE;
	if (f.file != RSYM_NONE && f.file == frame.file)
		buf_append(&decl, file.p, file.len);
	demangle_budget_append(style, name.p, name.len, &shown);
	return profile_add_function(into,
				    &(struct profile_function){
					    .name = profile_string(into, shown.p, shown.len),
					    .system_name = profile_string(into, name.p, name.len),
					    .file = profile_string(into, file.p, file.len),
					    .start_line = f.start_line,
					    .decl_file = profile_string(into, decl.p, decl.len),
					    .start = decl.len ? 0 : f.vaddr,
				    });
}

/* Unpacks and demangles a function's name only once, because many addresses lie in one function. */
static uint32_t add_table_function(struct profile_names *n, uint32_t module,
				   struct rsym_frame frame, enum demangle_style style,
				   struct profile *into)
{
	const uint32_t key[] = {module, frame.function, frame.file, style};
	const struct rsym *t = &n->by_module[module]->table.rsym;
	bool is_new;
	uint32_t id;

	_Static_assert(sizeof(key) == KNOWN_KEY_LEN, "a key's length");
	id = intern_add(&n->known, key, sizeof(key), &is_new);
	if (id == INTERN_FULL || !GROW(n->rows, &n->rows_cap, (size_t)id + 1, LIMIT_KNOWN_FRAMES))
		return make_table_function(t, frame, style, into);
	if (is_new)
		n->rows[id] = make_table_function(t, frame, style, into);
	return n->rows[id];
}

size_t profile_names_lines(void *ctx, const struct profile *from, const struct profile_location *l,
			   struct profile *into, struct profile_line *lines, size_t max)
{
	struct profile_names *n = ctx;
	struct rsym_frame frames[RSYM_FRAMES_MAX];
	const struct module *m = l->module < n->count ? n->by_module[l->module] : NULL;
	const struct name_source *source = n->options->source;
	/* All profiles of Rawstack have short names, so that any two can be compared. */
	const enum demangle_style style = DEMANGLE_SHORT;
	size_t named = source ? source->lines(source->ctx, from, l, into, lines, max) : 0;
	uint64_t vaddr;
	int count;

	if (named)
		return named;
	if (!m || m->failed || !m->table.p ||
	    !vaddr_of_location(m, from, l->module, l->address, &vaddr))
		return 0;
	if (l->is_return)
		vaddr = rsym_call_vaddr(&m->table.rsym, vaddr + 1);
	count = rsym_lookup(&m->table.rsym, vaddr, frames,
			    max < ARRAY_LEN(frames) ? max : ARRAY_LEN(frames));
	for (int i = 0; i < count; i++) {
		lines[i] = (struct profile_line){
			add_table_function(n, l->module, frames[i], style, into), frames[i].line};
		if (lines[i].function == PROFILE_NONE)
			return 0;
	}
	return count > 0 ? (size_t)count : 0;
}
