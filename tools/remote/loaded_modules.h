/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOADED_MODULES_H
#define RAWSTACK_LOADED_MODULES_H
/*
 * The files of the kernel modules that are loaded now, for `push --kernel`. Looks at no content:
 * what a file has to be is told by the build id of what was loaded from it. One thread.
 */
#include "push_files.h"

struct loaded_modules_places {
	const char *proc; /* /proc/modules, proc_modules(5) */
	const char *sys;  /* /sys/module: <name>/notes/.note.gnu.build-id */
	const char *lib;  /* /lib/modules/<release>: modules.dep, as depmod(8) writes it */
};

/*
 * Adds the file of each to the list, with the id it must have. A module without a file there, as
 * in a container, or of a kernel that was removed, is a warning; and a kernel without modules has
 * none. ERR_LIMIT, ERR_MEMORY.
 */
int loaded_modules_add(const struct loaded_modules_places *at, struct push_files *files,
		       struct err *err) _must_check_;

/* The same, of the running kernel. */
int loaded_modules_add_running(struct push_files *files, struct err *err) _must_check_;

#endif
