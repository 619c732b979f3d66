/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_LOADED_MODULES_H
#define RAWSTACK_LOADED_MODULES_H
/*
 * Finds the files of the loaded kernel modules, for `push --kernel`. It reads none of them: the
 * build id of the loaded module says what a file has to be. For one thread.
 */
#include "push_files.h"

struct loaded_modules_places {
	const char *proc; /* /proc/modules, proc_modules(5) */
	const char *sys;  /* /sys/module: <name>/notes/.note.gnu.build-id */
	const char *lib;  /* /lib/modules/<release>: modules.dep, as depmod(8) writes it */
};

/*
 * Adds the file of each loaded module to the list, with the id that it must have. A module without
 * a file, as in a container or of a removed kernel, is a warning. A kernel without modules adds
 * nothing. Returns ERR_LIMIT or ERR_MEMORY.
 */
int loaded_modules_add(const struct loaded_modules_places *at, struct push_files *files,
		       struct err *err) _must_check_;

/* Adds the modules of the running kernel. */
int loaded_modules_add_running(struct push_files *files, struct err *err) _must_check_;

#endif
