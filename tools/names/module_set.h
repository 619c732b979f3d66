/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MODULE_SET_H
#define RAWSTACK_MODULE_SET_H
/*
 * Keeps the files of this machine that hold addresses, by path. Each is opened once, and its table
 * is made when it is needed. Paths may come from a log or another process, so a file that cannot be
 * read is remembered and answers nothing.
 */
#include "frame_printer.h"
#include "local_table.h"

/* A program maps some hundred files at most, and each costs a descriptor and a mapping. */
#define LIMIT_OPEN_MODULES 512

struct module {
	char *path;
	struct local_table table;
	struct frame_printer *frame_printer; /* printer for the present table */
	bool failed;
	uint64_t *wanted; /* addresses that module_want() noted */
	size_t wanted_count, wanted_cap;
};

struct module_set {
	struct module **list;
	size_t count, cap;
	bool use_cache, demangle;
};

void module_set_done(struct module_set *s);

/* Returns the module at a path, opened through `open_path` (NULL: the same path). Returns NULL if
 * memory is out, there are too many, or it cannot be read; err, if not NULL, says why. */
struct module *module_set_get(struct module_set *s, const char *path, size_t path_len,
			      const char *open_path, struct err *err);

/* Returns the running kernel, from /proc/kallsyms, as module_set_get() does. */
struct module *module_set_kernel(struct module_set *s, struct err *err);

/* Notes that vaddr will be asked for, so that module_set_prepare() makes its table answer it
 * together with all others. Returns false if memory is out. */
bool module_want(struct module *m, uint64_t vaddr);
int module_set_prepare(struct module_set *s, struct err *err) _must_check_;

/* Makes the whole table of a module, so that it answers every address. */
int module_whole(const struct module_set *s, struct module *m, struct err *err) _must_check_;

/* Calls local_table_leave() for each module. */
void module_set_leave(const struct module_set *s);

/* Translates a file offset to a link-time address. Returns 1, or 0 if no segment holds it. */
int module_vaddr(const struct module *m, uint64_t file_off, uint64_t *ret);

#endif
