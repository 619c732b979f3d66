/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_MODULE_SET_H
#define RAWSTACK_MODULE_SET_H
/*
 * Files of this machine that addresses lie in, by path: each opened once, its table made when it
 * is needed. Paths may come from a log or another process, so what cannot be read is remembered and
 * answers nothing.
 */
#include "frame_printer.h"
#include "local_table.h"

/* Programs map some hundred files at most; each is a descriptor and a mapping. */
#define MODULE_SET_MAX 512

struct module {
	char *path;
	struct local_table table;
	struct frame_printer *frame_printer; /* of the table as it is */
	bool failed;
	uint64_t *wanted; /* addresses that will be asked for; see module_want() */
	size_t wanted_count, wanted_cap;
};

struct module_set {
	struct module **list;
	size_t count, cap;
	bool use_cache, demangle;
};

void module_set_done(struct module_set *s);

/* The module at a path, opened through `open_path` (NULL: the same). NULL: no memory, too many, or
 * it cannot be read; `err` says why, when it is not NULL. */
struct module *module_set_get(struct module_set *s, const char *path, size_t path_len,
			      const char *open_path, struct err *err);

/* The running kernel, from /proc/kallsyms; as module_set_get(). */
struct module *module_set_kernel(struct module_set *s, struct err *err);

/* Notes that vaddr will be asked for; module_set_prepare() makes it answerable with all others. */
bool module_want(struct module *m, uint64_t vaddr);
int module_set_prepare(struct module_set *s, struct err *err) _must_check_;

/* Prepares all names. */
int module_whole(const struct module_set *s, struct module *m, struct err *err) _must_check_;

/* local_table_leave() of each. */
void module_set_leave(const struct module_set *s);

/* The link-time address of an offset in the file: 1, or 0. */
int module_vaddr(const struct module *m, uint64_t file_off, uint64_t *ret);

#endif
