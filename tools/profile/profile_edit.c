/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the editing half of profile_filter.h. A stack is unfolded into frames (one for each
 * line of each location), edited, and folded again: lines of one location stay together. Frames
 * refer to functions and modules of the new profile from the start, so that a rule matches the
 * names that earlier rules gave.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demangle_budget.h"
#include "limits.h"
#include "profile_edit.h"

/* Bounds the frames of one stack, including inlined calls. */
#define LIMIT_PROFILE_FRAMES LIMIT(131072)

/* Marks a dropped stack in the memo, where PROFILE_NONE marks one that is not edited yet. */
#define DROPPED (PROFILE_NONE - 1)

static void edit_done(struct profile_edit *e)
{
	free(e->strings);
	free(e->modules);
	free(e->functions);
	free(e->stacks);
	free(e->stack_tags);
	free(e->frames);
}

static uint32_t *new_edit_map(size_t count)
{
	uint32_t *map = malloc((count + 1) * sizeof(*map));

	if (map)
		memset(map, 0xff, (count + 1) * sizeof(*map));
	return map;
}

static uint32_t edit_string(struct profile_edit *e, uint32_t id)
{
	if (e->strings[id] == PROFILE_NONE) {
		struct profile_text t = profile_text(e->from, id);

		e->strings[id] = profile_string(e->into, t.p, t.len);
	}
	return e->strings[id];
}

static uint32_t edit_module(struct profile_edit *e, uint32_t id)
{
	if (id != PROFILE_NONE && e->modules[id] == PROFILE_NONE) {
		struct profile_module m = e->from->modules[id];

		m.path = edit_string(e, m.path);
		m.build_id = edit_string(e, m.build_id);
		m.segments = profile_copy_segments(e->into, e->from, m.segments);
		e->modules[id] = profile_add_module(e->into, &m);
	}
	return id == PROFILE_NONE ? PROFILE_NONE : e->modules[id];
}

/* Returns the name in the requested style. Only functions with a linker name have a choice. */
static uint32_t edit_name(struct profile_edit *e, const struct profile_function *f)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(LIMIT_NAME_LEN + LIMIT_DEMANGLE_OUT);
	struct profile_text t = profile_text(e->from, f->system_name);

	if (e->f->names == NAMES_AS_THEY_ARE || !t.len)
		return edit_string(e, f->name);
	if (e->f->names == NAMES_MANGLED)
		return edit_string(e, f->system_name);
	demangle_budget_append(e->f->names == NAMES_SHORT ? DEMANGLE_SHORT : DEMANGLE_FULL, t.p,
			       t.len, &out);
	return profile_string(e->into, out.p, out.len);
}

static uint32_t edit_function(struct profile_edit *e, uint32_t id)
{
	if (e->functions[id] == PROFILE_NONE) {
		struct profile_function f = profile_function(e->from, id);

		f.name = edit_name(e, &f);
		f.system_name = edit_string(e, f.system_name);
		f.file = edit_string(e, f.file);
		f.decl_file = edit_string(e, f.decl_file);
		e->functions[id] = profile_add_function(e->into, &f);
	}
	return e->functions[id];
}

static bool put_frame(struct profile_edit *e, struct view_frame f)
{
	if (!GROW(e->frames, &e->cap, e->count + 1, LIMIT_PROFILE_FRAMES)) {
		e->into->failed = true;
		e->into->no_memory |= e->count < LIMIT_PROFILE_FRAMES;
		return false;
	}
	e->frames[e->count++] = f;
	return true;
}

static void unfold_view(struct profile_edit *e, uint32_t stack)
{
	const uint32_t *locations;
	size_t count;

	e->count = 0;
	locations = profile_stack(e->from, stack, &count);
	for (size_t i = 0; i < count; i++) {
		struct profile_location l = profile_location(e->from, locations[i]);
		struct view_frame f = {.location = locations[i],
				       .place = (uint32_t)i,
				       .function = PROFILE_NONE,
				       .module = edit_module(e, l.module)};
		/* If inlined calls are hidden, only the function that holds them is left. */
		size_t first = e->f->no_inlines && l.line_count ? l.line_count - 1 : 0;

		if (!l.line_count && !put_frame(e, f))
			return;
		for (size_t k = first; k < l.line_count; k++) {
			f.function = edit_function(e, l.lines[k].function);
			f.line = l.lines[k].line;
			if (!put_frame(e, f))
				return;
		}
	}
}

/* --- pprof's options ------------------------------------------------------------------------- */

static bool has_frame(struct profile_edit *e, struct frame_match *m)
{
	for (size_t i = 0; i < e->count; i++)
		if (frame_match(m, e->into, &e->frames[i]))
			return true;
	return false;
}

static void keep_frames(struct profile_edit *e, struct frame_match *m, bool matching)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->count; i++)
		if (frame_match(m, e->into, &e->frames[i]) == matching)
			e->frames[kept++] = e->frames[i];
	e->count = kept;
}

/* Drops the callers of the outermost match; without a match it drops all frames. */
static void show_from(struct profile_edit *e, struct frame_match *m)
{
	while (e->count && !frame_match(m, e->into, &e->frames[e->count - 1]))
		e->count--;
}

static bool choose_rule(struct profile_edit *e)
{
	struct profile_filter *f = e->f;

	if ((f->focus.any.set && !has_frame(e, &f->focus)) ||
	    (f->ignore.any.set && has_frame(e, &f->ignore)))
		return false;
	if (f->show_from.any.set)
		show_from(e, &f->show_from);
	if (f->hide.any.set)
		keep_frames(e, &f->hide, false);
	if (f->show.any.set)
		keep_frames(e, &f->show, true);
	return e->count || !(f->show_from.any.set || f->hide.any.set || f->show.any.set);
}

/* --- groups ---------------------------------------------------------------------------------- */

static void group_name(struct profile_edit *e, const struct view_frame *frame, struct buf *out)
{
	struct profile_text file = {"", 0}, path = {"", 0};

	if (frame->function != PROFILE_NONE)
		file = profile_text(e->into, profile_function(e->into, frame->function).file);
	if (frame->module != PROFILE_NONE)
		path = profile_text(e->into, e->into->modules[frame->module].path);
	if (e->f->group == GROUP_MODULE) {
		buf_append(out, path.p, path.len);
		if (!path.len)
			buf_str(out, "[no module]");
		return;
	}
	buf_append(out, file.p, file.len);
	if (!file.len)
		buf_str(out, "[no file]");
	else if (e->f->group == GROUP_LINE)
		buf_printf(out, ":%u", frame->line);
}

/* Replaces frames by their group, and joins equal neighbours. */
static void group_frames(struct profile_edit *e)
{
	size_t kept = 0;

	if (e->f->group == GROUP_FUNCTION || e->f->group == GROUP_LABEL)
		return;
	for (size_t i = 0; i < e->count; i++) {
		_cleanup_(buf_done) struct buf name = BUF_INIT(LIMIT_STRING_LEN * 2);
		struct view_frame f = e->frames[i];
		struct profile_function function = {0};

		group_name(e, &f, &name);
		function.name = profile_string(e->into, name.p, name.len);
		f = (struct view_frame){.location = PROFILE_NONE,
					.place = (uint32_t)i,
					.function = profile_add_function(e->into, &function),
					.module = e->f->group == GROUP_MODULE ? f.module
									      : PROFILE_NONE};
		if (!kept || e->frames[kept - 1].function != f.function)
			e->frames[kept++] = f;
	}
	e->count = kept;
}

/* --- folding --------------------------------------------------------------------------------- */

static uint32_t fold_stack(struct profile_edit *e)
{
	_cleanup_(freep) uint32_t *ids = malloc((e->count + 1) * sizeof(*ids));
	struct profile_line lines[LIMIT_INLINE_DEPTH + 1];
	size_t count = 0;

	if (!ids) {
		return profile_fail_memory(e->into);
	}
	for (size_t i = 0; i < e->count;) {
		const struct view_frame *f = &e->frames[i];
		struct profile_location l = {.module = f->module, .lines = lines};
		size_t end = i;

		if (f->location != PROFILE_NONE) {
			l.address = profile_location(e->from, f->location).address;
			l.folded = profile_location(e->from, f->location).folded;
		}
		while (end < e->count && e->frames[end].place == f->place &&
		       e->frames[end].location == f->location && l.line_count < ARRAY_LEN(lines)) {
			if (e->frames[end].function != PROFILE_NONE)
				lines[l.line_count++] = (struct profile_line){
					e->frames[end].function, e->frames[end].line};
			end++;
		}
		ids[count++] = profile_add_location(e->into, &l);
		i = end;
	}
	return profile_add_stack(e->into, ids, count);
}

static void edit_stack(struct profile_edit *e, uint32_t stack)
{
	bool kept = true;

	e->tag_count = 0;
	unfold_view(e, stack);
	for (size_t i = 0; kept && i < e->f->schema.count; i++)
		kept = profile_edit_rule(e, &e->f->schema.rules[i]);
	if (kept)
		kept = choose_rule(e);
	if (kept)
		group_frames(e);
	e->stacks[stack] = kept ? fold_stack(e) : DROPPED;
	e->stack_tags[stack] = kept ? profile_add_labels(e->into, e->tags, e->tag_count) : 0;
}

/* --- labels ---------------------------------------------------------------------------------- */

/* Returns the label's value as text. */
static struct profile_text label_text(const struct profile *p, const struct profile_label *l,
				      char number[static 32])
{
	if (l->text)
		return profile_text(p, l->text);
	return (struct profile_text){number, (size_t)snprintf(number, 32, "%" PRId64, l->num)};
}

static bool label_is(const struct profile *p, const struct profile_label *l,
		     const struct label_filter *f)
{
	struct profile_text key = profile_text(p, l->key), text;
	char number[32];

	if (key.len != strlen(f->key) || memcmp(key.p, f->key, key.len) != 0)
		return false;
	text = label_text(p, l, number);
	return f->value ? text.len == strlen(f->value) && memcmp(text.p, f->value, text.len) == 0
			: text_match(&f->match, text.p, text.len);
}

static bool labels_pass(const struct profile_edit *e, const struct profile_label *labels,
			size_t count)
{
	for (size_t i = 0; i < e->f->label_count; i++) {
		const struct label_filter *f = &e->f->labels[i];
		bool found = false;

		for (size_t k = 0; k < count && !found; k++)
			found = label_is(e->into, &labels[k], f);
		if (found == f->differs)
			return false;
	}
	return true;
}

/* Gathers the sample's labels, then the tags of its stack. Returns their number. */
static size_t gather_sample_labels(struct profile_edit *e, struct profile_sample s,
				   struct profile_label labels[static 2 * LIMIT_PROFILE_LABELS])
{
	const struct profile_label *list;
	size_t count, tags;

	list = profile_labels(e->from, s.labels, &count);
	for (size_t i = 0; i < count; i++) {
		labels[i] = list[i];
		labels[i].key = edit_string(e, list[i].key);
		labels[i].text = edit_string(e, list[i].text);
		labels[i].unit = edit_string(e, list[i].unit);
	}
	if (e->into->failed)
		return 0;
	list = profile_labels(e->into, e->stack_tags[s.stack], &tags);
	for (size_t i = 0; i < tags && count < LIMIT_PROFILE_LABELS; i++)
		labels[count++] = list[i];
	return count;
}

/* Makes a stack of one frame, which has the value of the label to group by as its name. */
static uint32_t label_stack(struct profile_edit *e, const struct profile_label *labels,
			    size_t count)
{
	struct profile_text text = {"", 0};
	struct profile_function f = {0};
	struct profile_line line;
	char number[32], none[300];
	uint32_t location;

	for (size_t i = 0; i < count && !text.len; i++) {
		struct profile_text key = profile_text(e->into, labels[i].key);

		if (key.len == strlen(e->f->group_label) &&
		    memcmp(key.p, e->f->group_label, key.len) == 0)
			text = label_text(e->into, &labels[i], number);
	}
	if (!text.len) {
		snprintf(none, sizeof(none), "[no %.200s]", e->f->group_label);
		text = (struct profile_text){none, strlen(none)};
	}
	f.name = f.system_name = profile_string(e->into, text.p, text.len);
	line = (struct profile_line){.function = profile_add_function(e->into, &f)};
	location = profile_add_location(e->into, &(struct profile_location){.module = PROFILE_NONE,
									    .lines = &line,
									    .line_count = 1});
	return profile_add_stack(e->into, &location, 1);
}

static void edit_sample(struct profile_edit *e, uint32_t sample)
{
	struct profile_sample s = profile_sample(e->from, sample);
	struct profile_label labels[2 * LIMIT_PROFILE_LABELS];
	uint32_t stack;
	size_t count;

	if (e->stacks[s.stack] == PROFILE_NONE)
		edit_stack(e, s.stack);
	stack = e->stacks[s.stack];
	if (stack == DROPPED || e->into->failed)
		return;
	count = gather_sample_labels(e, s, labels);
	if (e->into->failed || !labels_pass(e, labels, count))
		return;
	if (e->f->group == GROUP_LABEL)
		stack = label_stack(e, labels, count);
	profile_add_sample(e->into, stack, profile_add_labels(e->into, labels, count),
			   profile_values(e->from, sample));
}

static bool keep_none(void *ctx, const struct profile *from, uint32_t sample)
{
	(void)ctx;
	(void)from;
	(void)sample;
	return false;
}

static void reset_matches(struct profile_filter *f)
{
	frame_match_reset(&f->focus);
	frame_match_reset(&f->ignore);
	frame_match_reset(&f->show);
	frame_match_reset(&f->hide);
	frame_match_reset(&f->show_from);
	schema_reset(&f->schema);
}

int profile_filter_edit(struct profile_filter *f, const struct profile *from, struct profile *into,
			struct err *err)
{
	_cleanup_(edit_done) struct profile_edit e = {
		.f = f,
		.from = from,
		.into = into,
		.strings = new_edit_map(from->strings.count),
		.modules = new_edit_map(from->module_keys.count),
		.functions = new_edit_map(from->functions.count),
		.stacks = new_edit_map(from->stacks.count),
		.stack_tags = new_edit_map(from->stacks.count),
	};
	/* Copies what does not belong to samples: types of values, modules, times, comments. */

	TRY(profile_merge(into, from, keep_none, NULL, err));
	if (!e.strings || !e.modules || !e.functions || !e.stacks || !e.stack_tags)
		return err_no_memory(err);
	reset_matches(f);
	for (uint32_t i = 0; i < from->samples.count && !into->failed; i++)
		edit_sample(&e, i);
	if (into->failed)
		return profile_full(into, err, "the edited profile");
	return 0;
}
