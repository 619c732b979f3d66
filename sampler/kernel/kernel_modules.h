/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_KERNEL_MODULES_H
#define RAWSTACK_KERNEL_MODULES_H
/*
 * Loaded modules of the kernel: where they lie (/proc/modules), where their sections are and their
 * build ids (/sys/module). A place in one is an offset in a section of its file. What may not be
 * read (sections are for root alone) stays unknown. One thread uses it.
 */
#include "build_id.h"

struct kernel_modules {
	struct kernel_module *rows; /* ascending */
	size_t count, cap;
	const char *sys_dir; /* borrowed */
};

struct kernel_module_place {
	const char *module, *section; /* borrowed until the next read */
	uint64_t off;                 /* in the section */
	struct build_id id;
};

/* Reads which modules are loaded now, from KERNEL_MODULES_PROC and KERNEL_MODULES_SYS, or from a
 * test's files. */
void kernel_modules_read(struct kernel_modules *m, const char *proc_path, const char *sys_dir);
void kernel_modules_done(struct kernel_modules *m);

/* Returns whether pc is in the text of a module whose sections and id are known. Reads these for
 * the first pc in the module. */
bool kernel_modules_find(struct kernel_modules *m, uint64_t pc, struct kernel_module_place *ret);

#define KERNEL_MODULES_PROC "/proc/modules"
#define KERNEL_MODULES_SYS  "/sys/module"

#endif
