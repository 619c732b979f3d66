/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "profile_edit.h"

static bool is_under(struct profile_edit *e, struct frame_match *m, size_t at)
{
	for (size_t i = at + 1; i < e->count; i++)
		if (frame_match(m, e->into, &e->frames[i]))
			return true;
	return false;
}

static bool rule_matches(struct profile_edit *e, struct schema_rule *r, size_t at)
{
	if ((r->where == SCHEMA_LEAF && at != 0) || (r->where == SCHEMA_ROOT && at + 1 != e->count))
		return false;
	return frame_match(&r->match, e->into, &e->frames[at]) &&
	       !(frame_match_is_set(&r->not_under) && is_under(e, &r->not_under, at));
}

static bool any_matches(struct profile_edit *e, struct schema_rule *r)
{
	for (size_t i = 0; i < e->count; i++)
		if (rule_matches(e, r, i))
			return true;
	return false;
}

static void tag_frames(struct profile_edit *e, const struct schema_rule *r)
{
	struct profile_label l = {.key = profile_cstr(e->into, r->key),
				  .text = profile_cstr(e->into, r->text)};

	for (size_t i = 0; i < e->tag_count; i++) {
		if (e->tags[i].key != l.key)
			continue;
		if (r->priority > e->priorities[i]) {
			e->tags[i] = l;
			e->priorities[i] = r->priority;
		}
		return;
	}
	if (e->tag_count < ARRAY_LEN(e->tags)) {
		e->priorities[e->tag_count] = r->priority;
		e->tags[e->tag_count++] = l;
	}
}

/* Gives the frame a function of another name in the same file. */
static void name_frame(struct profile_edit *e, struct view_frame *frame, const void *name,
		       size_t len)
{
	struct profile_function f = {0};

	if (frame->function != PROFILE_NONE)
		f = profile_function(e->into, frame->function);
	f.name = f.system_name = profile_string(e->into, name, len);
	frame->function = profile_add_function(e->into, &f);
}

/* Bounds the names that rules make. A name that would become longer stays as it was. */
#define NAME_MAX_LEN (LIMIT_DEMANGLE_OUT + 1024)

/* Returns the slot that remembers what a rule makes of a frame's function, or NULL if the frame has
 * none or there is no memory. */
static uint32_t *renamed_slot(struct schema_rule *r, const struct view_frame *frame)
{
	size_t before = r->renamed_cap;

	if (frame->function == PROFILE_NONE ||
	    !GROW(r->renamed, &r->renamed_cap, (size_t)frame->function + 1, LIMIT_PROFILE_ENTRIES))
		return NULL;
	if (r->renamed_cap > before)
		memset(r->renamed + before, 0, (r->renamed_cap - before) * sizeof(*r->renamed));
	return &r->renamed[frame->function];
}

static void make_name(struct profile_edit *e, const struct schema_rule *r, struct view_frame *frame)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT(NAME_MAX_LEN);
	struct profile_text t = {"", 0};

	if (frame->function != PROFILE_NONE)
		t = profile_text(e->into, profile_function(e->into, frame->function).name);
	if (r->action == SCHEMA_MARK) {
		buf_append(&out, t.p, t.len);
		buf_printf(&out, " {%s}", r->text);
	} else if (!text_match_replace(&r->match.function, t.p, t.len, r->text, &out)) {
		buf_str(&out, r->text);
	}
	if (!out.failed)
		name_frame(e, frame, out.p, out.len);
}

/* Results are kept for each function, because a profile has many frames and few functions. */
static void rename_frame(struct profile_edit *e, struct schema_rule *r, struct view_frame *frame)
{
	uint32_t *kept = renamed_slot(r, frame);

	if (kept && *kept) {
		frame->function = *kept - 1;
		return;
	}
	make_name(e, r, frame);
	if (kept && frame->function != PROFILE_NONE)
		*kept = frame->function + 1;
}

/* Replaces each run of matching frames by its outermost one. */
static void collapse_frames(struct profile_edit *e, struct schema_rule *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->count; i++) {
		bool here = rule_matches(e, r, i);
		bool next = here && i + 1 < e->count && rule_matches(e, r, i + 1);

		if (next)
			continue;
		e->frames[kept] = e->frames[i];
		if (here && r->text)
			name_frame(e, &e->frames[kept], r->text, strlen(r->text));
		kept++;
	}
	e->count = kept;
}

static void drop_frames(struct profile_edit *e, struct schema_rule *r)
{
	size_t kept = 0, count = e->count;

	for (size_t i = 0; i < count; i++)
		if (!rule_matches(e, r, i))
			e->frames[kept++] = e->frames[i];
	e->count = kept;
	if (!kept && count) {
		static const char text[] = "[all frames dropped]";
		struct view_frame f = {
			.location = PROFILE_NONE, .function = PROFILE_NONE, .module = PROFILE_NONE};

		name_frame(e, &f, text, sizeof(text) - 1);
		e->frames[e->count++] = f; /* some frames were there, so the list has room */
	}
}

bool profile_edit_rule(struct profile_edit *e, struct schema_rule *r)
{
	switch (r->action) {
	case SCHEMA_TAG:
		if (any_matches(e, r))
			tag_frames(e, r);
		break;
	case SCHEMA_MARK:
	case SCHEMA_RENAME:
		for (size_t i = 0; i < e->count; i++)
			if (rule_matches(e, r, i))
				rename_frame(e, r, &e->frames[i]);
		break;
	case SCHEMA_COLLAPSE:
		collapse_frames(e, r);
		break;
	case SCHEMA_DROP_FRAME:
		drop_frames(e, r);
		break;
	case SCHEMA_DROP_STACK:
		return !any_matches(e, r);
	}
	return true;
}
