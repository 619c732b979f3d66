/* SPDX-License-Identifier: Apache-2.0 */
#include "backend_choice.h"

#include <stdio.h>

static const struct {
	const struct backend *backend;
	const char *instead; /* ends the line that says why the backend before it does not work */
} choices[] = {
	[BACKEND_WANTED_BPF] = {&backend_bpf, NULL},
	[BACKEND_WANTED_PERF] = {&backend_perf_all, "trying perf call chains"},
	[BACKEND_WANTED_PERF_SELF] = {&backend_perf_self,
				      "trying own processes with perf_event_open"},
};

const char *const backend_wanted_words[] = {
	[BACKEND_WANTED_AUTO] = "auto",
	[BACKEND_WANTED_BPF] = "bpf",
	[BACKEND_WANTED_PERF] = "perf",
	[BACKEND_WANTED_PERF_SELF] = "perf-self",
	NULL,
};

/* Returns whether a backend can sample exactly the processes that are asked for. */
static bool backend_suits(enum backend_wanted wanted, const struct backend_options *o)
{
	if (wanted == BACKEND_WANTED_PERF)
		return !o->pid_count && !o->cgroup_count;
	if (wanted == BACKEND_WANTED_PERF_SELF)
		return o->pid_count && !o->cgroup_count;
	return true;
}

/* Adds to *err what cannot be sampled without the backends that failed, and returns its code. */
static int explain_none(const struct backend_options *o, struct err *err)
{
	if (o->cgroup_count)
		return err_prefix(err, "without eBPF no cgroup can be sampled");
	if (!o->pid_count)
		return err_prefix(err, "without eBPF and CAP_PERFMON only own processes named "
				       "with --pid can be sampled");
	return err->code;
}

int backend_choose(const struct backend **ret, void **ret_source, enum backend_wanted wanted,
		   const struct backend_options *options, void (*say)(const char *line),
		   struct err *err)
{
	char line[ERR_MESSAGE_MAX + 128];
	int rc = 0;

	if (wanted != BACKEND_WANTED_AUTO) {
		*ret = choices[wanted].backend;
		return (*ret)->open(ret_source, options, err);
	}
	for (enum backend_wanted w = BACKEND_WANTED_BPF; w < BACKEND_WANTED_COUNT; w++) {
		if (!backend_suits(w, options))
			continue;
		if (rc) {
			snprintf(line, sizeof(line), "%s: %s; %s", (*ret)->name, err->message,
				 choices[w].instead);
			say(line);
		}
		*ret = choices[w].backend;
		rc = (*ret)->open(ret_source, options, err);
		if (!rc)
			return 0;
	}
	return explain_none(options, err);
}
