/* SPDX-License-Identifier: Apache-2.0 */
#include "loaded_modules.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "buf.h"
#include "file_notes.h"
#include "io.h"
#include "limits.h"
#include "log.h"

/* The modules.dep of a distribution's kernel lists some 5,000 modules in 700 KB. */
#define LIMIT_MODULES_DEP_LEN (UINT64_C(16) * MIB)

enum {
	NAME_MAX_LEN = 64, /* MODULE_NAME_LEN of the kernel is 56 */
	SHOWN_LEN = 400,   /* bytes of names in a warning */
};

/* Returns whether a path of modules.dep is the file of a module, whose name is the base name up to
 * the first dot, with _ for -. */
static bool is_file_of(const char *path, const char *end, const char *name)
{
	const char *slash = memrchr(path, '/', (size_t)(end - path));
	const char *p = slash ? slash + 1 : path;

	while (p < end && *p != '.' && *name && (*p == '-' ? '_' : *p) == *name) {
		p++;
		name++;
	}
	return p < end && *p == '.' && !*name;
}

/* Finds the file of a module in dep, which ends with a NUL. Returns 1 and its path, or 0 if there
 * is none. */
static int find_module_file(const char *lib, const char *dep, const char *name,
			    char ret[static LIMIT_PATH_LEN])
{
	for (const char *line = dep, *next; *line; line = next) {
		const char *colon;

		next = line + strcspn(line, "\n");
		colon = memchr(line, ':', (size_t)(next - line));
		if (colon && is_file_of(line, colon, name)) {
			/* The path is absolute if the module lies outside lib. */
			int len = snprintf(ret, LIMIT_PATH_LEN, "%s%s%.*s", *line == '/' ? "" : lib,
					   *line == '/' ? "" : "/", (int)(colon - line), line);

			return len < (int)LIMIT_PATH_LEN;
		}
		next += *next == '\n';
	}
	return 0;
}

static struct build_id id_of_module(const char *sys, const char *name)
{
	struct build_id id = {.kind = BUILD_ID_NONE};
	char path[LIMIT_PATH_LEN];

	snprintf(path, sizeof(path), "%s/%s/notes/.note.gnu.build-id", sys, name);
	if (file_notes_of_path(path, &id, NULL))
		id.kind = BUILD_ID_NONE;
	return id;
}

/* Warns about the modules without a file, in one line. */
static void warn_missing(const struct loaded_modules_places *at, const struct buf *names,
			 size_t count)
{
	if (count)
		log_warn("%s: no file of %zu loaded modules, whose frames keep no names: %.*s%s",
			 at->lib, count, (int)names->len, (const char *)names->p,
			 names->len >= SHOWN_LEN ? ", ..." : "");
}

static int add_each(const struct loaded_modules_places *at, char *modules, const char *dep,
		    struct push_files *files, struct err *err)
{
	_cleanup_(buf_done) struct buf missing = BUF_INIT(SHOWN_LEN + NAME_MAX_LEN + 2);
	char path[LIMIT_PATH_LEN], *rest = NULL;
	size_t missing_count = 0;

	for (char *line = strtok_r(modules, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		size_t name_len = strcspn(line, " ");

		if (!name_len || name_len > NAME_MAX_LEN || memchr(line, '/', name_len))
			continue;
		line[name_len] = 0;
		if (find_module_file(at->lib, dep, line, path)) {
			struct build_id id = id_of_module(at->sys, line);

			TRY(push_files_add_loaded(files, path, &id, err));
		} else if (missing_count++ == 0 || missing.len < SHOWN_LEN) {
			buf_printf(&missing, "%s%s", missing.len ? ", " : "", line);
		}
	}
	warn_missing(at, &missing, missing_count);
	return 0;
}

int loaded_modules_add(const struct loaded_modules_places *at, struct push_files *files,
		       struct err *err)
{
	_cleanup_(freep) uint8_t *modules = NULL, *dep = NULL;
	char path[LIMIT_PATH_LEN];
	size_t modules_len, dep_len;
	struct err why = {0};

	if (io_read_file(at->proc, LIMIT_KERNEL_MODULES * 256, &modules, &modules_len, &why) ||
	    !modules_len)
		return 0; /* a kernel without modules */
	snprintf(path, sizeof(path), "%s/modules.dep", at->lib);
	if (io_read_file(path, LIMIT_MODULES_DEP_LEN, &dep, &dep_len, &why)) {
		log_warn("%s: frames of kernel modules keep no names", why.message);
		return 0;
	}
	return add_each(at, (char *)modules, (const char *)dep, files, err);
}

int loaded_modules_add_running(struct push_files *files, struct err *err)
{
	struct loaded_modules_places at = {.proc = "/proc/modules", .sys = "/sys/module"};
	char lib[sizeof("/lib/modules/") + SYS_NMLN];
	struct utsname name;

	if (uname(&name))
		return 0;
	snprintf(lib, sizeof(lib), "/lib/modules/%s", name.release);
	at.lib = lib;
	return loaded_modules_add(&at, files, err);
}
