/* SPDX-License-Identifier: Apache-2.0 */
/* `rawstack stats`: shows what is in a profile, and what is missing. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "name_advice.h"
#include "profile_notes.h"
#include "ranking.h"
#include "stack_share.h"

#define MODULES_SHOWN 10
#define VALUES_SHOWN  8
#define NOTES_SHOWN   10

struct counts {
	int64_t total, frames, named, with_line;
	struct stack_share stacks;
};

static void count_stack(const struct profile *p, uint32_t stack, int64_t weight, struct counts *c)
{
	const uint32_t *locations;
	size_t count;

	locations = profile_stack(p, stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_location l = profile_location(p, locations[i]);
		struct profile_text name = {"", 0};
		bool named;

		if (l.line_count)
			name = profile_text(p, profile_function(p, l.lines[0].function).name);
		named = !profile_is_placeholder(name);
		add_capped(&c->frames, weight);
		add_capped(&c->named, named ? weight : 0);
		add_capped(&c->with_line, named && l.lines[0].line ? weight : 0);
	}
}

static void count_profile(const struct profile_view *v, struct counts *c)
{
	stack_share_count(&c->stacks, v);
	for (uint32_t i = 0; i < v->p.samples.count; i++) {
		int64_t weight = profile_view_weight(v, i);

		add_capped(&c->total, weight);
		count_stack(&v->p, profile_sample(&v->p, i).stack, weight, c);
	}
}

static double percent_of(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_time(struct buf *out, const struct profile *p)
{
	time_t seconds = (time_t)(p->time_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (!p->time_ns || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return;
	buf_printf(out, "from %s", text);
	if (p->duration_ns)
		buf_printf(out, ", %.1f s", (double)p->duration_ns / 1e9);
	buf_str(out, "\n");
}

struct label_value {
	struct profile_label label;
	int64_t weight;
};

static int by_key_then_weight(const void *x, const void *y)
{
	const struct label_value *a = x, *b = y;

	if (a->label.key != b->label.key)
		return a->label.key < b->label.key ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return a->label.text < b->label.text ? -1 : a->label.text > b->label.text;
}

static int gather_label_keys(const struct profile_view *v, struct intern *keys,
			     struct label_value **ret, struct err *err)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < v->p.samples.count; i++) {
		const struct profile_label *labels;
		size_t count;

		labels = profile_labels(&v->p, profile_sample(&v->p, i).labels, &count);
		for (size_t k = 0; k < count; k++) {
			bool fresh;
			uint32_t id = intern_add(keys, &labels[k], sizeof(labels[k]), &fresh);

			if (id == INTERN_FULL ||
			    !GROW(*ret, &cap, (size_t)id + 1, LIMIT_PROFILE_ENTRIES))
				return err_no_memory(err);
			if (fresh)
				(*ret)[id] = (struct label_value){labels[k], 0};
			add_capped(&(*ret)[id].weight, profile_view_weight(v, i));
		}
	}
	if (keys->count)
		qsort(*ret, keys->count, sizeof(**ret), by_key_then_weight);
	return 0;
}

static void append_label(struct buf *out, const struct profile *p, const struct profile_label *l)
{
	if (l->text)
		profile_view_text(out, profile_text(p, l->text));
	else
		buf_printf(out, "%" PRId64, l->num);
}

static void print_labels(const struct profile_view *v, const struct label_value *list, size_t count,
			 int64_t total, struct buf *out)
{
	for (size_t i = 0; i < count;) {
		size_t end = i;

		while (end < count && list[end].label.key == list[i].label.key)
			end++;
		buf_str(out, "label ");
		profile_view_text(out, profile_text(&v->p, list[i].label.key));
		buf_printf(out, ", %zu values:", end - i);
		for (size_t k = i; k < end && k < i + VALUES_SHOWN; k++) {
			buf_str(out, k > i ? ", " : " ");
			append_label(out, &v->p, &list[k].label);
			buf_printf(out, " %.1f %%", percent_of(list[k].weight, total));
		}
		buf_str(out, end - i > VALUES_SHOWN ? ", ...\n" : "\n");
		i = end;
	}
}

/* Prints what the files say of themselves: losses, damage, origin. */
static int print_notes(struct buf *out, const struct profile *p, struct err *err)
{
	_cleanup_(profile_notes_done) struct profile_notes notes;
	int rc = profile_notes_make(&notes, p, err);

	for (size_t i = 0; !rc && i < notes.kinds.count && i < NOTES_SHOWN; i++) {
		buf_str(out, "note: ");
		profile_view_text(out, profile_text(p, notes.list[i].first));
		if (notes.list[i].count > 1)
			buf_printf(out, ", and %zu more like it", notes.list[i].count - 1);
		buf_str(out, "\n");
	}
	if (!rc && notes.kinds.count > NOTES_SHOWN)
		buf_printf(out, "and notes of %zu more kinds\n", notes.kinds.count - NOTES_SHOWN);
	return rc;
}

static int print_stats_text(const struct profile_view *v, const struct counts *c,
			    const struct ranking *r, struct buf *out, struct err *err)
{
	profile_view_amount(v, c->total, out);
	buf_printf(out, " in %zu distinct samples: %zu stacks, %zu functions, %zu binaries\n",
		   v->p.samples.count, v->p.stacks.count, v->p.functions.count,
		   v->p.module_keys.count);
	print_time(out, &v->p);
	buf_printf(out, "frames: %.1f %% named, %.1f %% with a line",
		   percent_of(c->named, c->frames), percent_of(c->with_line, c->frames));
	buf_str(out, "\n");
	stack_share_text(&c->stacks, out);
	buf_printf(out, "innermost frames without a name: %.1f %%\n",
		   percent_of(r->unnamed_self, c->total));
	for (size_t i = 0; i < r->unnamed_count && i < MODULES_SHOWN; i++) {
		text_share(out, (double)r->unnamed[i].self, (double)c->total);
		buf_str(out, "  ");
		name_advice_text(out, v, r->unnamed[i].module);
	}
	if (r->unnamed_count > MODULES_SHOWN)
		buf_printf(out, "         and %zu more binaries\n",
			   r->unnamed_count - MODULES_SHOWN);
	return print_notes(out, &v->p, err);
}

static void print_stats_json(const struct profile_view *v, const struct counts *c,
			     const struct ranking *r, const struct label_value *labels,
			     size_t label_count, struct buf *out)
{
	json_open(out, '{');
	json_key_cstr(out, "kind", "total");
	json_key_number(out, "weight", c->total);
	json_key_number(out, "samples", (int64_t)v->p.samples.count);
	json_key_number(out, "stacks", (int64_t)v->p.stacks.count);
	json_key_number(out, "functions", (int64_t)v->p.functions.count);
	json_key_number(out, "time_ns", v->p.time_ns);
	json_key_number(out, "duration_ns", v->p.duration_ns);
	json_key_share(out, "frames_named", percent_of(c->named, c->frames) / 100);
	json_key_share(out, "frames_with_line", percent_of(c->with_line, c->frames) / 100);
	json_key_share(out, "unnamed_share", percent_of(r->unnamed_self, c->total) / 100);
	stack_share_json(&c->stacks, out);
	json_close(out, '}');
	buf_str(out, "\n");
	for (size_t i = 0; i < r->unnamed_count; i++) {
		json_open(out, '{');
		json_key_cstr(out, "kind", "unnamed");
		name_advice_json(out, v, r->unnamed[i].module);
		json_key_share(out, "share", percent_of(r->unnamed[i].self, c->total) / 100);
		json_close(out, '}');
		buf_str(out, "\n");
	}
	for (size_t i = 0; i < label_count; i++) {
		struct profile_text key = profile_text(&v->p, labels[i].label.key);
		_cleanup_(buf_done) struct buf value = BUF_INIT(MIB);

		append_label(&value, &v->p, &labels[i].label);
		json_open(out, '{');
		json_key_cstr(out, "kind", "label");
		json_key_text(out, "key", key.p, key.len);
		json_key_text(out, "value", value.p, value.len);
		json_key_share(out, "share", percent_of(labels[i].weight, c->total) / 100);
		json_close(out, '}');
		buf_str(out, "\n");
	}
}

static const struct option_usage usage = {
	.name = "rawstack stats",
	.synopsis = "[OPTIONS] DIR|FILE...",
	.about = "Prints how much was measured and when; which share of the stacks, by weight, is "
		 "whole (reaches the entry of a thread or process), is cut, or has an outermost "
		 "frame without a name; how many frames have names and lines; which binaries lack "
		 "names, and what to do about it; and the labels with their most frequent values.",
	.rows = profile_view_rows,
	.operands_min = 1,
	.operands_max = OPERANDS_ANY,
	.operands_wanted = "no profile given",
	.notes = FILTER_NOTES,
};

static int run_stats(int argc, char **argv, struct err *err)
{
	_cleanup_(profile_view_done) struct profile_view v;
	_cleanup_(ranking_done) struct ranking r = {0};
	_cleanup_(intern_done) struct intern keys =
		INTERN_INIT(LIMIT_PROFILE_ENTRIES, LIMIT_PROFILE_BYTES);
	_cleanup_(freep) struct label_value *labels = NULL;
	_cleanup_(buf_done) struct buf out = BUF_INIT(GIB);
	struct counts c = {0};
	struct operands profiles;

	profile_view_init(&v);
	TRY(options_parse(&usage, argc, argv, &v, &profiles, err));
	TRY(profile_view_read(&v, profiles.list, profiles.count, err));
	if (v.p.value_count)
		TRY(ranking_make(&r, &v.p, v.row, false, err));
	TRY(gather_label_keys(&v, &keys, &labels, err));
	count_profile(&v, &c);
	if (v.json) {
		print_stats_json(&v, &c, &r, labels, keys.count, &out);
	} else {
		TRY(print_stats_text(&v, &c, &r, &out, err));
		print_labels(&v, labels, keys.count, c.total, &out);
	}
	TRY(profile_view_print(&out, err));
	return profile_view_end(&v, err);
}

const struct command cmd_stats = {
	.usage = &usage,
	.run = run_stats,
	.summary = "show what is in a profile, and which names are missing",
};
