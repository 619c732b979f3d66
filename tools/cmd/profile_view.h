/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAWSTACK_PROFILE_VIEW_H
#define RAWSTACK_PROFILE_VIEW_H
/* The common beginning of every command that shows profiles: its options, and the profile. */
#include "command.h"
#include "filter_option.h"
#include "json.h"
#include "profile_input.h"
#include "remote_names.h"
#include "text.h"

struct profile_view {
	struct profile_filter filter;
	const char *value; /* the type of value; NULL: the profile's default */
	bool json;
	struct remote_names *remote; /* NULL: no service is asked */
	struct profile p;
	uint32_t row; /* the shown row of p.value_types */
};

/* Rows that fill a struct profile_view, for commands that print JSON and for others. */
extern const struct option_row profile_view_rows[], profile_view_rows_no_json[];

/* A row for commands that can show a difference; `view` is the member of their struct. */
#define VIEW_DIFF_ROW(type, text) \
	OPTION_TEXT(0, "diff-base", "FILE", type, view.filter.diff_base, text)
#define VIEW_DIFF_HELP "subtract a profile; shares are of its total"

void profile_view_init(struct profile_view *v);
void profile_view_done(struct profile_view *v);

/* Reads, names, filters and merges the profiles; v->row becomes the value to show. */
int profile_view_read(struct profile_view *v, char *const *paths, size_t count,
		      struct err *err) _must_check_;

/* Returns the whole of which shares are taken: the weight of what is shown, or, for a difference,
 * the weight of the profile it is taken from, as in pprof. */
int64_t profile_view_whole(const struct profile_view *v, int64_t shown);

/* Appends an amount: "0.10 s of cpu", "12 samples". */
void profile_view_amount(const struct profile_view *v, int64_t amount, struct buf *out);

static inline int64_t profile_view_weight(const struct profile_view *v, uint32_t sample)
{
	return v->p.value_count ? profile_values(&v->p, sample)[v->row] : 0;
}

/* Appends a name, path or label for people (text_name()). */
static inline void profile_view_text(struct buf *out, struct profile_text t)
{
	text_name(out, t.p, t.len);
}

/*
 * Ends a command whose output is written. Fails if files were left out; if there are several, each
 * is a warning as well.
 */
int profile_view_end(const struct profile_view *v, struct err *err);

/* Prints the output of a command, or fails if it did not fit. */
int profile_view_print(const struct buf *out, struct err *err);

#endif
