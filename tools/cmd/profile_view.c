/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "program.h"
#include "stdout_end.h"

void profile_view_init(struct profile_view *v)
{
	*v = (struct profile_view){.filter = PROFILE_FILTER_NONE};
	profile_init(&v->p);
}

void profile_view_done(struct profile_view *v)
{
	profile_filter_done(&v->filter);
	if (v->remote)
		program_remote_names->close(v->remote);
	profile_done(&v->p);
}

static const char *const value_words[] = {"samples", "cpu", NULL};

const struct option_row profile_view_rows_no_json[] = {
	OPTION_TEXT(0, "value", "TYPE", struct profile_view, value,
		    "the type of value to show: samples, cpu, ...", .words = value_words),
	OPTION_ROWS(struct profile_view, filter, filter_rows),
	OPTION_END,
};

const struct option_row profile_view_rows[] = {
	OPTION_FLAG(0, "json", struct profile_view, json, "one object per line"),
	OPTION_MORE(profile_view_rows_no_json),
	OPTION_END,
};

static int open_name_service(struct profile_view *v, struct err *err)
{
	_cleanup_(server_settings_done) struct server_settings settings = {.path = ""};
	struct profile_filter *f = &v->filter;

	if (f->no_symbolize)
		return 0;
	TRY(server_settings_init(&settings, &f->service, err));
	if (!settings.o.server)
		return 0;
	if (!program_remote_names)
		return program_other(err);
	TRY(program_remote_names->open(&v->remote, &f->service, err));
	f->naming.source = program_remote_names->source(v->remote);
	/* A service that $RAWSTACK_SERVER or the user's file names for all commands may be away;
	 * one that --server names may not. */
	f->naming.may_be_away = !f->service.server;
	return 0;
}

int profile_view_read(struct profile_view *v, char *const *paths, size_t count, struct err *err)
{
	TRY(open_name_service(v, err));
	TRY(profile_input_read(paths, count, &v->filter, &v->p, err));
	return profile_input_value(&v->p, v->value, &v->row, err);
}

int profile_view_end(const struct profile_view *v, struct err *err)
{
	const struct profile_left_out *out = &v->filter.left_out;
	const size_t told = out->count < PROFILE_LEFT_OUT_TOLD ? out->count : PROFILE_LEFT_OUT_TOLD;

	if (!out->count)
		return 0;
	if (out->count == 1)
		return err_set(err, out->why[0].code, "%s: left out, as 1 of %zu files",
			       out->why[0].message, out->of);
	for (size_t i = 0; i < told; i++)
		log_warn("%s", out->why[i].message);
	return err_set(err, out->why[0].code, "%zu of %zu files are left out%s", out->count,
		       out->of, told < out->count ? ", of which the first are named" : "");
}

int64_t profile_view_whole(const struct profile_view *v, int64_t shown)
{
	return v->filter.diff_base && v->p.value_count ? v->filter.diff_totals[v->row] : shown;
}

void profile_view_amount(const struct profile_view *v, int64_t amount, struct buf *out)
{
	struct profile_text type, unit;

	if (!v->p.value_count) {
		buf_str(out, "nothing");
		return;
	}
	if (v->p.weight_unknown) {
		buf_printf(out, "weight %" PRId64, amount);
		return;
	}
	type = profile_text(&v->p, v->p.value_types[v->row].type);
	unit = profile_text(&v->p, v->p.value_types[v->row].unit);
	if (unit.len == 11 && memcmp(unit.p, "nanoseconds", 11) == 0)
		buf_printf(out, "%.2f s of ", (double)amount / 1e9);
	else
		buf_printf(out, "%" PRId64 " ", amount);
	profile_view_text(out, type);
}

int profile_view_print(const struct buf *out, struct err *err)
{
	if (out->failed)
		return err_no_memory(err);
	stdout_put(out);
	return 0;
}
