/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BACKEND_CHOICE_H
#define RAWSTACK_BACKEND_CHOICE_H
/*
 * Chooses the backend of a run by trial: the first that opens, of those that can sample what is
 * asked for. It makes no difference why another one does not open: a missing capability, a setting,
 * a kernel whose verifier refuses the program, or a kernel without types. `run` and `doctor` use
 * this.
 */
#include "backend.h"

enum backend_wanted {
	BACKEND_WANTED_AUTO, /* the first that works of bpf, perf and perf-self */
	BACKEND_WANTED_BPF,
	BACKEND_WANTED_PERF,
	BACKEND_WANTED_PERF_SELF,
	BACKEND_WANTED_COUNT,
};

/* The arguments of --backend, by enum backend_wanted. */
extern const char *const backend_wanted_words[];

/*
 * Opens a backend and sets *ret_source to its `self`. For each backend that does not open while
 * another one is left, it calls `say` with a line that tells why, and which one is tried next.
 * Returns 0, or the error of the last backend.
 */
int backend_choose(const struct backend **ret, void **ret_source, enum backend_wanted wanted,
		   const struct backend_options *options, void (*say)(const char *line),
		   struct err *err);

#endif
