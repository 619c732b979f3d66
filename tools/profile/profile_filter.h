/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_FILTER_H
#define RAWSTACK_PROFILE_FILTER_H
/*
 * Chooses the samples of profiles and edits their stacks, for all commands alike. Samples are
 * chosen while files are read. Stacks are edited once, after all files are merged, in this order:
 * schemas, labels, focus and ignore, show-from, hide, show, inlined calls, groups. Focus, ignore,
 * show, hide and show-from mean what they mean in pprof.
 */
#include "frame_match.h"
#include "profile_names.h"
#include "schema.h"
#include "server_options.h"

#define PROFILE_FILTER_LABELS 32

struct label_filter {
	char *key, *value; /* for KEY=VALUE */
	struct text_match match;
	bool differs; /* != and !~: samples that have it are left out */
};

enum profile_group {
	GROUP_FUNCTION,
	GROUP_FILE,
	GROUP_LINE,
	GROUP_MODULE,
	GROUP_LABEL,
};

enum name_style {
	NAMES_AS_THEY_ARE,
	NAMES_MANGLED, /* linkage names, where the profile has them */
	NAMES_SHORT,   /* without parameters */
	NAMES_FULL,
};

/* The files of directories that were left out, and why the first of them were. */
#define PROFILE_LEFT_OUT_TOLD 8
struct profile_left_out {
	size_t count, of; /* files left out, and files in all */
	struct err why[PROFILE_LEFT_OUT_TOLD];
};

struct profile_filter {
	const char *thread; /* thread's name; NULL: any */
	const char *module; /* part of the path of a module in the stack; NULL: any */
	int64_t pid;        /* -1: any */
	/* For profile_input_read(): the profile to subtract, or NULL, and the totals of its values,
	 * in order of the result's value types. */
	const char *diff_base;
	int64_t diff_totals[LIMIT_PROFILE_VALUES];
	int64_t since_ns, until_ns; /* leave out files of other times; 0: any time */
	size_t timeless;            /* files left out so far because they have no time */
	struct profile_left_out left_out;

	struct label_filter labels[PROFILE_FILTER_LABELS];
	size_t label_count;
	struct frame_match focus, ignore, show, hide, show_from;
	struct schema schema;
	bool no_inlines, no_symbolize;
	struct name_options naming;
	struct server_options service; /* the service to ask for names */
	enum name_style names;
	enum profile_group group;
	const char *group_label;
};

#define PROFILE_FILTER_NONE \
	{                   \
		.pid = -1   \
	}

void profile_filter_done(struct profile_filter *f);

/* Returns whether profile_filter_edit() would change anything. */
bool profile_filter_edits(const struct profile_filter *f);

/* A profile_keep_fn that chooses by thread, module and pid. ctx is the filter. */
bool profile_filter_keep(void *ctx, const struct profile *p, uint32_t sample);

/* Returns whether a file of this Unix start and duration is wanted. Counts files that say no time.
 * Safe from any thread. ctx is the filter. */
bool profile_filter_in_time(void *ctx, int64_t time_ns, int64_t duration_ns);

/* Returns whether the filter keeps all samples of a file whose time is wanted. */
bool profile_filter_keeps_all(const struct profile_filter *f);

/*
 * Fills `into`, which must be empty, with what the filter leaves of `from`. Samples whose frames
 * are all hidden are gone, as in pprof; a stack whose frames a schema dropped becomes one frame
 * that says so. Returns ERR_LIMIT.
 */
int profile_filter_edit(struct profile_filter *f, const struct profile *from, struct profile *into,
			struct err *err) _must_check_;

#endif
