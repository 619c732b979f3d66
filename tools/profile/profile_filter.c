/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void profile_filter_done(struct profile_filter *f)
{
	for (size_t i = 0; i < f->label_count; i++) {
		free(f->labels[i].key);
		free(f->labels[i].value);
		text_match_done(&f->labels[i].match);
	}
	frame_match_done(&f->focus);
	frame_match_done(&f->ignore);
	frame_match_done(&f->show);
	frame_match_done(&f->hide);
	frame_match_done(&f->show_from);
	schema_done(&f->schema);
}

bool profile_filter_edits(const struct profile_filter *f)
{
	return f->label_count || f->focus.any.set || f->ignore.any.set || f->show.any.set ||
	       f->hide.any.set || f->show_from.any.set || f->schema.count || f->no_inlines ||
	       f->names != NAMES_AS_THEY_ARE || f->group != GROUP_FUNCTION;
}

bool profile_filter_keeps_all(const struct profile_filter *f)
{
	return f->pid < 0 && !f->thread && !f->module;
}

bool profile_filter_in_time(void *ctx, int64_t time_ns, int64_t duration_ns)
{
	struct profile_filter *f = ctx;
	int64_t end;

	if (!f->since_ns && !f->until_ns)
		return true;
	if (!time_ns || !CHECKED_ADD(time_ns, duration_ns, &end)) {
		__atomic_add_fetch(&f->timeless, 1, __ATOMIC_RELAXED);
		return false;
	}
	return (!f->since_ns || end >= f->since_ns) && (!f->until_ns || time_ns <= f->until_ns);
}

static bool labels_match(const struct profile *p, uint32_t set, const struct profile_filter *f)
{
	bool pid = f->pid < 0, thread = !f->thread;
	const struct profile_label *labels;
	size_t count;

	labels = profile_labels(p, set, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_text key = profile_text(p, labels[i].key);

		if (profile_text_is(key, "pid") && labels[i].num == f->pid)
			pid = true;
		if (f->thread && profile_text_is(key, "thread") &&
		    profile_text_is(profile_text(p, labels[i].text), f->thread))
			thread = true;
	}
	return pid && thread;
}

static bool stack_has_module(const struct profile *p, uint32_t stack, const char *part)
{
	const uint32_t *locations;
	size_t count;

	locations = profile_stack(p, stack, &count);
	for (size_t i = 0; i < count; i++) {
		uint32_t module = profile_location(p, locations[i]).module;
		struct profile_text path;

		if (module == PROFILE_NONE)
			continue;
		path = profile_text(p, p->modules[module].path);
		if (memmem(path.p, path.len, part, strlen(part)))
			return true;
	}
	return false;
}

bool profile_filter_keep(void *ctx, const struct profile *p, uint32_t sample)
{
	const struct profile_filter *f = ctx;
	struct profile_sample s = profile_sample(p, sample);

	return labels_match(p, s.labels, f) &&
	       (!f->module || stack_has_module(p, s.stack, f->module));
}
