/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_FILTER_H
#define RAWSTACK_PROFILE_FILTER_H
/*
 * Which samples of profiles are looked at, and what becomes of their stacks: the part that every
 * command has in common. Samples are chosen while files are read; stacks are edited once, when all
 * are merged, in this order: schemas, labels, focus and ignore, show-from, hide, show, inlined
 * calls, groups. The meaning of focus, ignore, show, hide and show-from is pprof's.
 */
#include "frame_match.h"
#include "profile_names.h"
#include "schema.h"

#define PROFILE_FILTER_LABELS  32
#define PROFILE_FILTER_SCHEMAS 32

struct label_filter {
	char *key, *value; /* key=value, or */
	struct text_match match;
	bool differs; /* != and !~: the sample must not have it */
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
	NAMES_MANGLED, /* as the linker knows them, where the profile says so */
	NAMES_SHORT,   /* without parameters */
	NAMES_FULL,
};

/* Files of directories that were read without them, and why, of the first of them. */
#define PROFILE_LEFT_OUT_TOLD 8
struct profile_left_out {
	size_t count, of; /* of so many files */
	struct err why[PROFILE_LEFT_OUT_TOLD];
};

struct profile_filter {
	const char *thread; /* name of the thread; NULL: any */
	const char *module; /* part of the path of a module in the stack; NULL: any */
	int64_t pid;        /* -1: any */
	/* For profile_input_read(): what is subtracted, or NULL; and what each of its values adds
	 * up to, by row of the result. */
	const char *diff_base;
	int64_t diff_totals[LIMIT_PROFILE_VALUES];
	int64_t since_ns, until_ns; /* files that tell no time in between are left out; 0: any */
	size_t timeless;            /* files left out so far because they tell none at all */
	struct profile_left_out left_out;

	struct label_filter labels[PROFILE_FILTER_LABELS];
	size_t label_count;
	struct frame_match focus, ignore, show, hide, show_from;
	struct schema schema;
	bool no_inlines, no_symbolize;
	struct name_options naming;
	const char *server; /* HOST:PORT that is asked for names; NULL: not said */
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

/* For profile_merge(): chooses by thread, module and pid. ctx: the filter. */
bool profile_filter_keep(void *ctx, const struct profile *p, uint32_t sample);

/* Returns whether what was taken then is asked for: unix start and length. Counts what tells no
 * time; from any thread. ctx: the filter. */
bool profile_filter_in_time(void *ctx, int64_t time_ns, int64_t duration_ns);

/* Returns whether all samples of a file that was taken in time take part. */
bool profile_filter_keeps_all(const struct profile_filter *f);

/*
 * Fills `into`, which must be empty, with what is left of `from`. Samples whose frames are all
 * hidden are gone, as in pprof; where a schema dropped all, one frame says so. ERR_LIMIT.
 */
int profile_filter_edit(struct profile_filter *f, const struct profile *from, struct profile *into,
			struct err *err) _must_check_;

#endif
