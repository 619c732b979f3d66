/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_VIEW_H
#define RAWSTACK_PROFILE_VIEW_H
/* What every command that shows profiles begins with: its common options, and the profile. */
#include "command.h"
#include "filter_option.h"
#include "json.h"
#include "profile_input.h"
#include "remote_names.h"
#include "text.h"

struct profile_view {
	struct profile_filter filter;
	const char *value; /* which type of value; NULL: the profile's own choice */
	bool json;
	struct remote_names *remote; /* NULL: no service is asked */
	struct profile p;
	uint32_t row; /* of p.value_types */
};

/* Rows that fill a struct profile_view: of commands that print JSON, and of others. */
extern const struct option_row profile_view_rows[], profile_view_rows_no_json[];

/* A row of commands that can show a difference; `view` is the struct in theirs. */
#define VIEW_DIFF_ROW(type, text) \
	OPTION_TEXT(0, "diff-base", "FILE", type, view.filter.diff_base, text)
#define VIEW_DIFF_HELP "subtract a profile; shares are of its total"

void profile_view_init(struct profile_view *v);
void profile_view_done(struct profile_view *v);

/* Reads, names, filters and merges; v->row is what to weigh. */
int profile_view_read(struct profile_view *v, char *const *paths, size_t count,
		      struct err *err) _must_check_;

/* What shares are of: the weight of what is shown, or, as pprof has it, a difference is seen beside
 * the whole that it is taken from. */
int64_t profile_view_whole(const struct profile_view *v, int64_t shown);

/* "0.10 s of cpu", "12 samples". */
void profile_view_amount(const struct profile_view *v, int64_t amount, struct buf *out);

static inline int64_t profile_view_weight(const struct profile_view *v, uint32_t sample)
{
	return v->p.value_count ? profile_values(&v->p, sample)[v->row] : 0;
}

/* Names, paths and labels as people read them (text_name()). */
static inline void profile_view_text(struct buf *out, struct profile_text t)
{
	text_name(out, t.p, t.len);
}

/*
 * What a command returns at its end, when all is written: `rc`, or where that is 0 an error for the
 * files that are not in it, if there are any. Several are a warning each.
 */
int profile_view_end(const struct profile_view *v, int rc, struct err *err);

/* Prints what a command made, or says that it did not fit. */
int profile_view_print(const struct buf *out, const char *command, struct err *err);

#endif
