/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_BACKEND_CHOICE_H
#define RAWSTACK_BACKEND_CHOICE_H
/*
 * Chooses the backend of a run by trial: the first that can be opened, of those that can sample
 * what is asked for. It does not matter why another one cannot: a capability, a setting, a kernel
 * whose verifier refuses the program, or one without types. `run` and `doctor` both use this.
 */
#include "backend.h"

enum backend_wanted {
	BACKEND_WANTED_AUTO, /* bpf, perf, perf-self: the first that works */
	BACKEND_WANTED_BPF,
	BACKEND_WANTED_PERF,
	BACKEND_WANTED_PERF_SELF,
	BACKEND_WANTED_COUNT,
};

/* What --backend takes, by enum backend_wanted. */
extern const char *const backend_wanted_words[];

/*
 * Opens a backend, whose `self` is then in *ret_source. `say` is called for each that was tried
 * before, with a line that tells why it does not work here, and what comes next. The error is
 * that of the last one tried.
 */
int backend_choose(const struct backend **ret, void **ret_source, enum backend_wanted wanted,
		   const struct backend_options *options, void (*say)(const char *line),
		   struct err *err);

#endif
