/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BACKEND_CHOICE_H
#define RAWSTACK_BACKEND_CHOICE_H
/*
 * Chooses the backend of a run by trial: of the backends that can sample what is asked for, the
 * first that opens. Why another one does not open makes no difference: a missing capability, a
 * setting, a kernel whose verifier refuses the program, or a kernel without types. `run` and
 * `doctor` use this.
 */
#include "backend.h"

enum backend_wanted {
	BACKEND_WANTED_AUTO, /* bpf, perf, perf-self: the first that works */
	BACKEND_WANTED_BPF,
	BACKEND_WANTED_PERF,
	BACKEND_WANTED_PERF_SELF,
	BACKEND_WANTED_COUNT,
};

/* The arguments of --backend, by enum backend_wanted. */
extern const char *const backend_wanted_words[];

/*
 * Opens a backend, whose `self` is then in *ret_source. `say` is called for each backend
 * that was tried before, with a line that tells why it does not work here and which one is tried
 * next. The error is that of the last backend.
 */
int backend_choose(const struct backend **ret, void **ret_source, enum backend_wanted wanted,
		   const struct backend_options *options, void (*say)(const char *line),
		   struct err *err);

#endif
